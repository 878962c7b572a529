// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <algorithm>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/platform/impl/pages.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::host::MappedFile;

namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/dev/fd")) ++count;
  return count;
}

TEST_CASE("a mapped file shows the bytes of the file") {
  const TemporaryDirectory directory;
  const auto path = directory.write("file", std::string(10'000, 'x') + "end");
  const auto before = open_descriptors();
  const auto file = MappedFile::open(path);
  INFO(file.text());
  REQUIRE(file.ok());
  CHECK(open_descriptors() == before);
  REQUIRE(file->bytes().size() == 10'003);
  CHECK(std::to_integer<char>(file->bytes().front()) == 'x');
  CHECK(std::to_integer<char>(file->bytes().back()) == 'd');
}

TEST_CASE("what cannot be mapped is refused with its path and the reason") {
  const TemporaryDirectory directory;
  const auto check = [](const std::filesystem::path& path, const std::string& reason) {
    const auto file = MappedFile::open(path);
    REQUIRE_FALSE(file.ok());
    CHECK(file.error() == Error::AccessFailed);
    CHECK(file.text() == path.string() + ": " + reason);
  };
  check(directory.path() / "missing", "No such file or directory");
  check(directory.path(), "is a directory, expected a regular file");
  check(directory.write("empty", ""), "file is empty");
  check("/dev/null", "is not a regular file");
  const auto fifo = directory.path() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  check(fifo, "is a FIFO, expected a regular file");
  // The system would open what is before the NUL.
  const auto file = directory.write("file", "bytes").string();
  const auto cut = MappedFile::open(file + '\0' + "x");
  CHECK(cut.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(cut.text()), ContainsSubstring("a NUL character follows"));
}

TEST_CASE("dropped bytes can be read again") {
  const TemporaryDirectory directory;
  const auto path = directory.write("file", std::string(100'000, 'x'));
  const auto file = MappedFile::open(path);
  REQUIRE(file.ok());
  const auto bytes = file->bytes();
  REQUIRE(std::to_integer<char>(bytes[50'000]) == 'x');
  file->drop(bytes);
  CHECK(std::to_integer<char>(bytes[50'000]) == 'x');
  file->drop(bytes.subspan(10, 90'000));
  file->drop(bytes.subspan(10, 20));
  file->drop(bytes.last(0));
  CHECK(std::to_integer<char>(bytes[10]) == 'x');
}

TEST_CASE("dropping bytes of another place changes nothing") {
  const TemporaryDirectory directory;
  const auto path = directory.write("file", std::string(8192, 'x'));
  const auto file = MappedFile::open(path);
  REQUIRE(file.ok());
  // Private memory that were dropped would read as zero.
  const std::size_t size = 1 << 16;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const bytes = static_cast<std::byte*>(memory);
  std::fill(bytes, bytes + size, std::byte{7});
  file->drop({bytes, size});
  file->drop({file->bytes().data(), file->bytes().size() + 1});
  MappedFile().drop({bytes, size});
  CHECK(std::all_of(bytes, bytes + size, [](std::byte byte) { return byte == std::byte{7}; }));
  CHECK(::munmap(memory, size) == 0);
}

TEST_CASE("a mapped file can be moved") {
  const TemporaryDirectory directory;
  auto first = MappedFile::open(directory.write("a", "first"));
  auto second = MappedFile::open(directory.write("b", "second"));
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  MappedFile moved = std::move(*first);
  CHECK(moved.bytes().size() == 5);
  CHECK(first->bytes().empty());
  moved = std::move(*second);
  CHECK(moved.bytes().size() == 6);
}

TEST_CASE("the system's list of memory is closed where its reader throws") {
  const auto before = open_descriptors();
  const auto run_out = [](std::uintptr_t, std::uintptr_t) { throw std::bad_alloc(); };
  CHECK_THROWS_AS(host::platform::for_each_range(host::platform::PageAccess::read, run_out),
                  std::bad_alloc);
  CHECK(open_descriptors() == before);
}

}  // namespace
