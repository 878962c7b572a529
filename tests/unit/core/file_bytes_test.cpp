// SPDX-License-Identifier: MIT
#include "tenon/core/file_bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "support/catch.hpp"
#include "tenon/core/elf/elf_class.hpp"
#include "tenon/core/hex.hpp"

using namespace tenon;

TEST_CASE("numbers of a file are read in both byte orders, and as 0 outside of it", "[core]") {
  const std::array<std::uint8_t, 5> content{1, 2, 3, 4, 5};
  const FileBytes file(std::as_bytes(std::span(content)));
  CHECK(file.u8(4) == 5);
  CHECK(file.u16(3) == 0x0504);
  CHECK(file.u32(1) == 0x05040302);
  CHECK(file.big_endian<std::uint32_t>(1) == 0x02030405);
  CHECK(file.u32(2) == 0);
  CHECK(file.u64(0) == 0);
  CHECK(file.u8(UINT64_MAX) == 0);
  CHECK(file.big_endian<std::uint16_t>(UINT64_MAX) == 0);
}

TEST_CASE("a part of a file is cut at its end", "[core]") {
  constexpr std::string_view text("abc\0de", 6);
  const FileBytes file(std::as_bytes(std::span(text)));
  CHECK(file.part(1, 2).text() == "bc");
  CHECK(file.part(4).text() == "de");
  CHECK(file.part(5, UINT64_MAX).text() == "e");
  CHECK(file.part(6).empty());
  CHECK(file.part(UINT64_MAX, UINT64_MAX).empty());
  CHECK(file.holds(6, 0));
  CHECK_FALSE(file.holds(6, 1));
  CHECK_FALSE(file.holds(1, UINT64_MAX));
  CHECK(file.c_string(1, 3) == "bc");
  CHECK_FALSE(file.c_string(1, 2).has_value());
  CHECK_FALSE(file.c_string(4, 100).has_value());
}

TEST_CASE("an entry of an ELF table is read in each width, and as zeroes outside of it", "[core]") {
  std::array<std::uint8_t, 24> content{};
  content[0] = 7;   // st_name of both.
  content[4] = 9;   // st_value of 32 bits, st_info of 64.
  content[12] = 3;  // st_info of 32 bits.
  const FileBytes table(std::as_bytes(std::span(content)));
  const auto narrow = ElfClass{.wide = false}.symbol(table, 0);
  CHECK(narrow.name == 7);
  CHECK(narrow.address == 9);
  CHECK(narrow.info == 3);
  const auto wide = ElfClass{}.symbol(table, 0);
  CHECK(wide.name == 7);
  CHECK(wide.info == 9);
  CHECK(ElfClass{}.symbol(table, 1).name == 0);
  CHECK(ElfClass{}.symbol(table, 1).info == 0);
}

TEST_CASE("the last members of an ELF segment and the flags of a section are read in both widths",
          "[core]") {
  std::array<std::uint8_t, 64> content{};
  content[8] = 2;    // sh_flags of both.
  content[28] = 4;   // p_align of 32 bits.
  content[48] = 16;  // p_align of 64 bits.
  const FileBytes table(std::as_bytes(std::span(content)));
  CHECK(ElfClass{.wide = false}.segment(table, 0).alignment == 4);
  CHECK(ElfClass{}.segment(table, 0).alignment == 16);
  CHECK(ElfClass{}.segment(table.part(0, 48), 0).alignment == 0);
  CHECK(ElfClass{.wide = false}.section(table, 0).flags == 2);
  CHECK(ElfClass{}.section(table, 0).flags == 2);
}

TEST_CASE("bytes are shown in hexadecimal with spaces, up to a limit", "[core]") {
  const std::array<std::uint8_t, 3> content{0x7f, 0x45, 0x0a};
  CHECK(to_spaced_hex(std::as_bytes(std::span(content)), 8) == "7f 45 0a");
  CHECK(to_spaced_hex(std::as_bytes(std::span(content)), 2) == "7f 45");
  CHECK(to_spaced_hex({}, 2).empty());
}
