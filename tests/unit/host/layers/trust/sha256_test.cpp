// SPDX-License-Identifier: MIT
//
// Hashes of files: the sizes at which blocks and buffers end, and what cannot be read.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Text in which no two parts are alike.
std::string text_of_size(std::size_t size) {
  std::string out;
  for (unsigned number = 0; out.size() < size; ++number) out += std::to_string(number);
  out.resize(size);
  return out;
}

std::string refusal(int descriptor) {
  const auto hash = sha256_of_file(descriptor);
  REQUIRE(hash.error() == Error::AccessFailed);
  return std::string(hash.text());
}

}  // namespace

TEST_CASE("a file has the hash of its bytes at every size around a block and a buffer",
          "[discovery]") {
  constexpr std::size_t buffer = 256 * 1024;
  const TemporaryDirectory directory;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{55}, std::size_t{56}, std::size_t{63},
        std::size_t{64}, std::size_t{65}, buffer - 1, buffer, buffer + 1, 2 * buffer}) {
    INFO(size << " bytes");
    const std::string text = text_of_size(size);
    const std::string path = directory.write("file", text);
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto hash = sha256_of_file(file.get());
    REQUIRE(hash.ok());
    CHECK(*hash == sha256_of(bytes_of(text)));
    CHECK_FALSE(*hash == sha256_of(bytes_of(text + "x")));
  }
}

TEST_CASE("one changed byte anywhere in a file is another hash", "[discovery]") {
  const std::string text = text_of_size(200);
  const Sha256 hash = sha256_of(bytes_of(text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(sha256_of(bytes_of(changed)) == hash);
  }
}

TEST_CASE("a file that is open twice is hashed from its beginning by both", "[discovery]") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", "abc");
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const FileDescriptor same(::dup(file.get()));
  REQUIRE(::lseek(file.get(), 0, SEEK_END) == 3);
  CHECK(*sha256_of_file(file.get()) == sha256_of(bytes_of("abc")));
  CHECK(*sha256_of_file(same.get()) == sha256_of(bytes_of("abc")));
  // What was written since counts: nothing is remembered.
  REQUIRE(::write(file.get(), "d", 1) == 1);
  CHECK(*sha256_of_file(same.get()) == sha256_of(bytes_of("abcd")));
}

TEST_CASE("what cannot be read at a position is not hashed, and the reason is said",
          "[discovery]") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("file", "abc");
  const FileDescriptor written(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  CHECK(refusal(written.get()) == "cannot read the file to hash it: Bad file descriptor");

  const int closed = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(closed >= 0);
  ::close(closed);
  CHECK(refusal(closed) == "cannot read the file to hash it: Bad file descriptor");

  const FileDescriptor opened(::open(directory.path().c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(refusal(opened.get()) == "cannot read the file to hash it: Is a directory");

  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  CHECK(refusal(reader.get()) == "cannot read the file to hash it: Illegal seek");
}

TEST_CASE("text that is no hash is refused with what was found", "[discovery]") {
  const std::string good(64, '0');
  const auto text_of = [](std::string_view text) { return std::string(parse_sha256(text).text()); };
  CHECK(text_of("") == "a SHA-256 has 64 hexadecimal digits, found 0 characters: ''");
  CHECK_THAT(text_of(good + "\n"), ContainsSubstring("found 65 characters: '0000"));
  CHECK_THAT(text_of(std::string(100'000, 'a')), ContainsSubstring("found 100000 characters: 'a"));
  CHECK(text_of(std::string(100'000, 'a')).size() < 200);
  // The neighbours of the digits in ASCII, the last position, and bytes above it.
  for (const char wrong : {'/', ':', '@', 'G', '`', 'g', ' ', '-', '\0', '\n', '\x80', '\xff'}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{31}, std::size_t{63}}) {
      std::string text = good;
      text[place] = wrong;
      INFO(static_cast<int>(wrong) << " at " << place);
      CHECK(parse_sha256(text).error() == Error::InvalidArgument);
      CHECK_THAT(text_of(text), ContainsSubstring(concat(" at position ", place)));
      CHECK(text_of(text).find_first_of(std::string("\0\n\x80\xff", 4)) == std::string::npos);
    }
  }
  std::string algorithm = "sha256:" + good;
  CHECK(parse_sha256(algorithm).error() == Error::InvalidArgument);
}

TEST_CASE("each digit of a hash has its place", "[discovery]") {
  for (std::size_t i = 0; i < 64; ++i) {
    std::string text(64, '0');
    text[i] = "123456789abcdefABCDEF"[i % 21];
    const auto hash = parse_sha256(text);
    REQUIRE(hash.ok());
    std::string lower = text;
    if (lower[i] >= 'A' && lower[i] <= 'F') lower[i] = static_cast<char>(lower[i] - 'A' + 'a');
    CHECK(hash->to_hex() == lower);
  }
}
