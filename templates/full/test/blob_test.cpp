// SPDX-License-Identifier: MIT
#include "common/blob.hpp"

#include <tenon/conformance/catch.hpp>

#include "test/golden.hpp"

namespace my_npu::test { namespace {

std::string refusal(const std::vector<std::byte>& bytes) {
  const auto read = read_blob(bytes);
  return read.ok() ? "accepted" : std::string(read.text());
}

std::string refusal(const Code& code) {
  const tenon::Status checked = check_code(code);
  return checked.ok() ? "accepted" : std::string(checked.text());
}

TEST_CASE("reading a written blob gives the same code") {
  const auto read = read_blob(write_blob(golden_code()));
  REQUIRE(read.ok());
  CHECK(*read == golden_code());
}

TEST_CASE("a blob that is too short or too long is refused") {
  auto bytes = write_blob(golden_code());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK(refusal({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}) !=
          "accepted");
  }
  bytes.push_back(std::byte{0});
  CHECK(refusal(bytes) == "blob: 4 instructions and 2 outputs have 52 bytes, found 53");
}

TEST_CASE("a blob of another format is not for this backend, and one that was cut is damaged") {
  auto bytes = write_blob(golden_code());
  CHECK(read_blob({bytes.data(), 3}).error() == tenon::Error::DelegateInvalidCompatibility);
  CHECK(read_blob({bytes.data(), 6}).error() == tenon::Error::InvalidProgram);
  CHECK(read_blob({bytes.data(), bytes.size() - 1}).error() == tenon::Error::InvalidProgram);
  bytes[0] = std::byte{0};
  CHECK(read_blob(bytes).error() == tenon::Error::DelegateInvalidCompatibility);
}

TEST_CASE("a blob of another version is refused with both versions") {
  auto bytes = write_blob(golden_code());
  bytes[4] = std::byte{2};
  CHECK(refusal(bytes) == "blob: expected version 1, found 2");
  CHECK(read_blob(bytes).error() == tenon::Error::DelegateInvalidCompatibility);
}

TEST_CASE("an unknown operator is refused") {
  auto bytes = write_blob(golden_code());
  bytes[16] = std::byte{4};
  CHECK(refusal(bytes) == "blob: instruction 0: unknown operator 4");
}

TEST_CASE("a register that has no value yet is refused") {
  CHECK(refusal(Code{1, {{Op::add, 0, 1}}, {1}}) ==
        "blob: instruction 0: register 1 has no value yet, expected one below 1");
  CHECK(refusal(Code{1, {{Op::relu, 0, 0}}, {0}}) ==
        "blob: output: register 0 is not a result, expected 1 to 1");
  CHECK(refusal(Code{1, {{Op::relu, 0, 0}}, {2}}) ==
        "blob: output: register 2 is not a result, expected 1 to 1");
}

TEST_CASE("a blob without instructions is refused") {
  CHECK(refusal(Code{0, {{Op::relu, 0, 0}}, {1}}) == "blob: expected 1 to 8192 inputs, found 0");
  CHECK(refusal(Code{1, {}, {1}}) == "blob: expected 1 to 4096 instructions, found 0");
  CHECK(refusal(Code{1, {{Op::relu, 0, 0}}, {}}) == "blob: expected 1 to 1 outputs, found 0");
}

}}  // namespace my_npu::test
