// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>

#include "inspect_support.hpp"
#include "support/elf_builder.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;
namespace elf = tenon::test::elf;

namespace {

constexpr std::uint32_t x86_64 = 62;

ByteVector small_file() { return elf::build(ByteVector(64), "tenon_plugin_v1"); }

ElfLibrary small_facts(const ByteVector& file) { return facts_of(file, x86_64); }

void set_entry(ByteVector& file, std::size_t index, std::uint64_t tag, std::uint64_t value) {
  put_number(file, elf::entry(index), tag);
  put_number(file, elf::entry(index) + 8, value);
}

/// The small file with one more program header, in the place of the dynamic section's: that moves
/// to the end with the header table.
ByteVector with_segment(std::uint32_t type, std::uint32_t flags) {
  ByteVector file = small_file();
  const std::size_t headers = file.size();
  file.resize(headers + 3 * 56);
  std::copy_n(file.begin() + elf::load, 2 * 56,
              file.begin() + static_cast<std::ptrdiff_t>(headers));
  put_number(file, elf::program_headers_offset, std::uint64_t{headers});
  put_number(file, elf::program_header_count, std::uint16_t{3});
  put_number(file, headers + 2 * 56, type);
  put_number(file, headers + 2 * 56 + 4, flags);
  return file;
}

}  // namespace

TEST_CASE("the facts of the smallest library come from its bytes") {
  const ElfLibrary library = small_facts(small_file());
  CHECK(library.machine == 62);
  CHECK(library.file_size == small_file().size());
  CHECK(library.build_id.empty());
  CHECK(library.dependencies.needed.empty());
  CHECK(library.dependencies.soname.empty());
  CHECK_FALSE(library.dependencies.rpath);
  CHECK_FALSE(library.dependencies.run_path);
  CHECK(library.versions.empty());
  REQUIRE(library.exported.size() == 1);
  CHECK(library.exported[0].name == "tenon_plugin_v1");
  CHECK(library.exported[0].binding == LibrarySymbol::Binding::global);
  CHECK(library.exported[0].kind == LibrarySymbol::Kind::object);
  CHECK(library.undefined.empty());
  CHECK(library.num_constructors == 0);
  CHECK(library.num_destructors == 0);
  CHECK(library.bind_now == true);  // DF_1_NOW of the builder.
  CHECK_FALSE(library.has_stack_note);
  CHECK_FALSE(library.relro);
  CHECK_FALSE(library.symbol_table);
}

TEST_CASE("each segment is seen for what it is") {
  CHECK(small_facts(with_segment(3, 4)).interpreter);
  CHECK(small_facts(with_segment(7, 4)).thread_local_data);
  CHECK(small_facts(with_segment(0x6474e552, 4)).relro);
  const ElfLibrary quiet = small_facts(with_segment(0x6474e551, 6));
  CHECK(quiet.has_stack_note);
  CHECK_FALSE(quiet.executable_stack);
  CHECK(small_facts(with_segment(0x6474e551, 7)).executable_stack);
  CHECK(small_facts(with_segment(1, 7)).writable_code);
  for (const std::uint32_t flags : {4u, 5u, 6u}) {
    CHECK_FALSE(small_facts(with_segment(1, flags)).writable_code);
  }
  // A segment that is not loaded may hold anything.
  CHECK_FALSE(small_facts(with_segment(4, 7)).writable_code);
}

TEST_CASE("each flag of the dynamic section is seen for what it is") {
  struct Row {
    std::uint64_t tag, value;
    bool ElfLibrary::* fact;
  };
  const Row rows[] = {
      {22, 0, &ElfLibrary::text_relocations},  {30, 4, &ElfLibrary::text_relocations},
      {24, 0, &ElfLibrary::bind_now},          {30, 8, &ElfLibrary::bind_now},
      {0x6ffffffb, 1, &ElfLibrary::bind_now},  {30, 16, &ElfLibrary::static_tls},
      {0x6ffffffb, 8, &ElfLibrary::no_delete},
  };
  for (const Row& row : rows) {
    ByteVector file = small_file();
    INFO("tag " << row.tag << ", value " << row.value);
    set_entry(file, 6, 12, 0);  // Instead of the builder's DF_1_NOW, an unused one.
    CHECK_FALSE(small_facts(file).*row.fact);
    set_entry(file, 6, row.tag, row.value);
    CHECK(small_facts(file).*row.fact);
    // What is behind the end does not count.
    set_entry(file, 6, 0, 0);
    set_entry(file, 7, row.tag, row.value);
    CHECK_FALSE(small_facts(file).*row.fact);
  }
}

TEST_CASE("constructors and destructors are counted by the sizes of their lists") {
  ByteVector file = small_file();
  set_entry(file, 6, 27, 24);
  CHECK(small_facts(file).num_constructors == 3);
  set_entry(file, 6, 28, 16);
  CHECK(small_facts(file).num_destructors == 2);
}

