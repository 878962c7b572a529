// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/fixtures/blob_trial.hpp"
#include "kit/fixtures/checked_options.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/fixtures/wrong_calls.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/visible.hpp"

/// Suite "errors": the texts of failures. Each call of each test judges that there is a text and
/// that the number is a known status.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(errors)

namespace {

/// The defect of a text for people; empty when there is none.
[[nodiscard]] std::string text_fault(std::string_view text) {
  constexpr std::size_t max_bytes = 4096, max_lines = 12;
  if (text.size() > max_bytes) return concat("it has ", text.size(), " bytes");
  if (std::ranges::count(text, '\n') >= static_cast<std::ptrdiff_t>(max_lines)) {
    return concat("it has ", std::ranges::count(text, '\n') + 1, " lines");
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < text.size(); i += size) {
    const std::int32_t code = tenon::detail::decode_utf8(text.substr(i), size);
    if (code < 0) return concat("byte ", i, " is not UTF-8");
    if (tenon::detail::is_control(code) && code != '\n' && code != '\t') {
      return concat("byte ", i, " is a control character");
    }
  }
  return {};
}

/// The numbers that are written in a text.
[[nodiscard]] std::vector<std::size_t> numbers_in(std::string_view text) {
  std::vector<std::size_t> out;
  bool inside = false;
  for (const char letter : text) {
    const bool digit = letter >= '0' && letter <= '9';
    if (digit && !inside) out.push_back(0);
    if (digit) out.back() = out.back() * 10 + static_cast<std::size_t>(letter - '0');
    inside = digit;
  }
  return out;
}

/// Judges the form of a text; Watch judges whether there is one.
void judge_text(Context& kit, std::string_view when, std::string_view text) {
  const std::string fault = text_fault(text);
  kit.expect("TN-ERR-2", fault.empty(), when, ": the text is not for a person: ", fault);
}

}  // namespace

TENON_CONFORMANCE_TEST("errors/reason-of-run", "the reason of a refused run can be read",
                       "[errors][level-5][case][TN-ERR-1][TN-ERR-2]") {
  LiveCase guarded(kit, {.guarded = true});
  WrongCalls wrong(kit, guarded, *guarded.runs().front());
  bool refused = false;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const WrongAnswer answer = wrong.execute(i);
    if (answer.accepted) continue;
    refused = true;
    judge_text(kit, wrong[i].text, answer.text);
  }
  if (!refused) kit.blocked("no wrong call was refused");
}

TENON_CONFORMANCE_TEST("errors/names-argument-counts",
                       "a wrong number of arguments is named with the right one",
                       "[errors][level-5][case][TN-ERR-2]") {
  LiveCase guarded(kit, {.guarded = true});
  // Another test judges delegates that run only once.
  for (int i = 0; i < 2; ++i) guarded.need_execute(*guarded.runs().front());
  WrongCalls wrong(kit, guarded, *guarded.runs().front());
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    if (wrong[i].mistake != Mistake::count || wrong[i].found == 0) continue;
    const WrongAnswer answer = wrong.execute(i);
    if (answer.accepted) kit.blocked("execute succeeded though ", wrong[i].text);
    if (answer.text.empty()) kit.blocked("the failure has no text");
    // The numbers may be about the inputs alone.
    const std::vector<std::size_t> numbers = numbers_in(answer.text);
    kit.expect("TN-ERR-2",
               std::ranges::adjacent_find(numbers, std::ranges::not_equal_to()) != numbers.end(),
               wrong[i].text,
               ": expected a text with the numbers that were expected and found, found '",
               answer.text, "'");
  }
}

TENON_CONFORMANCE_TEST("errors/reason-of-blob", "the reason of a refused blob can be read",
                       "[errors][level-5][case][TN-ERR-1][TN-ERR-2]") {
  BlobTrials trials(kit);
  const std::vector<std::byte> bad(7, std::byte{0xB5});
  std::vector<TrialBlob> blobs = {{"no bytes", {}}, {"7 bytes of no program", bad}};
  const std::vector<std::byte>& good = trials.blobs().front();
  if (!good.empty()) blobs.push_back({"half of the blob", {good.data(), good.size() / 2}});
  for (const TrialBlob& blob : blobs) {
    const BlobAnswer answer = trials.load(0, blob);
    if (answer.asked) judge_text(kit, blob.name, answer.text);
  }
}

TENON_CONFORMANCE_TEST("errors/reason-of-option", "the reason of a refused option can be read",
                       "[errors][level-5][backend][TN-ERR-1][TN-ERR-2]") {
  OpenedBackend opened(kit);
  CheckedOptions options(kit, opened);
  const auto judge = [&](std::string_view when, tenon_status status) {
    if (status != TENON_STATUS_OK) judge_text(kit, when, said_error().text);
  };
  // Keys that a careless backend would copy into its text unescaped.
  for (const std::string& key :
       {std::string(unknown_key), std::string(3000, 'k'), std::string("%s%n%s%n%d")}) {
    judge("an unknown option", options.set(key.c_str(), std::int64_t{1}));
    judge("an unknown option", options.get(key.c_str()).status);
  }
  for (const host::OptionDeclaration& option : options.declared()) {
    for (std::uint32_t type = TENON_OPTION_BOOL; type <= TENON_OPTION_BYTES; ++type) {
      if (type == option.initial.type()) continue;
      judge("a value of another type", options.set(option.key.c_str(), value_of_type(type)));
    }
  }
}

TENON_CONFORMANCE_TEST("errors/reason-of-unavailability",
                       "a backend that is not available says why",
                       "[errors][level-5][backend][TN-ERR-1][TN-ERR-2]") {
  OpenedBackend opened(kit);
  const host::LoadedBackend& backend = opened.backend();
  const tenon_status status = backend.api().is_available(backend.raw());
  if (status == TENON_STATUS_OK) kit.not_applicable("the backend is available");
  judge_text(kit, "is_available", said_error().text);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
