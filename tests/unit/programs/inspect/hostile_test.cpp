// SPDX-License-Identifier: MIT
//
// Hostile files: whatever they hold, they are read or refused, soon.
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>
#include <string>

#include "inspect_support.hpp"
#include "support/elf_builder.hpp"
#include "support/rounds.hpp"
#include "tenon/core/object/elf.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace hostile_test {
namespace {

constexpr std::uint32_t x86_64 = 62;

/// Whether the file can be read. What can be read is judged, too.
bool read_and_judge(std::span<const std::byte> bytes, std::uint32_t machine) {
  const auto library = read_elf_library(bytes, machine);
  if (!library.ok()) {
    INFO(library.text());
    REQUIRE(library.error() == Error::InvalidArgument);
    REQUIRE_FALSE(library.text().empty());
    return false;
  }
  REQUIRE(lint_plugin(*library).size() >= 17);
  return true;
}

/// A library of `size` bytes, all of them loaded and zero behind the small library's tables.
ByteVector large_file(std::size_t size) { return elf::build(ByteVector(size - elf::object)); }

void set_entry(ByteVector& file, std::size_t index, std::uint64_t tag, std::uint64_t value) {
  put_number(file, elf::entry(index), tag);
  put_number(file, elf::entry(index) + 8, value);
}

/// Lets the string table be the last `size` bytes: one text, with or without an end.
void make_one_text(ByteVector& file, std::size_t size, bool ends) {
  const std::size_t begin = file.size() - size;
  std::fill(file.begin() + static_cast<std::ptrdiff_t>(begin), file.end(), std::byte{'x'});
  if (ends) file.back() = std::byte{0};
  set_entry(file, 3, 5, elf::base + begin);
  set_entry(file, 4, 10, size);
}

void check_refused(const ByteVector& file, const std::string& text) {
  const auto library = read_elf_library(file, x86_64);
  REQUIRE_FALSE(library.ok());
  CHECK(library.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(library.text()), ContainsSubstring(text));
}

}  // namespace

TEST_CASE("every truncation of a library is read or refused") {
  for (const char* name : {"right", "iostream"}) {
    const ByteVector whole = read_bytes(built(name));
    REQUIRE(read_and_judge(whole, this_platform.machine));
    std::size_t refused = 0;
    for (std::size_t size = 0; size < whole.size(); size += rounds_divisor) {
      INFO(name << ", " << size << " bytes");
      // A buffer of just that size, so that a sanitizer sees a read behind it.
      const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      refused += read_and_judge(cut, this_platform.machine) ? 0 : 1;
    }
    CHECK(refused > 0);
  }
}

TEST_CASE("a library with flipped bits is read or refused") {
  const auto flips = number_from_environment("TENON_TEST_FLIPS", rounds(20000));
  const auto seed = number_from_environment("TENON_TEST_SEED", 20260101);
  INFO("TENON_TEST_SEED=" << seed << " TENON_TEST_FLIPS=" << flips);
  std::mt19937_64 random(seed);
  for (const char* name : {"right", "thread_local"}) {
    const ByteVector whole = read_bytes(built(name));
    ByteVector file = whole;
    // Headers, dynamic symbols and their names come first in the file.
    constexpr std::size_t tables = 4096;
    for (std::uint64_t round = 0; round < flips / 2; ++round) {
      INFO(name << ", round " << round);
      std::size_t at[3];
      for (std::size_t& place : at) {
        place = random() % (random() % 4 == 0 ? file.size() : std::min(tables, file.size()));
        file[place] ^= static_cast<std::byte>(1U << random() % 8);
      }
      read_and_judge(file, this_platform.machine);
      for (const std::size_t place : at) file[place] = whole[place];
    }
  }
}

