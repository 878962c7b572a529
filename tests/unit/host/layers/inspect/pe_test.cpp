// SPDX-License-Identifier: MIT
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "damage.hpp"
#include "macho_builder.hpp"
#include "object_builder.hpp"
#include "pe_builder.hpp"
#include "support/catch.hpp"
#include "tenon/host/layers/discovery/platform_names.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;
namespace pe = tenon::test::pe;

namespace pe_test {
namespace {

constexpr Platform windows_x86_64{BinaryFormat::pe, pe::x86_64};

ByteVector valid_file(std::uint16_t machine = pe::x86_64) {
  const std::uint8_t pointer_size = machine == pe::i386 ? 4 : 8;
  return pe::build(ObjectBuilder(pointer_size).bytes(), machine);
}

std::string peek_text(const ByteVector& file, const Platform& platform = windows_x86_64) {
  return std::string(peek(file, "plugin.dll", platform).text());
}

Damage put16(std::size_t offset, unsigned value) {
  return [=](ByteVector& file) { put_number(file, offset, static_cast<std::uint16_t>(value)); };
}

Damage put32(std::size_t offset, std::uint32_t value) {
  return [=](ByteVector& file) { put_number(file, offset, value); };
}

}  // namespace

TEST_CASE("a plugin is found in a DLL by its export directory") {
  for (const std::uint16_t machine : {pe::x86_64, pe::arm64, pe::i386}) {
    check_found(valid_file(machine), "plugin.dll", {BinaryFormat::pe, machine});
  }
}

TEST_CASE("a section without a size in memory has the one in the file") {
  ByteVector file = valid_file();
  put_number(file, pe::second_section + pe::memory_size, std::uint32_t{0});
  CHECK(peek(file, "plugin.dll", windows_x86_64).ok());
}

TEST_CASE("the platform of a library is found by its first bytes") {
  namespace macho = tenon::test::macho;
  const ByteVector object = ObjectBuilder(8).bytes();
  CHECK(platform_of(valid_file(pe::arm64)) == Platform{BinaryFormat::pe, pe::arm64});
  CHECK(platform_of(tenon::test::elf::build(object)) == Platform{BinaryFormat::elf, 62});
  for (const std::size_t width_or_order : {std::size_t{4}, std::size_t{5}}) {
    ByteVector other = tenon::test::elf::build(object);
    put_number(other, width_or_order, std::uint8_t(width_or_order == 4 ? 1 : 2));
    CHECK(platform_of(other) == std::nullopt);
  }
  const ByteVector arm = macho::build(object, macho::arm64);
  CHECK(platform_of(arm) == Platform{BinaryFormat::mach_o, tenon::test::macho::arm64});
  const Platform universal{BinaryFormat::mach_o, tenon::test::macho::arm64};
  CHECK(platform_of(macho::build_universal({{macho::arm64, 0, arm}})) ==
        (this_platform.format == BinaryFormat::mach_o ? this_platform : universal));
  CHECK(platform_of(ByteVector(64)) == std::nullopt);
  CHECK(platform_of({}) == std::nullopt);
  CHECK(machine_name({BinaryFormat::pe, pe::i386}) == "i386");
  CHECK(machine_name({BinaryFormat::elf, 183}) == "aarch64");
  CHECK(machine_name(universal) == "arm64");
}

TEST_CASE("a platform has one name in manifests, for the libraries that it loads") {
  CHECK(platform_name({BinaryFormat::pe, pe::x86_64}) == "windows-x86_64");
  CHECK(platform_name({BinaryFormat::pe, pe::i386}) == "windows-i386");
  CHECK(platform_name({BinaryFormat::mach_o, tenon::test::macho::arm64}) == "macos-arm64");
  CHECK(platform_name({BinaryFormat::mach_o, tenon::test::macho::x86_64}) == "macos-x86_64");
  const std::pair<std::uint32_t, std::string_view> machines[] = {
      {62, "x86_64"},   {183, "aarch64"}, {40, "arm"},
      {243, "riscv64"}, {21, "ppc64le"},  {258, "loongarch64"}};
  for (const auto& [machine, name] : machines) {
    CHECK(platform_name({BinaryFormat::elf, machine}) == concat("linux-", name));
  }
  CHECK(platform_name() == platform_name(this_platform));
}

TEST_CASE("a DLL is refused on another system with one sentence") {
  CHECK(peek_text(valid_file(), {BinaryFormat::elf, 62}) ==
        "plugin.dll: is a Windows DLL for x86_64, expected an ELF shared library for x86_64");
  CHECK(peek_text(valid_file(pe::arm64), {BinaryFormat::mach_o, 0x0100000c}) ==
        "plugin.dll: is a Windows DLL for arm64, expected a Mach-O library for arm64");
  CHECK(peek_text(tenon::test::elf::build(ObjectBuilder(8).bytes())) ==
        "plugin.dll: is an ELF file (Linux), expected a Windows DLL for x86_64");
}

TEST_CASE("a PE file that is no plugin for this machine is refused with what it is") {
  const Damaged rows[] = {
      {"is a truncated PE file of 63 bytes, expected a Windows DLL for x86_64", cut(63)},
      {"is a program for DOS or a truncated PE file", put32(pe::signature, 0)},
      {"is a program for DOS or a truncated PE file", put32(pe::pe_offset, 0xffffffff)},
      {"is a program for DOS or a truncated PE file", cut(87)},
      {"is a Windows program (.exe) for x86_64", put16(pe::characteristics, 0x22)},
      {"is a Windows DLL for arm64, expected a Windows DLL for x86_64",
       put16(pe::machine, pe::arm64)},
      {"is a Windows DLL for i386", put16(pe::machine, pe::i386)},
      {"is a Windows DLL for machine number 99", put16(pe::machine, 99)},
      {"its optional header has the number 263", put16(pe::optional, 0x107)},
      {"it has 97 sections, expected at most 96", put16(pe::num_sections, 97)},
      {"it has 65535 sections", put16(pe::num_sections, 0xffff)},
      {"the headers of its 2 sections are not in the file", cut(400)},
      {"is a truncated PE file of 2599 bytes: section 1 has 1576 bytes at 1024", cut(2599)},
      {"section 0 has 4294967295 bytes at 512",
       put32(pe::first_section + pe::file_size, 0xffffffff)},
      {"section 0 has 512 bytes at 4294967295",
       put32(pe::first_section + pe::file_offset, 0xffffffff)},
      {"exports no symbol tenon_plugin_v1, expected one", put32(pe::directory(true) + 4, 0)},
      {"exports no symbol tenon_plugin_v1", put32(pe::directory(true) - 4, 0)},
      {"exports no symbol tenon_plugin_v1", put32(pe::num_names, 0)},
      {"exports no symbol tenon_plugin_v1", put32(pe::strings + 4, 0x78787878)},
      {"its export directory at address 4294967295", put32(pe::directory(true), 0xffffffff)},
      {"its export directory at address 5592", put32(pe::directory(true), 5592)},
      {"its tables of 4294967295 exported addresses", put32(pe::num_addresses, 0xffffffff)},
      {"and 4294967295 names", put32(pe::num_names, 0xffffffff)},
      {"its tables of 3 exported addresses and 3 names", put32(pe::addresses_at, 0xffffffff)},
      {"its tables of 3 exported addresses and 3 names", put32(pe::names_at, 0x2000)},
      {"its tables of 3 exported addresses and 3 names", put32(pe::ordinals_at, 0x11fb)},
      {"tenon_plugin_v1 has the number 3 of 3 exported addresses", put16(pe::ordinals + 2, 3)},
      {"forwards the export tenon_plugin_v1 to another DLL",
       put32(pe::addresses + 4, pe::export_address + 8)},
      {"the object tenon_plugin_v1 at address 4294967295", put32(pe::addresses + 4, 0xffffffff)},
      {"the object tenon_plugin_v1 at address 12288 is not in the file",
       put32(pe::second_section + pe::file_size, 0)},
      {"object_size is 1576 but the plugin object has 1000 bytes",
       put32(pe::second_section + pe::memory_size, 1000)},
      {"the plugin object has magic 00 00 00 00", put32(pe::object, 0)},
  };
  check_refused(valid_file(), "plugin.dll", windows_x86_64, rows);
}

TEST_CASE("a PE file with random bytes is read or refused") {
  const ByteVector whole = valid_file();
  std::mt19937_64 random(20265);
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    ByteVector file = whole;
    // Headers, the export directory, the head of the object.
    const std::size_t ranges[][2] = {{0, 408}, {pe::exports, 144}, {pe::object, 104}};
    for (int changes = 0; changes < 3; ++changes) {
      const auto& [start, size] = ranges[random() % 3];
      file[start + random() % size] =
          static_cast<std::byte>(random() % 4 == 0 ? 0xff : random() % 256);
    }
    const auto record = peek(file, "plugin.dll", windows_x86_64);
    if (record.ok()) continue;
    ++refused;
    REQUIRE((record.error() == Error::InvalidArgument || record.error() == Error::NotSupported));
  }
  CHECK(refused > 5000);
}

TEST_CASE("every shortened PE file is refused") {
  const ByteVector whole = valid_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    INFO(size);
    REQUIRE(peek(cut, "x", windows_x86_64).error() == Error::InvalidArgument);
  }
}

}  // namespace pe_test
