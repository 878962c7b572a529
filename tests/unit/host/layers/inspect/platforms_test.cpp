// SPDX-License-Identifier: MIT
//
// Plugins for each platform, shown to hosts of each: another machine, width, system or C library is
// refused from the file alone, by name.
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "macho_builder.hpp"
#include "object_builder.hpp"
#include "support/catch.hpp"
#include "support/elf32_builder.hpp"
#include "support/elf_builder.hpp"
#include "tenon/core/object/mach_o.hpp"
#include "tenon/host/layers/inspect/elf_functions.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;
namespace elf = tenon::test::elf;
namespace elf32 = tenon::test::elf32;

namespace {

ByteVector elf_for(std::uint16_t machine, std::string_view c_library) {
  ByteVector file = elf::build(ObjectBuilder(8).bytes());
  put_number(file, elf::machine, machine);
  if (!c_library.empty()) need_library(file, c_library);
  return file;
}

ByteVector arm_file(std::string_view c_library = "libc.so.6") {
  ByteVector file = elf32::build(ObjectBuilder(4).bytes());
  need_library(file, c_library);
  return file;
}

struct PlatformRow {
  Platform host;
  ByteVector plugin;
  std::string_view expected;  ///< In a refusal by this host.
  std::string_view found;     ///< In a refusal of this plugin by a host of another kind of file.
  std::string_view name;      ///< In a refusal by a host of the same kind of file.
};

std::vector<PlatformRow> platforms() {
  const std::string_view elf_file = "is an ELF file (Linux)", mach_o = "is a Mach-O file (macOS)";
  return {
      {{BinaryFormat::elf, 62, CLibrary::glibc},
       elf_for(62, "libc.so.6"),
       "expected an ELF shared library for x86_64",
       elf_file,
       "for x86_64"},
      {{BinaryFormat::elf, 62, CLibrary::musl},
       elf_for(62, "libc.musl-x86_64.so.1"),
       "expected an ELF shared library for x86_64",
       elf_file,
       "for x86_64"},
      {{BinaryFormat::elf, 183, CLibrary::glibc},
       elf_for(183, "libc.so.6"),
       "expected an ELF shared library for aarch64",
       elf_file,
       "for aarch64"},
      {{BinaryFormat::elf, 183, CLibrary::musl},
       elf_for(183, "libc.so"),
       "expected an ELF shared library for aarch64",
       elf_file,
       "for aarch64"},
      {{BinaryFormat::elf, 40, CLibrary::glibc},
       arm_file(),
       "expected an ELF shared library for arm",
       elf_file,
       "for arm"},
      {{BinaryFormat::mach_o, tenon::detail::macho::cpu_arm64},
       test::macho::build(ObjectBuilder(8).bytes(), test::macho::arm64),
       "expected a Mach-O library for arm64",
       mach_o,
       "Mach-O"},
      {{BinaryFormat::mach_o, tenon::detail::macho::cpu_x86_64},
       test::macho::build(ObjectBuilder(8).bytes()),
       "expected a Mach-O library for x86_64",
       mach_o,
       "Mach-O"},
  };
}

constexpr Platform arm_host{BinaryFormat::elf, 40, CLibrary::glibc};

std::string refusal_of(const ByteVector& file, const Platform& platform) {
  const auto record = peek(file, "plugin", platform);
  REQUIRE_FALSE(record.ok());
  CHECK(record.error() == Error::InvalidArgument);
  return std::string(record.text());
}

}  // namespace