TEST_CASE("symbols are exported, undefined or neither") {
  const auto with = [](std::size_t at, std::uint8_t value) {
    ByteVector file = small_file();
    put_number(file, elf::symbol + at, value);
    return small_facts(file);
  };
  for (const std::uint8_t hidden : {std::uint8_t{1}, std::uint8_t{2}}) {
    const ElfLibrary library = with(5, hidden);
    CHECK(library.exported.empty());
    CHECK(library.undefined.empty());
  }
  CHECK(with(5, 3).exported.size() == 1);  // STV_PROTECTED.
  CHECK(with(4, 0x01).exported.empty());   // STB_LOCAL.
  CHECK(with(4, 0x22).exported.at(0).binding == LibrarySymbol::Binding::weak);
  CHECK(with(4, 0x22).exported.at(0).kind == LibrarySymbol::Kind::function);
  CHECK(with(4, 0xa1).exported.at(0).binding == LibrarySymbol::Binding::gnu_unique);
  CHECK(with(4, 0x16).exported.at(0).kind == LibrarySymbol::Kind::tls);
  const ElfLibrary undefined = with(6, 0);
  CHECK(undefined.exported.empty());
  CHECK(undefined.needs_symbol("tenon_plugin_v1"));
  CHECK_FALSE(undefined.needs_symbol("tenon_plugin_v"));
}

TEST_CASE("neither hash table hides the symbols that the other one has") {
  ByteVector file = small_file();
  put_number(file, elf::sysv_hash + 4, 1u);
  CHECK(small_facts(file).exported.size() == 1);
  file = small_file();
  // As linkers write it where nothing is exported.
  put_number(file, elf::gnu_hash + 24, 0u);
  put_number(file, elf::symbol + 6, std::uint16_t{0});
  CHECK(small_facts(file).needs_symbol("tenon_plugin_v1"));
}

TEST_CASE("symbols are found by either hash table") {
  for (const std::size_t other : {std::size_t{0}, std::size_t{1}}) {
    ByteVector file = small_file();
    set_entry(file, other, 12, 0);
    CHECK(small_facts(file).exported.size() == 1);
  }
  for (const char* name : {"gnu_hash", "sysv_hash"}) {
    const ElfLibrary library = facts_of(built(name));
    CHECK(holds(names_of(library.exported), "tenon_plugin_v1"));
    CHECK(library.needs_symbol("__cxa_finalize"));
  }
}

TEST_CASE("a file that is no library for the machine is refused as peek refuses it") {
  const auto other = read_elf_library(small_file(), 183);
  CHECK(other.error() == Error::InvalidArgument);
  CHECK_THAT(
      std::string(other.text()),
      ContainsSubstring("is an ELF shared library for x86_64, expected an ELF shared library "
                        "for aarch64"));
  CHECK(read_elf_library({}, x86_64).error() == Error::InvalidArgument);
}

TEST_CASE("a real library says what it needs and where it looks") {
  const auto of = [](const char* name) { return facts_of(built(name)).dependencies; };
  CHECK(holds(of("needs_maths").needed, "libm.so.6"));
  CHECK(holds(of("thread_local").needed, "libstdc++.so.6"));
  CHECK(of("soname").soname == "libzoo.so.3");
  CHECK(of("run_path").run_path == "/build/folder");
  CHECK_FALSE(of("run_path").rpath);
  CHECK(of("old_rpath").rpath == "$ORIGIN");
  CHECK_FALSE(of("old_rpath").run_path);
  CHECK(of("origin").run_path == "$ORIGIN/../lib:${ORIGIN}");
}

TEST_CASE("a real library says which versions of symbols it needs") {
  // Which ones depends on the C library; that each belongs to a needed library does not.
  const ElfLibrary library = facts_of(built("thread_local"));
  REQUIRE_FALSE(library.versions.empty());
  bool of_cpp = false;
  for (const std::string& version : library.versions) {
    INFO(version);
    const std::size_t blank = version.find(' ');
    REQUIRE(blank != std::string::npos);
    CHECK(holds(library.dependencies.needed, version.substr(0, blank)));
    of_cpp |= version.find(" CXXABI_") != std::string::npos;
  }
  CHECK(of_cpp);
}

TEST_CASE("a real library says how it was built") {
  CHECK(facts_of(built("build_id")).build_id == "0123456789abcdef");
  CHECK(facts_of(built("without_build_id")).build_id.empty());
  CHECK(facts_of(built("right")).symbol_table);
  CHECK_FALSE(facts_of(built("stripped")).symbol_table);
  CHECK_FALSE(facts_of(built("right")).debug_information);
  CHECK(facts_of(built("debug")).debug_information);
  CHECK(facts_of(built("bind_now")).bind_now);
  CHECK_FALSE(facts_of(built("bind_lazily")).bind_now);
  CHECK(facts_of(built("static_tls")).thread_local_data);
}

TEST_CASE("a library without section headers is read, and counts as stripped") {
  ByteVector file = read_bytes(built("debug"));
  const ElfLibrary whole = facts_of(file);
  put_number(file, 40, std::uint64_t{0});
  put_number(file, 60, std::uint16_t{0});
  const ElfLibrary library = facts_of(file);
  CHECK_FALSE(library.symbol_table);
  CHECK_FALSE(library.debug_information);
  CHECK(names_of(library.exported) == names_of(whole.exported));
  CHECK(names_of(library.undefined) == names_of(whole.undefined));
  CHECK(library.build_id == whole.build_id);
}