TEST_CASE("a library with random numbers in its tables is read or refused") {
  const auto seed = number_from_environment("TENON_TEST_SEED", 20260101);
  INFO("TENON_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const ByteVector whole = elf::build(ByteVector(512));
  const std::uint64_t tags[] = {0,  1,  4,  5,          6,          10,         14,        15,
                                22, 27, 29, 0x6ffffef5, 0x6ffffffb, 0x6ffffffe, 0x6fffffff};
  const std::uint64_t values[] = {0,       1,    2,          24,         elf::base, 0x10100,
                                  0x10200, 0xff, 0x7fffffff, 0xffffffff, ~0xfffULL, ~0ULL};
  std::size_t readable = 0;
  for (int round = 0; round < rounds(20000); ++round) {
    ByteVector file = whole;
    for (int pokes = 0; pokes < 3; ++pokes) {
      const std::size_t entry = elf::entry(random() % 8);
      put_number(file, entry, tags[random() % std::size(tags)]);
      put_number(file, entry + 8, values[random() % std::size(values)]);
      const std::size_t anywhere = 64 + random() % (file.size() - 72);
      put_number(file, anywhere, values[random() % std::size(values)]);
    }
    INFO("round " << round);
    readable += read_and_judge(file, x86_64) ? 1 : 0;
  }
  CHECK(readable > rounds(100u));
}

TEST_CASE("symbols whose names are all of a large table are refused") {
  constexpr std::size_t num_symbols = 20000, text = std::size_t{1} << 20;
  for (const bool ends : {true, false}) {
    ByteVector file = large_file(elf::object + num_symbols * 24 + text);
    make_one_text(file, text, ends);
    set_entry(file, 0, 12, 0);
    set_entry(file, 2, 6, elf::base + elf::object);
    put_number(file, elf::sysv_hash + 4, static_cast<std::uint32_t>(num_symbols));
    for (std::size_t i = 0; i < num_symbols; ++i) {
      put_number(file, elf::object + i * 24 + 4, std::uint8_t{0x11});
      put_number(file, elf::object + i * 24 + 6, std::uint16_t{1});
    }
    INFO((ends ? "with an end" : "without an end"));
    check_refused(file, "its names are longer in sum than 16 times its string table");
  }
}

TEST_CASE("needed libraries whose names are all of a large table are refused") {
  constexpr std::size_t entries = 60000, text = std::size_t{1} << 20;
  ByteVector file = large_file(elf::object + (entries + 8) * 16 + text);
  make_one_text(file, text, true);
  std::copy_n(file.begin() + elf::dynamic, 7 * 16,
              file.begin() + static_cast<std::ptrdiff_t>(elf::object));
  for (std::size_t i = 7; i < entries; ++i)
    put_number(file, elf::object + i * 16, std::uint64_t{1});
  put_number(file, elf::dynamic_header + 16, elf::base + elf::object);
  put_number(file, elf::dynamic_header + 32, std::uint64_t{(entries + 8) * 16});
  check_refused(file, "its names are longer in sum than 16 times its string table");
  CHECK(tenon::detail::elf::read_dependencies(FileBytes(file), x86_64).error() ==
        Error::InvalidArgument);
}

TEST_CASE("note headers that each cover a whole large file are read to a limit") {
  constexpr std::size_t headers = 65000, size = std::size_t{16} << 20;
  ByteVector file = large_file(size);
  const std::size_t table = size - headers * 56;
  std::copy_n(file.begin() + elf::load, 2 * 56, file.begin() + static_cast<std::ptrdiff_t>(table));
  for (std::size_t i = 2; i < headers; ++i) {
    put_number(file, table + i * 56, 4u);
    put_number(file, table + i * 56 + 8, std::uint64_t{elf::object});
    put_number(file, table + i * 56 + 32, std::uint64_t{size - elf::object});
  }
  put_number(file, elf::program_headers_offset, std::uint64_t{table});
  put_number(file, elf::program_header_count, static_cast<std::uint16_t>(headers));
  CHECK(facts_of(file, x86_64).build_id.empty());
}

TEST_CASE("a build id in many notes is read once") {
  ByteVector file = elf::build(ByteVector(256));
  // Three equal notes where the plugin's object would be, and a third header at the end.
  for (std::size_t at = elf::object; at < elf::object + 3 * 24; at += 24) {
    put_number(file, at, 4u);
    put_number(file, at + 4, 8u);
    put_number(file, at + 8, 3u);
    put_number(file, at + 12, std::uint32_t{0x00554e47});  // "GNU"
    put_number(file, at + 16, std::uint64_t{0x8877665544332211});
  }
  const std::size_t table = file.size();
  file.resize(table + 3 * 56);
  std::copy_n(file.begin() + elf::load, 2 * 56, file.begin() + static_cast<std::ptrdiff_t>(table));
  put_number(file, table + 2 * 56, 4u);
  put_number(file, table + 2 * 56 + 8, std::uint64_t{elf::object});
  put_number(file, table + 2 * 56 + 32, std::uint64_t{3 * 24});
  put_number(file, elf::program_headers_offset, std::uint64_t{table});
  put_number(file, elf::program_header_count, std::uint16_t{3});
  CHECK(facts_of(file, x86_64).build_id == "1122334455667788");

  // A note that claims more bytes than there are is ignored.
  put_number(file, elf::object + 4, 0xffffffffu);
  CHECK(facts_of(file, x86_64).build_id.empty());
}

TEST_CASE("version tables whose links go round in circles end") {
  ByteVector file = elf::build(ByteVector(4096));
  set_entry(file, 5, 0x6fffffff, ~std::uint64_t{0});
  set_entry(file, 6, 0x6ffffffe, elf::base + elf::object);
  // One entry that says it has 65535 versions, of which the first has no follower.
  put_number(file, elf::object + 2, std::uint16_t{0xffff});
  put_number(file, elf::object + 8, 16u);
  put_number(file, elf::object + 12, 0u);
  put_number(file, elf::object + 16 + 12, 0u);
  CHECK(facts_of(file, x86_64).versions.size() == 1);
  // Followers that begin one byte later: many, but no more than the table has room for.
  put_number(file, elf::object + 12, 1u);
  put_number(file, elf::object + 16 + 12, 1u);
  CHECK(facts_of(file, x86_64).versions.size() <= 4096 / 16);
}

TEST_CASE("a GNU hash table as large as the file is read once") {
  constexpr std::size_t size = std::size_t{8} << 20;
  ByteVector file = large_file(size);
  const std::size_t table = elf::object;
  set_entry(file, 1, 12, 0);
  set_entry(file, 0, 0x6ffffef5, elf::base + table);
  put_number(file, table, 0xffffffffu);
  put_number(file, table + 4, 1u);
  CHECK(facts_of(file, x86_64).exported.size() <= 1);

  // One bucket, and a chain whose end is the file's.
  put_number(file, table, 1u);
  put_number(file, table + 8, 1u);
  put_number(file, table + 24, 1u);
  CHECK(facts_of(file, x86_64).exported.size() <= 1);
}

TEST_CASE("wrong section headers are ignored") {
  ByteVector file = read_bytes(built("debug"));
  for (const std::uint64_t offset : {~std::uint64_t{0}, std::uint64_t{1}, file.size() - 64}) {
    put_number(file, 40, offset);
    put_number(file, 60, std::uint16_t{0xffff});
    INFO(offset);
    CHECK(read_and_judge(file, this_platform.machine));
  }
  put_number(file, 58, std::uint16_t{0});
  CHECK_FALSE(facts_of(file).symbol_table);
}

}  // namespace hostile_test
