// SPDX-License-Identifier: MIT
#include "kit/process/backtrace.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/program/temporary_directory.hpp"
#include "kit/process/resources.hpp"
#include "lines_of_maps.hpp"
#include "support/catch.hpp"
#include "tenon/host/layers/inspect/elf_functions.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace backtrace_test {
namespace {

/// A function of the C library itself, also where a sanitizer has one of that name.
std::uintptr_t address_in_c_library(const char* name) {
  void* library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  REQUIRE(library);
  const auto address = reinterpret_cast<std::uintptr_t>(::dlsym(library, name));
  ::dlclose(library);
  REQUIRE(address != 0);
  return address;
}

std::string hexadecimal(std::uintptr_t number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "0x%zx", static_cast<std::size_t>(number));
  return text.data();
}

std::filesystem::path file_around(std::uintptr_t address) {
  for (const Mapping& one : mappings()) {
    if (one.begin <= address && address < one.end) return one.name;
  }
  return {};
}

}  // namespace

#if defined(__linux__) && defined(__GLIBC__)
TEST_CASE("a frame is named by its function and the path that the plugin was given by") {
  const std::uintptr_t start = address_in_c_library("qsort");
  const std::filesystem::path library = file_around(start);
  const std::vector<std::string> frames = {hexadecimal(start), hexadecimal(start + 1),
                                           hexadecimal(start)};
  const auto names = name_frames(frames, lines_of_maps(), "/no/such/plugin.so");
  REQUIRE(names.size() == 3);
  CHECK_THAT(names[0], ContainsSubstring("qsort+0x0 in " + library.native() + "+0x"));
  CHECK_THAT(names[1], ContainsSubstring("qsort+0x1 in " + library.native() + "+0x"));
  // The return address of the last call of the function before.
  CHECK_THAT(names[2], !ContainsSubstring("qsort"));

  const auto directory = TemporaryDirectory::make();
  REQUIRE(directory.ok());
  const std::filesystem::path link = directory->path() / "plugin.so";
  std::filesystem::create_symlink(library, link);
  const auto given = name_frames(frames, lines_of_maps(), link);
  CHECK_THAT(given[1], ContainsSubstring("qsort+0x1 in " + link.native() + "+0x"));
}

TEST_CASE("damage to a library leaves its functions without names") {
  const auto file = host::MappedFile::open(file_around(address_in_c_library("qsort")));
  REQUIRE(file.ok());
  const std::vector<std::uint64_t> offsets = {0, 0x30000, 0x40000, UINT64_MAX};
  const auto whole = host::functions_at(file->bytes(), offsets);
  REQUIRE(whole.ok());
  REQUIRE(whole->size() == 4);
  CHECK_FALSE(whole->at(0));
  CHECK_FALSE(whole->at(3));
  std::vector<std::byte> damaged(file->bytes().begin(), file->bytes().end());
  // Section headers that are not in the file, and then a table of them that is the whole file.
  for (std::size_t at = 40; at < 48; ++at) damaged[at] = std::byte{0xff};
  const auto without = host::functions_at(damaged, offsets);
  REQUIRE(without.ok());
  for (const auto& place : *without) CHECK_FALSE(place);
  for (std::size_t at = 40; at < 48; ++at) damaged[at] = std::byte{0};
  CHECK(host::functions_at(damaged, offsets).ok());
  CHECK_FALSE(host::functions_at(file->bytes().first(100), offsets).ok());
  CHECK_FALSE(host::functions_at({}, offsets).ok());
}
#endif

TEST_CASE("frames and mappings that make no sense are left as they are") {
  const std::vector<std::string> frames = {"",     "0x",     "0xnothing",
                                           "text", "0x1234", "0x7fffffffffff"};
  const std::vector<std::string> maps = {"",
                                         "-",
                                         "1000-",
                                         "1000-2000",
                                         "1000-2000 r-xp",
                                         "zz-2000 r-xp 00000000 00:00 0 /bin/sh",
                                         "1000-2000 r-xp 00000000 00:00 0",
                                         "1000-2000 r-xp 00000000 00:00 0 [vdso]",
                                         std::string(10000, 'f')};
  CHECK(name_frames(frames, maps, "/no/such/plugin.so") == frames);
  // A file that does not exist, and a file that is no library.
  const auto named = name_frames(
      std::vector<std::string>{"0x1004", "0x3004"},
      std::vector<std::string>{"1000-2000 r-xp 00000000 00:00 0 /no/such/file",
                               "3000-4000 r-xp 00002000 00:00 0                  /dev/null"},
      "/no/such/plugin.so");
  CHECK(named == std::vector<std::string>{"/no/such/file+0x4", "/dev/null+0x2004"});
}

TEST_CASE("a line of mappings is read with its offset") {
  const auto one = mapping_of(
      "7f0000001000-7f0000002000 r-xp 00003000 fe:01 1234567    /opt/a plugin.so (deleted)");
  REQUIRE(one);
  CHECK(one->begin == 0x7f0000001000);
  CHECK(one->end == 0x7f0000002000);
  CHECK(one->executable);
  CHECK(one->offset == 0x3000);
  CHECK(one->name == "/opt/a plugin.so (deleted)");
}

}  // namespace backtrace_test
