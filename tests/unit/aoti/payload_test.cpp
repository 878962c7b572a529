// SPDX-License-Identifier: MIT
#include <string>

#include "support/catch.hpp"
#include "tenon/aoti/payload.hpp"

using namespace tenon;
using namespace tenon::aoti;

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
