// SPDX-License-Identifier: MIT
//
// The library is a plugin that this build links, with its symbol table.
#include "tenon/aot/compiler/aoti/strip_library.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/plugin/peek.hpp"

namespace tenon::test::strip_library {

using aot::SharedBytes;
using Content = std::vector<std::byte>;

const Content& plugin() {
  static const Content bytes = [] {
    const auto file = host::MappedFile::open(TENON_TEST_HELLO);
    REQUIRE(file.ok());
    return Content(file->bytes().begin(), file->bytes().end());
  }();
  return bytes;
}

Content strip(const Content& library) {
  const auto stripped = aot::strip_library(SharedBytes(library));
  INFO(stripped.text());
  REQUIRE(stripped.ok());
  return {stripped->bytes().begin(), stripped->bytes().end()};
}

std::string refusal(const Content& library, Error code) {
  const auto stripped = aot::strip_library(SharedBytes(library));
  CHECK(stripped.error() == code);
  return std::string(stripped.text());
}

template <class Number>
void put(Content& out, std::size_t at, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    out.at(at + i) = static_cast<std::byte>(number >> (8 * i));
  }
}
std::size_t section_header(const Content& library, std::size_t index) {
  return static_cast<std::size_t>(*read_le<std::uint64_t>(library, 40)) + 64 * index;
}

TEST_CASE("a library is packed without its symbols, and is the same to a loader",
          "[compile][aoti]") {
  const auto before = host::read_elf_library(plugin());
  REQUIRE(before.ok());
  REQUIRE(before->symbol_table);
  const Content stripped = strip(plugin());
  CHECK(stripped.size() < plugin().size());
  const auto after = host::read_elf_library(stripped);
  INFO(after.text());
  REQUIRE(after.ok());
  CHECK_FALSE(after->symbol_table);
  CHECK_FALSE(after->debug_information);
  CHECK(after->exported.size() == before->exported.size());
  CHECK(after->undefined.size() == before->undefined.size());
  CHECK(after->build_id == before->build_id);
  CHECK(after->num_constructors == before->num_constructors);
  const TemporaryDirectory directory;
  const auto file = directory.write("stripped.so", std::string(as_text(stripped)));
  const auto record = host::peek(file);
  INFO(record.text());
  REQUIRE(record.ok());
  CHECK(record->backends.at(0).id == "Add");
  // Nothing is left to remove.
  CHECK(strip(stripped) == stripped);
}

TEST_CASE("what has no symbols of ELF is packed as it is", "[compile][aoti]") {
  for (const std::string_view text : {"",
                                      "\x7f"
                                      "ELF",
                                      "\xcf\xfa\xed\xfe", "text"}) {
    const Bytes bytes = std::as_bytes(std::span(text));
    const Content content(bytes.begin(), bytes.end());
    CHECK(strip(content) == content);
  }
  Content without_headers = plugin();
  put(without_headers, 40, std::uint64_t{0});
  CHECK(strip(without_headers) == without_headers);
}

TEST_CASE("a library whose symbols are not all that would be lost is refused with the reason",
          "[compile][aoti]") {
  Content with_weights = plugin();
  with_weights.resize(with_weights.size() + 4096);
  CHECK(refusal(with_weights, Error::NotSupported) == "it has 4096 bytes behind its sections");
  Content loaded = plugin();
  const auto count = *read_le<std::uint16_t>(loaded, 60);
  put(loaded, section_header(loaded, count - 1U) + 8, std::uint64_t{2});
  CHECK_THAT(refusal(loaded, Error::NotSupported),
             ContainsSubstring("is loaded and follows a section that is not"));
  Content linked = plugin();
  put(linked, section_header(linked, 1) + 40, std::uint32_t{count});
  CHECK(refusal(linked, Error::NotSupported) == "section 1 needs a section that is not loaded");
}

TEST_CASE("damaged headers are refused, and nothing outside of the file is read",
          "[compile][aoti]") {
  Content far = plugin();
  put(far, 40, std::uint64_t{far.size() - 64});
  CHECK_THAT(refusal(far, Error::InvalidProgram), ContainsSubstring("are not in the file"));
  Content section = plugin();
  put(section, section_header(section, 1) + 32, ~std::uint64_t{0});
  CHECK_THAT(refusal(section, Error::InvalidProgram),
             ContainsSubstring("section 1 is not in the file"));
  std::mt19937 random(1);
  const auto number = [&](std::size_t below) { return random() % below; };
  for (unsigned i = 0; i < rounds(2000U); ++i) {
    Content damaged = plugin();
    const std::size_t begin =
        number(2) == 0 ? 0 : section_header(damaged, number(*read_le<std::uint16_t>(damaged, 60)));
    damaged.at(begin + number(64)) = static_cast<std::byte>(number(256));
    if (number(4) == 0) damaged.resize(number(damaged.size()));
    const auto stripped = aot::strip_library(SharedBytes(damaged));
    if (!stripped.ok()) CHECK_FALSE(stripped.text().empty());
  }
}

}  // namespace tenon::test::strip_library
