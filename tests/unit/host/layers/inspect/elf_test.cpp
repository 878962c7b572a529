// SPDX-License-Identifier: MIT
#include <random>
#include <string>

#include "damage.hpp"
#include "object_builder.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"
#include "tenon/host/layers/inspect/platforms.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;
namespace elf = tenon::test::elf;

namespace {

constexpr Platform linux_x86_64{BinaryFormat::elf, 62};

ByteVector valid_file() { return elf::build(ObjectBuilder(8).bytes()); }

Result<PluginRecord> peek_elf(const ByteVector& file) {
  return peek(file, "plugin.so", linux_x86_64);
}

/// Turns entry `index` of the dynamic section into an unused one.
Damage drop_entry(std::size_t index) { return put(elf::entry(index), std::uint64_t{12}); }

constexpr std::uint64_t huge = 0xffffffffffffff00;

}  // namespace

TEST_CASE("a plugin is found in an ELF library by either hash table") {
  for (const std::size_t other : {std::size_t{0}, std::size_t{1}}) {
    ByteVector file = valid_file();
    drop_entry(other)(file);
    check_found(file, "plugin.so", linux_x86_64);
  }
}

TEST_CASE("a symbol without a type is taken for a data object") {
  ByteVector file = valid_file();
  file[elf::symbol + 4] = std::byte{0x10};
  CHECK(peek_elf(file).ok());
}

TEST_CASE("an ELF file that is no plugin for this machine is refused with what it is") {
  const Damaged rows[] = {
      {"is a truncated ELF file of 63 bytes, expected an ELF shared library for x86_64", cut(63)},
      {"is a truncated ELF file of 100 bytes whose 2 program headers begin at 64", cut(100)},
      {"is a truncated ELF file of 2023 bytes: segment 0 has 2024 bytes at 0", cut(2023)},
      {"is a 32-bit ELF file for i386, expected",
       both(put(4, std::uint8_t{1}), put(elf::machine, std::uint16_t{3}))},
      {"its class is 9, expected 2", put(4, std::uint8_t{9})},
      {"is a big-endian ELF file for s390x, expected",
       both(put(5, std::uint8_t{2}), put(elf::machine, std::uint16_t{22 << 8}))},
      {"its data encoding is 0, expected 1", put(5, std::uint8_t{0})},
      {"is an ELF shared library for aarch64, expected an ELF shared library for x86_64",
       put(elf::machine, std::uint16_t{183})},
      {"is an ELF shared library for machine number 9999, expected",
       put(elf::machine, std::uint16_t{9999})},
      {"is an object file that is not linked (.o)", put(elf::type, std::uint16_t{1})},
      {"is an executable, expected", put(elf::type, std::uint16_t{2})},
      {"is a core dump", put(elf::type, std::uint16_t{4})},
      {"is an ELF file of type 65280", put(elf::type, std::uint16_t{0xff00})},
      {"its program headers have 32 bytes, expected 56",
       put(elf::program_header_size, std::uint16_t{32})},
      {"whose 65535 program headers begin at 64",
       put(elf::program_header_count, std::uint16_t{0xffff})},
      {"program headers begin at 18446744073709551360", put(elf::program_headers_offset, huge)},
      {"without a dynamic section", put(elf::program_header_count, std::uint16_t{1})},
      {"without a dynamic section", put(elf::program_header_count, std::uint16_t{0})},
      {"its dynamic section is not in the file", put(elf::dynamic_header + 16, huge)},
      {"its dynamic section is not in the file", put(elf::dynamic_header + 32, std::uint64_t{0})},
      {"segment 0 has 18446744073709551360 bytes at 0", put(elf::load + 32, huge)},
      {"bytes at 18446744073709551360", put(elf::load + 8, huge)},
      {"lacks the symbol table", drop_entry(2)},
      {"lacks the string table", drop_entry(3)},
      {"lacks the symbol hash table", both(drop_entry(0), drop_entry(1))},
      {"its symbol table is not in the file", put(elf::entry(2) + 8, huge)},
      {"its string table of 17 bytes is not in the file", put(elf::entry(3) + 8, huge)},
      {"its string table of 18446744073709551360 bytes", put(elf::entry(4) + 8, huge)},
      {"its string table of 0 bytes", drop_entry(4)},
      {"its symbols have 16 bytes, expected 24", put(elf::entry(5) + 8, std::uint64_t{16})},
      {"is a position-independent executable", put(elf::entry(6) + 8, std::uint64_t{0x08000001})},
      {"its GNU hash table of 0 buckets is not in the file", put(elf::gnu_hash, std::uint32_t{0})},
      {"its GNU hash table of 4294967295 buckets", put(elf::gnu_hash, 0xffffffffu)},
      {"its GNU hash table of 1 buckets is not in the file", put(elf::gnu_hash + 8, 0xffffffffu)},
      {"its GNU hash table of 0 buckets is not in the file", put(elf::entry(0) + 8, huge)},
      {"names symbol 1, expected at least 5", put(elf::gnu_hash + 4, 5u)},
      {"a chain of its GNU hash table leaves the file at symbol 4294967295",
       put(elf::gnu_hash + 24, 0xffffffffu)},
      {"its hash table of 0 buckets", both(drop_entry(0), put(elf::sysv_hash, 0u))},
      {"its hash table of 1 buckets and 4294967295 symbols",
       both(drop_entry(0), put(elf::sysv_hash + 4, 0xffffffffu))},
      {"its hash table of 4294967295 buckets",
       both(drop_entry(0), put(elf::sysv_hash, 0xffffffffu))},
      {"a chain of its hash table leaves the file at symbol 2",
       both(drop_entry(0), put(elf::sysv_hash + 8, 2u))},
      {"exports no symbol tenon_plugin_v1, expected one", put(elf::strings + 1, std::uint8_t{'T'})},
      {"exports no symbol tenon_plugin_v1", put(elf::symbol, 0xffffffffu)},
      {"exports no symbol tenon_plugin_v1", put(elf::gnu_hash + 24, 0u)},
      {"exports no symbol tenon_plugin_v1", put(elf::symbol + 4, std::uint8_t{0x01})},
      {"exports no symbol tenon_plugin_v1", put(elf::symbol + 5, std::uint8_t{2})},
      {"uses the symbol tenon_plugin_v1 without defining it",
       put(elf::symbol + 6, std::uint16_t{0})},
      {"exports tenon_plugin_v1 as a function", put(elf::symbol + 4, std::uint8_t{0x12})},
      {"exports tenon_plugin_v1 as a symbol of type 10", put(elf::symbol + 4, std::uint8_t{0x1a})},
      {"the 1576 bytes of tenon_plugin_v1 at address 18446744073709551360 are not all in the file",
       put(elf::symbol + 8, huge)},
      {"the 1577 bytes of tenon_plugin_v1", put(elf::symbol + 16, std::uint64_t{1577})},
      {"bytes of tenon_plugin_v1 at address", put(elf::symbol + 16, huge)},
      {"the plugin object has 0 bytes, smaller than the smallest head of 360",
       put(elf::symbol + 16, std::uint64_t{0})},
      {"object_size is 1576 but the plugin object has 1000 bytes",
       put(elf::symbol + 16, std::uint64_t{1000})},
      {"copy in text mode", put(elf::object + 7, std::uint8_t{'\r'})},
      {"backend record 0: id holds control character 7",
       put(elf::object + 360 + 16, std::uint8_t{7})},
  };
  check_refused(valid_file(), "plugin.so", linux_x86_64, rows);
}

