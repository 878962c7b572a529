// SPDX-License-Identifier: MIT
#include <filesystem>

#include "rich_program.hpp"
#include "support/temporary_directory.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

using Header = ProgramBuilder::Header;

Result<std::shared_ptr<const host::Program>> open(const AlignedBytes& file) {
  return host::Program::from_bytes(file.bytes(), nullptr, "x.pte");
}

/// Builds the rich program, writes `number` at `offset`, and expects InvalidProgram with `text`.
template <class Number>
void check_header(std::size_t offset, Number number, const std::string& text) {
  auto file = rich_program().build();
  patch(file, offset, number);
  const auto program = open(file);
  INFO(text);
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(program.text()), ContainsSubstring(text));
}

std::uint64_t number_at(const AlignedBytes& file, std::size_t offset) {
  return flatbuffers::ReadScalar<std::uint64_t>(&file.bytes()[offset]);
}

TEST_CASE("a file with another identifier is refused with its kind") {
  const auto write = [](const char* identifier) {
    std::uint32_t number = 0;
    std::memcpy(&number, identifier, sizeof number);
    return number;
  };
  check_header(4, write("ET13"),
               "x.pte: incompatible version: the file identifier is 'ET13', "
               "this host reads 'ET12'");
  check_header(4, write("FT01"),
               "not a program: the file identifier is 'FT01', expected 'ET12' "
               "(this is a .ptd data file)");
  check_header(4,
               write("\x7f"
                     "ELF"),
               "not a program: the file identifier is '\\x7fELF'");
}

TEST_CASE("a file too short for an identifier is refused") {
  for (const std::size_t size : {0u, 1u, 7u}) {
    auto file = rich_program().build();
    file.cut(size);
    const auto program = open(file);
    REQUIRE_FALSE(program.ok());
    CHECK(program.error() == Error::InvalidProgram);
    CHECK(program.text() ==
          "x.pte: the file has " + std::to_string(size) + " bytes, too few for a program");
  }
}

TEST_CASE("a header with wrong sizes or offsets is refused") {
  const auto file = rich_program().build();
  const auto size = file.bytes().size();
  const auto program_size = number_at(file, 16);
  const auto base = number_at(file, 24);
  const auto text_of = [](auto number) { return std::to_string(number); };

  check_header(12, std::uint32_t{23}, "extended header: length is 23, expected at least 24");
  check_header(12, std::uint32_t{0}, "extended header: length is 0, expected at least 24");
  check_header(12, UINT32_MAX, "extended header: its 4294967295 bytes are not in the file of");
  check_header(16, std::uint64_t{size} + 1,
               "segment_base_offset " + text_of(base) + " is inside the flatbuffer of");
  check_header(16, UINT64_MAX, "is inside the flatbuffer of 18446744073709551615 bytes");
  check_header(16, std::uint64_t{0}, "the flatbuffer of 0 bytes is corrupt");
  check_header(16, std::uint64_t{64}, "the flatbuffer of 64 bytes is corrupt");
  check_header(24, program_size - 1,
               "extended header: segment_base_offset " + text_of(program_size - 1) +
                   " is inside the flatbuffer of " + text_of(program_size) + " bytes");
  check_header(24, std::uint64_t{0},
               "extended header: segment_data_size is 394, but segment_base_offset is 0");
  check_header(24, std::uint64_t{size} + 1, "header: segments of 394 bytes begin at");
  check_header(24, UINT64_MAX, "header: segments of 394 bytes begin at 18446744073709551615");
  check_header(32, std::uint64_t{395},
               "header: segments of 395 bytes begin at " + text_of(base) + ", but the file has " +
                   text_of(size) + " bytes; it may be truncated");
  check_header(32, UINT64_MAX, "header: segments of 18446744073709551615 bytes begin at");
  check_header(32, std::uint64_t{393},
               "segments[3]: 10 bytes at offset 384, but the segments of "
               "the file have 393 bytes");
}

TEST_CASE("a header without segments may still not claim more than the file") {
  ProgramBuilder builder;
  builder.plan("forward");
  auto file = builder.build();
  REQUIRE(number_at(file, 24) == 0);
  REQUIRE(open(file).ok());
  patch(file, 16, std::uint64_t{file.bytes().size()} + 1);
  const auto program = open(file);
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(program.text()), ContainsSubstring("it may be truncated"));
}

TEST_CASE("a header from before ExecuTorch 1.0 has no segment data size") {
  auto file = rich_program().build(Header::without_segment_data_size);
  patch(file, 32, UINT64_MAX);
  const auto program = open(file);
  INFO(program.text());
  REQUIRE(program.ok());
  CHECK((*program)->view().num_segments() == 4);
}

TEST_CASE("a segment data size of 0 lets segments use the rest of the file") {
  auto file = rich_program().build();
  patch(file, 32, std::uint64_t{0});
  CHECK(open(file).ok());
  patch(file, 32, std::uint64_t{0});
  file.cut(file.bytes().size() - 1);
  const auto program = open(file);
  REQUIRE_FALSE(program.ok());
  CHECK_THAT(std::string(program.text()), ContainsSubstring("segments[3]: 10 bytes at offset 384"));
}

TEST_CASE("bytes after the last segment are accepted") {
  const auto file = rich_program().build();
  std::vector<std::byte> longer(file.bytes().begin(), file.bytes().end());
  longer.resize(longer.size() + 100);
  const AlignedBytes copy(longer);
  CHECK(open(copy).ok());
}

TEST_CASE("a flatbuffer of two gigabytes is refused") {
  const TemporaryDirectory directory;
  const auto file = rich_program().build(Header::none);
  const auto path = directory.write(
      "large.pte", {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  std::filesystem::resize_file(path, std::uint64_t{1} << 31);
  const auto program = host::Program::open(path);
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(program.text()),
             ContainsSubstring("the flatbuffer has 2147483648 bytes, the format allows"));
}

TEST_CASE("a longer header than this host knows is read") {
  auto file = rich_program().build();
  patch(file, 12, std::uint32_t{40});
  CHECK(open(file).ok());
}

TEST_CASE("a program without a header has no bytes in segments") {
  ProgramBuilder empty;
  empty.plan("forward");
  empty.segment({});
  const auto file = empty.build(Header::none);
  const auto program = open(file);
  INFO(program.text());
  REQUIRE(program.ok());
  CHECK((*program)->view().segment(0).empty());

  ProgramBuilder full;
  full.plan("forward");
  full.segment(bytes_of("data"));
  const auto lying = full.build(Header::none);
  const auto refused = open(lying);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error() == Error::InvalidProgram);
  CHECK(refused.text() ==
        "x.pte: segments[0]: 4 bytes at offset 0, but the segments of the file have 0 bytes");
}

TEST_CASE("bytes at an odd address are refused") {
  const auto file = rich_program().build();
  for (const std::size_t shift : {1u, 4u, 8u}) {
    std::vector<std::byte> shifted(file.bytes().size() + shift);
    std::copy(file.bytes().begin(), file.bytes().end(),
              shifted.begin() + static_cast<std::ptrdiff_t>(shift));
    const AlignedBytes copy(shifted);
    const auto program = host::Program::from_bytes(copy.bytes().subspan(shift), nullptr, "odd.pte");
    REQUIRE_FALSE(program.ok());
    CHECK(program.error() == Error::InvalidArgument);
    CHECK(program.text() == "odd.pte: the bytes begin at an address that is not a multiple of 16");
  }
}

}  // namespace
