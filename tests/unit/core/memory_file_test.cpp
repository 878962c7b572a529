// SPDX-License-Identifier: MIT
#include "tenon/core/memory_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace memory_file_test {

using namespace tenon;

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string content_of(int descriptor) {
  std::ifstream file(path_of_descriptor(descriptor), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("a sealed file has its parts, and nothing writes to it or changes its size", "[core]") {
  const Bytes parts[] = {bytes_of("one "), {}, bytes_of("and two")};
  for (const auto use : {MemoryFileUse::data, MemoryFileUse::code}) {
    const host::FileDescriptor file(make_sealed_file("test", parts, use));
    REQUIRE(file.valid());
    CHECK(content_of(file.get()) == "one and two");
    CHECK_FALSE(write_all(file.get(), bytes_of("x")));
    CHECK(errno == EPERM);
    CHECK(::ftruncate(file.get(), 0) != 0);
    CHECK_FALSE(add_seals(file.get(), F_SEAL_GROW));
    // A program that is started does not get it.
    CHECK((::fcntl(file.get(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("a file whose size is sealed is zeros that can be written", "[core]") {
  const host::FileDescriptor file(make_memory_file("test", 5, size_seals));
  REQUIRE(file.valid());
  CHECK(content_of(file.get()) == std::string(5, '\0'));
  CHECK(write_all(file.get(), bytes_of("bc"), 1));
  CHECK(content_of(file.get()) == std::string_view("\0bc\0\0", 5));
  CHECK_FALSE(write_all(file.get(), bytes_of("123"), 3));
  for (const ::off_t size : {::off_t{4}, ::off_t{6}}) {
    CHECK(::ftruncate(file.get(), size) != 0);
    CHECK(errno == EPERM);
  }
  // Not while it is mapped for writing.
  void* const page = ::mmap(nullptr, 5, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  REQUIRE(page != MAP_FAILED);
  CHECK_FALSE(add_seals(file.get(), content_seals));
  CHECK(errno == EBUSY);
  ::munmap(page, 5);
  CHECK(add_seals(file.get(), content_seals));
}

TEST_CASE("a file that the system refuses gives no file, and the reason", "[core]") {
  CHECK(make_memory_file("test", std::uint64_t{1} << 63) == -1);
  CHECK(errno == EINVAL);
  const std::string name(300, 'n');
  CHECK(make_memory_file(name.c_str()) == -1);
  CHECK(errno == EINVAL);
  CHECK(make_sealed_file(name.c_str(), {}) == -1);
  CHECK(errno == EINVAL);
  CHECK(make_memory_file("test", 0, -1) == -1);
  CHECK(errno == EINVAL);
  CHECK_FALSE(write_all(-1, bytes_of("x")));
  CHECK(errno == EBADF);
  CHECK(write_all(-1, {}));
}

TEST_CASE("each path of a descriptor opens the same file and is another text", "[core]") {
  const host::FileDescriptor file(make_memory_file("test", 1));
  REQUIRE(file.valid());
  struct stat first{}, second{};
  const std::string path = path_of_descriptor(file.get()), other = path_of_descriptor(file.get());
  CHECK(path != other);
  REQUIRE((::stat(path.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0));
  CHECK(first.st_ino == second.st_ino);
}

}  // namespace memory_file_test