TEST_CASE("a plugin is read by hosts of its platform and refused by name by all others") {
  const auto rows = platforms();
  for (const PlatformRow& host : rows) {
    for (const PlatformRow& plugin : rows) {
      INFO("host: " << host.expected << ", plugin: " << plugin.name);
      if (&host == &plugin) {
        const auto record = peek(plugin.plugin, "plugin", host.host);
        INFO(record.text());
        CHECK(record.ok());
        continue;
      }
      const std::string text = refusal_of(plugin.plugin, host.host);
      const bool same_kind = host.host.format == plugin.host.format;
      CHECK_THAT(text, ContainsSubstring(std::string(same_kind ? plugin.name : plugin.found)));
      if (same_kind && host.host.machine == plugin.host.machine) {
        CHECK_THAT(text, ContainsSubstring(host.host.c_library == CLibrary::glibc
                                               ? "that needs musl (libc.so), expected one for "
                                                 "glibc (libc.so.6)"
                                               : "that needs glibc (libc.so.6), expected one for "
                                                 "musl (libc.so)"));
      } else {
        CHECK_THAT(text, ContainsSubstring(std::string(host.expected)));
      }
      CHECK(text.find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("another width is named, in both directions") {
  CHECK(refusal_of(arm_file(), {BinaryFormat::elf, 183}) ==
        "plugin: is a 32-bit ELF file for arm, expected an ELF shared library for aarch64");
  CHECK(refusal_of(elf_for(183, ""), arm_host) ==
        "plugin: is a 64-bit ELF file for aarch64, expected an ELF shared library for arm");
  // The 32-bit pointers of x86-64 (x32).
  ByteVector x32 = arm_file();
  put_number(x32, elf::machine, std::uint16_t{62});
  CHECK_THAT(refusal_of(x32, {BinaryFormat::elf, 62}),
             ContainsSubstring("is a 32-bit ELF file for x86_64, expected"));
}

TEST_CASE("the width of a machine decides, not this host's") {
  CHECK(platform_of(arm_file()) == Platform{BinaryFormat::elf, 40});
  CHECK(platform_of(elf_for(183, "")) == Platform{BinaryFormat::elf, 183});
  constexpr std::uint16_t machines[] = {3, 8, 20, 40, 62, 183, 243, 258};
  for (const std::uint16_t machine : machines) {
    const bool narrow = machine == 3 || machine == 8 || machine == 20 || machine == 40;
    ByteVector small = elf32::build({}), large = elf::build({});
    put_number(small, elf::machine, machine);
    put_number(large, elf::machine, machine);
    CHECK(platform_of(small).has_value() == narrow);
    CHECK(platform_of(large).has_value() != narrow);
  }
}

TEST_CASE("a plugin whose pointers are not of its platform's size is refused") {
  const ByteVector narrow = elf::build(ObjectBuilder(4).bytes());
  const ByteVector wide = elf32::build(ObjectBuilder(8).bytes());
  CHECK_THAT(refusal_of(narrow, {BinaryFormat::elf, 62}),
             ContainsSubstring("the plugin has pointers of 4 bytes, expected 8 as on "));
  CHECK_THAT(refusal_of(wide, arm_host),
             ContainsSubstring("the plugin has pointers of 8 bytes, expected 4 as on "));
}

TEST_CASE("ELF files of other systems and of the ABI without floating-point registers are named") {
  ByteVector file = elf_for(62, "");
  constexpr std::size_t os_abi = 7;
  for (const auto& [number, name] : {std::pair{9, "FreeBSD"},
                                     {2, "NetBSD"},
                                     {6, "Solaris"},
                                     {12, "OpenBSD"},
                                     {97, "system number 97"}}) {
    file[os_abi] = static_cast<std::byte>(number);
    CHECK_THAT(refusal_of(file, {BinaryFormat::elf, 62}),
               ContainsSubstring(
                   concat("is an ELF file for x86_64 and ", std::string_view(name), ", expected")));
  }
  file[os_abi] = std::byte{3};  // GNU: it has symbols that are unique in a process.
  CHECK(peek(file, "plugin", {BinaryFormat::elf, 62}).ok());

  ByteVector soft = arm_file();
  put_number(soft, elf32::flags, 0x05000200u);
  CHECK_THAT(refusal_of(soft, arm_host),
             ContainsSubstring("for arm without floating-point registers (armel), expected"));
}

TEST_CASE("a library without a C library of its own is taken by hosts with either") {
  for (const std::string_view needed : {"", "libm.so.6", "libc.so.7", "libc.so.60", "xlibc.so.6"}) {
    const ByteVector file = elf_for(62, needed);
    for (const CLibrary library : {CLibrary::any, CLibrary::glibc, CLibrary::musl}) {
      CHECK(peek(file, "plugin", {BinaryFormat::elf, 62, library}).ok());
    }
  }
  CHECK(peek(elf_for(62, "libc.so"), "plugin", {BinaryFormat::elf, 62}).ok());
}

TEST_CASE("a 32-bit plugin is found by either hash table and its libraries are read") {
  ByteVector file = elf32::build(ObjectBuilder(4).bytes());
  for (const std::size_t other : {std::size_t{0}, std::size_t{1}}) {
    ByteVector one = file;
    put_number(one, elf32::entry(other), 12u);
    const auto record = peek(one, "plugin", arm_host);
    INFO(record.text());
    REQUIRE(record.ok());
    CHECK(record->name == "arithmetic");
  }
  need_library(file, "libc.so.6");
  const auto library = read_elf_library(file, 40);
  INFO(library.text());
  REQUIRE(library.ok());
  CHECK(library->dependencies.needed == std::vector<std::string>{"libc.so.6"});
  REQUIRE(library->exported.size() == 1);
  CHECK(library->exported[0].name == "tenon_plugin_v1");
  CHECK(library->exported[0].kind == LibrarySymbol::Kind::object);
  const std::uint64_t offsets[] = {elf32::object, 1 << 20};
  const auto addresses = addresses_at(file, offsets, 40);
  REQUIRE(addresses.ok());
  CHECK((*addresses)[0] == elf32::base + elf32::object);
  CHECK_FALSE((*addresses)[1]);
}

TEST_CASE("damage to a 32-bit ELF file is refused with what it is") {
  struct Row {
    const char* text;
    std::size_t offset;
    std::uint32_t value;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"whose 2 program headers begin at 4294967040", elf32::program_headers_offset,
            0xffffff00},
           {"segment 0 has 4294967040 bytes at 0", elf32::load + 16, 0xffffff00},
           {"its dynamic section is not in the file", elf32::dynamic_header + 8, 0xffffff00},
           {"its symbols have 24 bytes, expected 16", elf32::entry(5) + 4, 24},
           {"its string table of 4294967040 bytes", elf32::entry(4) + 4, 0xffffff00},
           {"its GNU hash table of 4294967040 buckets", elf32::gnu_hash, 0xffffff00},
           {"is a position-independent executable", elf32::entry(6) + 4, 0x08000001},
           {"at address 4294967040 are not all in the file", elf32::symbol + 4, 0xffffff00},
       }) {
    ByteVector file = elf32::build(ObjectBuilder(4).bytes());
    put_number(file, row.offset, row.value);
    CHECK_THAT(refusal_of(file, arm_host), ContainsSubstring(row.text));
  }
  ByteVector file = elf32::build(ObjectBuilder(4).bytes());
  put_number(file, elf32::program_header_size, std::uint16_t{56});
  CHECK_THAT(refusal_of(file, arm_host),
             ContainsSubstring("its program headers have 56 bytes, expected 32"));
  const ByteVector whole = elf32::build(ObjectBuilder(4).bytes());
  for (std::size_t size = 0; size < whole.size(); size += 3) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(peek(cut, "plugin", arm_host).ok());
  }
}

TEST_CASE("a 32-bit ELF file with random numbers in its tables is read or refused") {
  const ByteVector whole = elf32::build(ObjectBuilder(4).bytes());
  std::mt19937 random(32);
  std::size_t refused = 0;
  constexpr std::size_t rounds = 20'000;
  for (std::size_t round = 0; round < rounds; ++round) {
    ByteVector file = whole;
    for (int i = 0; i < 2; ++i) {
      file[random() % elf32::object] = static_cast<std::byte>(random());
    }
    refused += peek(file, "plugin", arm_host).ok() ? 0 : 1;
    static_cast<void>(read_elf_library(file, 40).ok());
  }
  CHECK(refused > rounds / 4);
  CHECK(refused < rounds);
}