namespace {

/// The valid file with room for `count` program headers at its end, where the first two are copies.
ByteVector with_headers(std::size_t count, std::size_t& headers) {
  ByteVector file = valid_file();
  headers = file.size();
  file.resize(headers + count * 56);
  std::copy_n(file.begin() + elf::load, 2 * 56,
              file.begin() + static_cast<std::ptrdiff_t>(headers));
  put_number(file, elf::program_headers_offset, std::uint64_t{headers});
  put_number(file, elf::program_header_count, static_cast<std::uint16_t>(count));
  return file;
}

/// Writes program header `index` of a table: all of its bytes are in the file.
void put_segment(ByteVector& file, std::size_t headers, std::size_t index, std::uint32_t type,
                 std::uint64_t offset, std::uint64_t address, std::uint64_t size) {
  const std::size_t at = headers + index * 56;
  put_number(file, at, type);
  put_number(file, at + 8, offset);
  put_number(file, at + 16, address);
  put_number(file, at + 32, size);
  put_number(file, at + 40, size);
}

}  // namespace

TEST_CASE("of two dynamic sections the last one counts, as for the dynamic loader") {
  std::size_t headers = 0;
  ByteVector file = with_headers(3, headers);
  // The first one is of zeros: it has no tables.
  put_segment(file, headers, 1, 2, elf::object, elf::base + elf::object, 16);
  put_segment(file, headers, 2, 2, elf::dynamic, elf::base + elf::dynamic, 8 * 16);
  const auto record = peek_elf(file);
  INFO(record.text());
  CHECK(record.ok());
  // glibc says that such a file has none.
  put_number(file, headers + 2 * 56 + 32, std::uint64_t{0});
  CHECK_THAT(std::string(peek_elf(file).text()),
             ContainsSubstring("its dynamic section is not in the file"));
}

