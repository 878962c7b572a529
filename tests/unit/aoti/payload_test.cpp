// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/payload_bytes.hpp"
#include "tenon/aoti/payload.hpp"

using namespace tenon;
using namespace tenon::aoti;
using tenon::test::PayloadBytes;

namespace {

PayloadBytes one_weight() {
  return std::move(PayloadBytes().text("so_blob").number(std::uint32_t{1}));
}

}  // namespace

TEST_CASE("a table names weights, their layout and their keys", "[aoti]") {
  const std::string bytes = one_weight().weight().bytes();
  const auto payload = parse_payload(bytes, "forward", true);
  INFO(payload.text());
  REQUIRE(payload.ok());
  CHECK(payload->generation == PayloadGeneration::named_weights);
  CHECK(payload->library_key == "so_blob");
  REQUIRE(payload->weights.size() == 1);
  const NamedWeight& weight = payload->weights.front();
  CHECK(weight.name == "a.weight");
  CHECK(weight.key == "cuda_fqn_weight:cuda:a.weight");
  CHECK(weight.nbytes == 24);
  CHECK(weight.scalar_type == ScalarType::Float);
  CHECK(weight.device_type == TorchDeviceType::cuda);
  CHECK(weight.sizes == std::vector<std::int64_t>{2, 3});
  CHECK(weight.strides == std::vector<std::int64_t>{3, 1});
}

TEST_CASE("a table that is cut off anywhere is refused", "[aoti]") {
  const std::string bytes = one_weight().weight().bytes();
  for (std::size_t size = 10; size < bytes.size(); ++size) {
    const auto payload = parse_payload(bytes.substr(0, size), "forward", true);
    INFO(size);
    CHECK(payload.error() == Error::DelegateInvalidCompatibility);
  }
  CHECK_THAT(std::string(parse_payload(bytes + "x", "forward", true).text()),
             ContainsSubstring("1 bytes are left over"));
}

TEST_CASE("a table that describes no tensor is refused", "[aoti]") {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::string bad[] = {
      one_weight().weight({.nbytes = 23}).bytes(),        // Too few bytes.
      one_weight().weight({.dtype = 99}).bytes(),         // No dtype.
      one_weight().weight({.device = 13}).bytes(),        // Another device.
      one_weight().weight({.offset = 1}).bytes(),         // The offset leads out.
      one_weight().weight({.offset = -1}).bytes(),        //
      one_weight().weight({.sizes = {2, -3}}).bytes(),    //
      one_weight().weight({.sizes = {2, huge}}).bytes(),  //
      one_weight().weight({.offset = huge}).bytes(),
  };
  for (const std::string& bytes : bad) {
    const auto payload = parse_payload(bytes, "forward", true);
    CHECK(payload.error() == Error::DelegateInvalidCompatibility);
    CHECK_THAT(std::string(payload.text()), ContainsSubstring("weight 'a.weight' [2, "));
  }
  // More weights than the bytes could hold are not even counted.
  const std::string many =
      PayloadBytes().text("so").number(std::uint32_t{0xffffffff}).weight().bytes();
  CHECK_FALSE(parse_payload(many, "forward", true).ok());
}

TEST_CASE("a table of another generation is refused with its digit", "[aoti][D19]") {
  const auto payload =
      parse_payload(PayloadBytes("ETCUDAFQN7").text("so").bytes(), "forward", true);
  CHECK(payload.error() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(std::string(payload.text()),
             ContainsSubstring("begins with 'ETCUDAFQN7'") && ContainsSubstring("ETCUDAFQN3"));
}

TEST_CASE("no bytes mean keys made of the method's name", "[aoti]") {
  const auto payload = parse_payload("", "forward");
  REQUIRE(payload.ok());
  CHECK(payload->generation == PayloadGeneration::method_keys);
  CHECK(payload->library_key == "forward_so_blob");
  CHECK(payload->weights_key == "forward_weights_blob");
  CHECK(parse_payload("", "")->library_key == "so_blob");
}

TEST_CASE("two lines are the keys of library and weights", "[aoti]") {
  for (const std::string end : {"", "\n"}) {
    const auto payload = parse_payload("abc_so_blob\ndef_weights_blob" + end, "forward");
    REQUIRE(payload.ok());
    CHECK(payload->generation == PayloadGeneration::two_keys);
    CHECK(payload->library_key == "abc_so_blob");
    CHECK(payload->weights_key == "def_weights_blob");
  }
}

TEST_CASE("every other blob is refused with what was found and what is understood", "[aoti]") {
  using namespace std::string_literals;
  for (const std::string& bad :
       {"one_key"s, "\n"s, "a\n"s, "\nb"s, "a\nb\nc"s, "a b\nc"s, "a\0b\nc"s, "\x7f\nb"s,
        std::string(600, 'k') + "\nb", "a\n"s + std::string(600, 'k'), "\xff\xfe\n\xfd"s}) {
    const auto payload = parse_payload(bad, "forward");
    INFO(bad);
    CHECK(payload.error() == Error::DelegateInvalidCompatibility);
    CHECK_THAT(std::string(payload.text()),
               ContainsSubstring(concat("the blob of ", bad.size(), " bytes is malformed")) &&
                   ContainsSubstring("two lines"));
  }
}

TEST_CASE("a payload of CudaBackend's third generation is named as such", "[aoti]") {
  const auto payload = parse_payload("ETCUDAFQN3\x10\0\0\0", "forward");
  CHECK(payload.error() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(std::string(payload.text()),
             ContainsSubstring("ETCUDAFQN") && ContainsSubstring("CudaBackend"));
}
