// SPDX-License-Identifier: MIT
#include <random>
#include <string>

#include "damage.hpp"
#include "macho_builder.hpp"
#include "object_builder.hpp"
#include "support/catch.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;
namespace macho = tenon::test::macho;

namespace macho_test {
namespace {

constexpr Platform mac_x86_64{BinaryFormat::mach_o, macho::x86_64};
constexpr Platform mac_arm64{BinaryFormat::mach_o, macho::arm64};

ByteVector valid_file() { return macho::build(ObjectBuilder(8).bytes()); }

/// A library whose only backend says for which machine it is.
ByteVector file_for(std::uint32_t cpu, std::string_view id) {
  return macho::build(ObjectBuilder({id}).bytes(), cpu);
}

std::string peek_text(const ByteVector& file, const Platform& platform = mac_x86_64) {
  return std::string(peek(file, "plugin.dylib", platform).text());
}

std::string peek_id(const ByteVector& file, const Platform& platform) {
  const auto record = peek(file, "plugin.dylib", platform);
  return record.ok() ? record->backends.front().id : std::string(record.text());
}

/// Makes the library one of an old linker, without an export trie.
const Damage drop_trie = put(macho::trie_command, 0x7fu);

constexpr std::uint64_t huge = 0xffffffffffffff00;

}  // namespace

TEST_CASE("a plugin is found in a Mach-O library by its export trie") {
  ByteVector file = valid_file();
  put_number(file, macho::symbol_command, 0x7fu);
  check_found(file, "plugin.dylib", mac_x86_64);
}

TEST_CASE("a plugin is found in a Mach-O library by its symbol table when it has no trie") {
  ByteVector file = valid_file();
  drop_trie(file);
  check_found(file, "plugin.dylib", mac_x86_64);
}

TEST_CASE("a plugin is found in a Mach-O bundle with the older kind of export trie") {
  ByteVector file = valid_file();
  put_number(file, macho::type, 8u);
  // LC_DYLD_INFO_ONLY is longer, so it takes the room of both commands behind the segments.
  put_number(file, macho::num_commands, 4u);
  put_number(file, macho::commands_size, 3 * 72u + 48u);
  ByteVector command(48);
  put_number(command, 0, 0x80000022u);
  put_number(command, 4, 48u);
  // It ends where the trie begins in the valid file: the trie moves behind the object.
  const auto moved = static_cast<std::uint32_t>(file.size());
  file.insert(file.end(), file.begin() + macho::trie, file.begin() + macho::symbols);
  put_number(command, 40, moved);
  put_number(command, 44, static_cast<std::uint32_t>(macho::symbols - macho::trie));
  std::copy(command.begin(), command.end(), file.begin() + macho::trie_command);
  const auto record = peek(file, "plugin.bundle", mac_x86_64);
  INFO(record.text());
  REQUIRE(record.ok());
  CHECK(record->backends.size() == 2);
}

TEST_CASE("of a universal file the slice for the machine is read") {
  const std::vector<macho::Slice> slices{
      {macho::x86_64, 8, file_for(macho::x86_64, "Haswell")},
      {macho::x86_64, 3, file_for(macho::x86_64, "AnyIntel")},
      {macho::arm64, 0x80000002, file_for(macho::arm64, "Authenticated")},
      {macho::arm64, 0, file_for(macho::arm64, "AnyArm")},
  };
  for (const bool wide : {false, true}) {
    const ByteVector file = macho::build_universal(slices, wide);
    CHECK(peek_id(file, mac_x86_64) == "AnyIntel");
    CHECK(peek_id(file, mac_arm64) == "AnyArm");
  }
  CHECK(peek_id(macho::build_universal({slices[0], slices[2]}), mac_arm64) == "Authenticated");
}

TEST_CASE("a universal file that does not fit is refused") {
  const std::vector<macho::Slice> arm{{macho::arm64, 0, file_for(macho::arm64, "Arm")}};
  CHECK_THAT(
      peek_text(macho::build_universal(arm)),
      ContainsSubstring("is a universal Mach-O file for arm64, expected a slice for x86_64"));
  CHECK_THAT(peek_text(macho::build_universal({})),
             ContainsSubstring("is a universal Mach-O file for no machine"));
  CHECK_THAT(
      peek_text(macho::build_universal({{macho::x86_64, 3, file_for(macho::arm64, "Arm")}})),
      ContainsSubstring("is a Mach-O library for arm64, expected a Mach-O library for x86_64"));
  CHECK_THAT(peek_text(macho::build_universal({{macho::x86_64, 3, macho::build_universal(arm)}})),
             ContainsSubstring("is a slice with magic ca fe ba be instead of cf fa ed fe"));

  ByteVector cut = macho::build_universal({{macho::x86_64, 3, valid_file()}});
  cut.resize(5000);
  CHECK_THAT(peek_text(cut),
             ContainsSubstring("is a truncated universal Mach-O file of 5000 bytes: "
                               "the slice for x86_64 has 2024 bytes at 4096"));
  cut.resize(20);
  CHECK_THAT(peek_text(cut),
             ContainsSubstring("is a truncated universal Mach-O file of 20 bytes with 1 slices"));

  ByteVector wide = macho::build_universal({{macho::x86_64, 3, valid_file()}}, true);
  put_number(wide, 4, 0xffffffffu);
  CHECK_THAT(peek_text(wide),
             ContainsSubstring("it says that it has 4294967295 slices, expected at most 40"));
}

TEST_CASE("a Mach-O file that is no plugin for this machine is refused with what it is") {
  const Damaged rows[] = {
      {"is a truncated Mach-O file of 31 bytes, expected a Mach-O library for x86_64", cut(31)},
      {"is a truncated Mach-O file of 287 bytes whose load commands have 256", cut(287)},
      {"is a truncated Mach-O file of 2023 bytes: a segment has 1576 bytes at 448", cut(2023)},
      {"is a Mach-O library for arm64, expected a Mach-O library for x86_64",
       put(macho::cpu, macho::arm64)},
      {"is a Mach-O library for CPU type 99", put(macho::cpu, 99u)},
      {"is a Mach-O object file that is not linked (.o)", put(macho::type, 1u)},
      {"is a Mach-O executable", put(macho::type, 2u)},
      {"is a Mach-O core dump", put(macho::type, 4u)},
      {"debug information only", put(macho::type, 10u)},
      {"is a Mach-O file of type 77", put(macho::type, 77u)},
      {"load command 5 of 65536 has 0 bytes", put(macho::num_commands, 65536u)},
      {"it says that it has 65537 load commands", put(macho::num_commands, 65537u)},
      {"load command 0 of 5 has 0 bytes", put(macho::text_segment + 4, 0u)},
      {"load command 0 of 5 has 4294967295 bytes", put(macho::text_segment + 4, 0xffffffffu)},
      {"load command 25 has 16 bytes, expected at least 72", put(macho::text_segment + 4, 16u)},
      {"load command 2 has 16 bytes, expected at least 24", put(macho::trie_command, 0x2u)},
      {"load command 34 has 16 bytes, expected at least 48", put(macho::trie_command, 0x22u)},
      {"a segment has 18446744073709551360 bytes at 448", put(macho::data_segment + 48, huge)},
      {"a segment has 1576 bytes at 18446744073709551360", put(macho::data_segment + 40, huge)},
      {"neither an export trie nor a symbol table",
       both(drop_trie, put(macho::symbol_command, 0x7fu))},
      {"its export trie of 64 bytes at 4294967295", put(macho::trie_command + 8, 0xffffffffu)},
      {"its export trie of 4294967295 bytes", put(macho::trie_command + 12, 0xffffffffu)},
      {"exports no symbol _tenon_plugin_v1, expected one", put(macho::trie_command + 12, 0u)},
      {"exports no symbol _tenon_plugin_v1", put(macho::trie_label, std::uint8_t{'x'})},
      {"exports no symbol _tenon_plugin_v1", put(macho::trie + 1, std::uint8_t{0})},
      {"exports no symbol _tenon_plugin_v1", put(macho::trie_leaf, std::uint8_t{0})},
      // An edge without a label does not lead on, so it cannot lead in circles.
      {"exports no symbol _tenon_plugin_v1", put(macho::trie_label, std::uint8_t{0})},
      {"its export trie leaves its 64 bytes at node 127",
       put(macho::trie_label + 8, std::uint8_t{127})},
      {"its export trie leaves its 64 bytes at node 0", put(macho::trie, std::uint8_t{0x7f})},
      {"broken edge 0 at node 0",
       [](ByteVector& file) {
         std::fill(file.begin() + macho::trie_label, file.begin() + macho::symbols, std::byte{'x'});
       }},
      {"its export trie ends inside _tenon_plugin_v1", put(macho::trie_command + 12, 39u)},
      {"exports _tenon_plugin_v1 with flags 8, expected plain data",
       put(macho::trie_leaf + 1, std::uint8_t{8})},
      {"exports _tenon_plugin_v1 with flags 1", put(macho::trie_leaf + 1, std::uint8_t{1})},
      {"its symbol table of 4294967295 symbols",
       both(drop_trie, put(macho::symbol_command + 12, 0xffffffffu))},
      {"its symbol table of 3 symbols at 4294967295",
       both(drop_trie, put(macho::symbol_command + 8, 0xffffffffu))},
      {"4294967295 bytes of names", both(drop_trie, put(macho::symbol_command + 20, 0xffffffffu))},
      {"exports no symbol _tenon_plugin_v1",
       both(drop_trie, put(macho::symbols + 32 + 4, std::uint8_t{0x1f}))},
      {"exports no symbol _tenon_plugin_v1",
       both(drop_trie, put(macho::symbols + 32, 0xffffffffu))},
      {"the object _tenon_plugin_v1 at address 18446744073709551360 is not in the file",
       both(drop_trie, put(macho::symbols + 32 + 8, huge))},
      {"the object _tenon_plugin_v1 at address 4294983680 is not in the file",
       put(macho::data_segment + 48, std::uint64_t{0})},
      {"object_size is 1576 but the plugin object has 1000 bytes",
       put(macho::data_segment + 48, std::uint64_t{1000})},
      {"the plugin object has magic 00 00 00 00 00 00 00 00, expected",
       put(macho::object, std::uint64_t{0})},
  };
  check_refused(valid_file(), "plugin.dylib", mac_x86_64, rows);
}

TEST_CASE("reading a cyclic export trie ends") {
  ByteVector file = valid_file();
  // "_tenon_" leads back to the root, where no further edge fits.
  put_number(file, macho::trie_label + 8, std::uint8_t{0});
  CHECK_THAT(peek_text(file), ContainsSubstring("exports no symbol _tenon_plugin_v1"));
}

TEST_CASE("a library for another system is refused") {
  CHECK_THAT(
      peek_text(valid_file(), Platform{BinaryFormat::elf, 62}),
      ContainsSubstring("is a Mach-O file (macOS), expected an ELF shared library for x86_64"));
  CHECK_THAT(peek_text(tenon::test::elf::build(ObjectBuilder(8).bytes())),
             ContainsSubstring("is an ELF file (Linux), expected a Mach-O library for x86_64"));
}

TEST_CASE("a Mach-O file with random bytes is read or refused") {
  const ByteVector thin = valid_file();
  const ByteVector universal = macho::build_universal({{macho::x86_64, 3, thin}}, true);
  std::mt19937_64 random(20263);
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const bool is_universal = round % 4 == 0;
    ByteVector file = is_universal ? universal : thin;
    // The universal file is padded with zeros between its table and its slice.
    const std::size_t end = is_universal ? 40 : macho::object + 104;
    for (int flips = 0; flips < 3; ++flips) {
      file[random() % end] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random() % 256);
    }
    if (round % 3 == 0) drop_trie(file);
    const auto record = peek(file, "plugin.dylib", mac_x86_64);
    if (record.ok()) continue;
    ++refused;
    REQUIRE((record.error() == Error::InvalidArgument || record.error() == Error::NotSupported));
  }
  CHECK(refused > 5000);
}

TEST_CASE("every shortened Mach-O file is refused") {
  const ByteVector thin = valid_file();
  for (const ByteVector& whole : {thin, macho::build_universal({{macho::x86_64, 3, thin}})}) {
    const std::size_t last = whole.size() == thin.size() ? thin.size() : 4096 + thin.size();
    for (std::size_t size = 0; size < last; ++size) {
      const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      INFO(size);
      REQUIRE(peek(cut, "x", mac_x86_64).error() == Error::InvalidArgument);
    }
  }
}

}  // namespace macho_test