TEST_CASE("of two segments at one address the later one counts, as for the dynamic loader") {
  std::size_t headers = 0;
  ByteVector file = with_headers(3, headers);
  const std::size_t other = file.size();
  file.resize(other + 2048);
  std::copy_n(file.begin() + elf::object, 1576, file.begin() + static_cast<std::ptrdiff_t>(other));
  const bool is_later = GENERATE(true, false);
  // The copy has no magic number.
  file[other] = std::byte{0};
  const std::size_t index = is_later ? 2 : 0;
  put_segment(file, headers, 2, 1, 0, elf::base, valid_file().size());
  put_segment(file, headers, index, 1, other, elf::base + elf::object, 1576);
  const auto record = peek_elf(file);
  INFO(record.text());
  CHECK(record.ok() != is_later);
  if (is_later) CHECK_THAT(std::string(record.text()), ContainsSubstring("begins with 00 "));
}

TEST_CASE("a file with more segments than a linker writes is refused") {
  std::size_t headers = 0;
  ByteVector file = with_headers(131, headers);
  for (std::size_t i = 2; i < 131; ++i) put_segment(file, headers, i, i == 2 ? 4u : 1u, 0, 0, 0);
  CHECK_THAT(std::string(peek_elf(file).text()),
             ContainsSubstring("it has 129 segments to load, expected at most 128"));
  put_segment(file, headers, 3, 4, 0, 0, 0);
  CHECK(peek_elf(file).ok());
}

TEST_CASE("a library whose object is only in zeroed memory is refused") {
  ByteVector file = valid_file();
  put_number(file, elf::load + 32, std::uint64_t{elf::object});
  CHECK_THAT(std::string(peek_elf(file).text()), ContainsSubstring("are not all in the file"));
}

TEST_CASE("a cyclic hash chain is refused") {
  ByteVector file = valid_file();
  drop_entry(0)(file);
  put_number(file, elf::strings + 1, std::uint8_t{'T'});
  put_number(file, elf::sysv_hash + 12 + 4, 1u);
  CHECK_THAT(std::string(peek_elf(file).text()),
             ContainsSubstring("a chain of its hash table does not end after 2 symbols"));
}

TEST_CASE("tables of a large hostile file are read only to their limits") {
  constexpr std::size_t size = std::size_t{8} << 20;
  ByteVector file = valid_file();
  file.resize(size);
  put_number(file, elf::load + 32, std::uint64_t{size});
  put_number(file, elf::load + 40, std::uint64_t{size});

  SECTION("a GNU hash chain that never ends") {
    constexpr std::size_t table = 65536;
    put_number(file, elf::entry(0) + 8, elf::base + table);
    for (const std::size_t number : {0u, 4u, 8u, 24u}) put_number(file, table + number, 1u);
    CHECK_THAT(std::string(peek_elf(file).text()),
               ContainsSubstring("a chain of its GNU hash table is longer than 65536"));
  }
  SECTION("a dynamic section as large as the file") {
    put_number(file, elf::dynamic_header + 32, std::uint64_t{size});
    CHECK_THAT(std::string(peek_elf(file).text()),
               ContainsSubstring("entries, expected at most 65536"));
  }
}

TEST_CASE("an ELF file with random numbers in its tables is read or refused") {
  const ByteVector whole = valid_file();
  std::mt19937_64 random(20262);
  const std::uint64_t values[] = {0,       1,    2,          24,         elf::base, 0x10100,
                                  0x10700, 0xff, 0x7fffffff, 0xffffffff, huge,      ~huge};
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    ByteVector file = whole;
    for (int pokes = 0; pokes < 2; ++pokes) {
      const std::size_t offset = random() % ((elf::object + 104) / 4) * 4;
      const auto value = values[random() % std::size(values)];
      if (random() % 2 == 0) {
        put_number(file, offset, static_cast<std::uint32_t>(value));
      } else {
        put_number(file, offset, value);
      }
    }
    const auto record = peek_elf(file);
    if (record.ok()) continue;
    ++refused;
    REQUIRE((record.error() == Error::InvalidArgument || record.error() == Error::NotSupported));
  }
  CHECK(refused > 10000);
}

TEST_CASE("every shortened ELF file is refused") {
  const ByteVector whole = valid_file();
  REQUIRE(peek_elf(whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    INFO(size);
    REQUIRE(peek_elf(cut).error() == Error::InvalidArgument);
  }
}
