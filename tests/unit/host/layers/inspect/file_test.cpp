// SPDX-License-Identifier: MIT
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <iterator>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "object_builder.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/loader/plugin/peek.hpp"

using namespace tenon;
using namespace tenon::host;
using tenon::test::ByteVector;
namespace fs = std::filesystem;

namespace {

fs::path plugin_path(std::string_view variant) {
  return fs::path(TENON_PEEK_PLUGINS) / concat("peek_", variant, ".so");
}

ByteVector read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return ByteVector(first, first + text.size());
}

void check_plugin(const Result<PluginRecord>& record) {
  INFO(record.text());
  REQUIRE(record.ok());
  CHECK(record->name == "arithmetic");
  CHECK(record->version == "1.2.3");
  CHECK(record->vendor == "Tenon tests");
  CHECK(record->sdk_version == TENON_VERSION_STRING);
  CHECK(record->abi_major == TENON_ABI_MAJOR);
  REQUIRE(record->backends.size() == 2);
  CHECK(record->backends[0] == BackendRecord{.id = "AddBackend",
                                             .tags = {"experimental", "cpu"},
                                             .cpu_features = {"avx2", "fma"},
                                             .description = "Adds two tensors.",
                                             .priority = -3,
                                             .min_payload_version = 1,
                                             .max_payload_version = 4});
  CHECK(record->backends[1] == BackendRecord{.id = "MulBackend"});
  CHECK(check_abi(*record).ok());
}

}  // namespace

TEST_CASE("the record of a plugin is read from its file") {
  check_plugin(peek(plugin_path("plain")));
}

TEST_CASE("a plugin that would abort when it is loaded is read, because it is not loaded") {
  check_plugin(peek(plugin_path("aborting")));
}

#if !defined(__APPLE__)
TEST_CASE("the record is found however the plugin was linked") {
  for (const auto* variant : {"stripped", "sysv_hash", "gnu_hash"}) {
    INFO(variant);
    check_plugin(peek(plugin_path(variant)));
  }
}

TEST_CASE("the record is found without section headers") {
  ByteVector file = read_file(plugin_path("stripped"));
  constexpr std::size_t section_headers = 40, section_header_count = 60, section_names = 62;
  tenon::test::put_number(file, section_headers, std::uint64_t{0});
  tenon::test::put_number(file, section_header_count, std::uint16_t{0});
  tenon::test::put_number(file, section_names, std::uint16_t{0});
  check_plugin(peek(file, "sectionless.so"));
}

TEST_CASE("an executable is refused") {
  const auto record = peek(fs::path("/proc/self/exe"));
  CHECK(record.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(record.text()), ContainsSubstring("executable, expected"));
}
#endif

