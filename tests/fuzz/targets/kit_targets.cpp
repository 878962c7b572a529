// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "kit/process/channel.hpp"
#include "kit/report/all.hpp"
#include "parsers.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/conformance/subject.hpp"

namespace tenon::fuzz {

namespace {

/// A directory in which nothing is, but for what a path leads to: "../exe" is a regular file.
const std::filesystem::path directory = "/proc/self/fdinfo";

/// A pattern that leads out of the directory could take minutes to expand. '[' also begins an array
/// of JSON and is left.
bool may_search_all(std::string_view text) {
  return text.find("..") != std::string_view::npos &&
         text.find_first_of("*?\\") != std::string_view::npos;
}

}  // namespace

void channel(std::span<std::byte> bytes) {
  for (const std::string_view secret : {"", "0123"}) {
    const auto content = conformance::read_channel(text_of(bytes), secret);
    if (content.done && bytes.empty()) std::abort();
  }
}

void report(std::span<std::byte> bytes) {
  using namespace conformance;
  const auto test = test_from_json(text_of(bytes));
  use(test);
  if (test.ok()) {
    const std::string text = to_json(*test);
    const auto again = test_from_json(text);
    if (!again.ok() || to_json(*again) != text) std::abort();
  }
  const auto all = report_from_json(text_of(bytes));
  use(all);
  if (!all.ok()) return;
  const std::string text = to_json(*all);
  const auto again = report_from_json(text);
  if (!again.ok() || to_json(*again) != text) std::abort();
  if (to_html(*all).empty() || to_junit(*all).empty() || to_markdown(*all).empty()) std::abort();
  (void)to_text(*all, true, true);
}

void test_case(std::span<std::byte> bytes) {
  use(conformance::parse_case(text_of(bytes), "case.json", directory));
}

void subject(std::span<std::byte> bytes) {
  if (may_search_all(text_of(bytes))) return;
  use(conformance::parse_subject(text_of(bytes), "acme.json", directory));
}

}  // namespace tenon::fuzz