TEST_CASE("a path that names no plugin is refused with what it names") {
  const test::TemporaryDirectory scratch;
  const auto text_of = [](const fs::path& path, Error expected) {
    const auto record = peek(path);
    INFO(record.text());
    CHECK(record.error() == expected);
    CHECK(record.text().starts_with(path.native()));
    return std::string(record.text());
  };

  SECTION("a missing file") {
    CHECK_THAT(text_of(scratch / "missing.so", Error::NotFound),
               ContainsSubstring("missing.so: there is no such file"));
    text_of(plugin_path("plain") / "inside.so", Error::NotFound);
    text_of("", Error::NotFound);
  }
  SECTION("a link that leads nowhere") {
    fs::create_symlink("nowhere", scratch / "link.so");
    text_of(scratch / "link.so", Error::NotFound);
  }
  SECTION("links that go round in circles") {
    fs::create_symlink("circle.so", scratch / "circle.so");
    text_of(scratch / "circle.so", Error::AccessFailed);
  }
  SECTION("a file that may not be read") {
    const auto path = scratch.write("secret.so", "x");
    fs::permissions(path, fs::perms::none);
    // The administrator may read it all the same.
    text_of(path, ::geteuid() == 0 ? Error::InvalidArgument : Error::AccessFailed);
  }
  SECTION("a directory") {
    fs::create_directory(scratch / "folder.so");
    CHECK_THAT(text_of(scratch / "folder.so", Error::InvalidArgument),
               ContainsSubstring("is a directory, expected "));
  }
  SECTION("a FIFO, without waiting for its writer") {
    REQUIRE(::mkfifo((scratch / "fifo.so").c_str(), 0600) == 0);
    CHECK_THAT(text_of(scratch / "fifo.so", Error::InvalidArgument),
               ContainsSubstring("is a FIFO"));
  }
  SECTION("a socket") {
    const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(server >= 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (scratch / "s.so").string();
    REQUIRE(path.size() < sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    const int bound = ::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::close(server);
    REQUIRE(bound == 0);
    CHECK_THAT(text_of(path, Error::InvalidArgument), ContainsSubstring("is a socket"));
  }
  SECTION("a device") {
    CHECK_THAT(text_of("/dev/null", Error::InvalidArgument),
               ContainsSubstring("is a character device"));
  }
  SECTION("an empty file") {
    CHECK_THAT(text_of(scratch.write("empty.so", ""), Error::InvalidArgument),
               ContainsSubstring("is empty, expected"));
  }
  SECTION("a path with a NUL character") {
    const auto record = peek(fs::path(std::string("/tmp/a.so\0.so", 13)));
    CHECK(record.error() == Error::InvalidArgument);
    CHECK(record.text() == "/tmp/a.so: is not a path: a NUL character follows");
  }
}

TEST_CASE("a file of another kind is refused with what it is") {
  using namespace std::string_view_literals;
  struct Row {
    std::string_view content;
    const char* text;
  };
  const Row rows[] = {
      {""sv, "is empty, expected"},
      {"MZ\x90\0\3\0\0\0"sv, "is a truncated PE file of 8 bytes"},
      {"\xce\xfa\xed\xfe\7\0\0\0"sv, "is a 32-bit Mach-O file"},
      {"\xfe\xed\xfa\xcf\0\0\0\0"sv, "is a big-endian Mach-O file"},
      {"\xca\xfe\xba\xbe\0\0\0\x34"sv, "is a Java class file"},
      {"!<arch>\n/ "sv, "is a static library (.a)"},
      {"BC\xc0\xde\x35\x14"sv, "is LLVM bitcode"},
      {"\0asm\1\0\0\0"sv, "is a WebAssembly module"},
      {"PK\3\4\x14\0"sv, "is a zip archive"},
      {"\x1f\x8b\x08\0"sv, "is a gzip archive"},
      {"\x40\0\0\0ET12\0"sv, "is an ExecuTorch program (.pte)"},
      {"\x40\0\0\0FT01\0"sv, "is an ExecuTorch data file (.ptd)"},
      {"\x89TENON1\n\0\0"sv, "is a bare plugin object"},
      {"#!/bin/sh\n"sv, "is a script"},
      {"version https://git-lfs.github.com/spec/v1\n"sv, "is a Git LFS pointer"},
      {"/* GNU ld script */\nINPUT(libreal.so)\n"sv, "is a text file"},
      {"{\"name\": \"add\"}"sv, "is a text file"},
      {"\1\2\3\4\5\6\7\x08\x09"sv,
       "is a file of no known kind that begins with 01 02 03 04 05 06 07 08"},
      {"\x7f"
       "ELF"sv,
       "ELF"},
  };
  const test::TemporaryDirectory scratch;
  for (const Row& row : rows) {
    INFO("expected: " << row.text);
    const auto record = peek(scratch.write("candidate.so", row.content));
    REQUIRE(record.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(record.text()), ContainsSubstring(row.text));
    CHECK_THAT(std::string(record.text()), ContainsSubstring("candidate.so: "));
    CHECK_THAT(std::string(record.text()), ContainsSubstring("expected "));
  }
}

TEST_CASE("a plugin file that was cut short is refused or still says the same") {
  const ByteVector whole = read_file(plugin_path("plain"));
  const auto expected = peek(whole, "whole.so");
  REQUIRE(expected.ok());
  const std::string_view text(reinterpret_cast<const char*>(whole.data()), whole.size());
  const auto object = text.find("\x89TENON1\n");
  REQUIRE(object != std::string_view::npos);
  std::size_t refused = 0;
  for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 1 : 97) {
    const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto record = peek(cut, "cut.so");
    INFO(size);
    if (record.ok()) {
      REQUIRE(size > object);
      REQUIRE(*record == *expected);
    } else {
      REQUIRE(record.error() == Error::InvalidArgument);
      REQUIRE(record.text().starts_with("cut.so: "));
      ++refused;
    }
  }
  // Where the record is in the file depends on the linker.
  CHECK(refused > 1024);
}

TEST_CASE("a plugin file with flipped bits is read or refused") {
  const ByteVector whole = read_file(plugin_path("plain"));
  const std::string_view text(reinterpret_cast<const char*>(whole.data()), whole.size());
  const auto object = text.find("\x89TENON1\n");
  REQUIRE(object != std::string_view::npos);
  std::mt19937 random(20264);
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    ByteVector file = whole;
    for (int flips = 0; flips < 4; ++flips) {
      // Most of the file is padding; the tables are at its start, the record at `object`.
      const std::size_t ranges[][2] = {{0, whole.size()}, {0, 1024}, {object, 1576}};
      const auto& [start, size] = ranges[random() % 3];
      file[start + random() % size] ^= static_cast<std::byte>(1u << random() % 8);
    }
    const auto record = peek(file, "flipped.so");
    if (record.ok()) continue;
    ++refused;
    REQUIRE((record.error() == Error::InvalidArgument || record.error() == Error::NotSupported));
    REQUIRE(record.text().starts_with("flipped.so: "));
  }
  CHECK(refused > 5000);
}
