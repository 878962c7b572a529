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
using tenon::test::PayloadVariant;

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

TEST_CASE("a payload has a library for each of several devices", "[aoti][D19]") {
  const std::string magic = GENERATE("ETCUDAFQN0", "ETCUDAFQN4", "ETCUDAFQN5");
  const bool has_flags = magic != "ETCUDAFQN4";
  std::vector<PayloadVariant> libraries = {{80, 0, 0, "a"}, {90, 0, 0, "b"}};
  if (has_flags) libraries.push_back({80, 80, 1, "c"});
  const std::string bytes =
      PayloadBytes(magic).variants(libraries, has_flags).number(std::uint32_t{1}).weight().bytes();
  auto payload = parse_payload(bytes, "forward", true);
  INFO(payload.text());
  REQUIRE(payload.ok());
  CHECK(payload->generation == PayloadGeneration::variants);
  CHECK(payload->library_key.empty());
  CHECK(payload->weights.size() == 1);
  REQUIRE(payload->variants.size() == libraries.size());
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    CHECK(payload->variants[i].target_sm == libraries[i].target_sm);
    CHECK(payload->variants[i].ptx_compute == libraries[i].ptx_compute);
    CHECK(payload->variants[i].fallback_only == (i == 2));
    CHECK(payload->variants[i].library_key == libraries[i].key);
  }
  payload->choose(1);
  CHECK(payload->library_key == "b");
  for (std::size_t size = 10; size < bytes.size(); ++size) {
    INFO(size);
    CHECK(parse_payload(bytes.substr(0, size), "forward", true).error() ==
          Error::DelegateInvalidCompatibility);
  }
  CHECK_FALSE(parse_payload(bytes + "x", "forward", true).ok());
  CHECK_FALSE(parse_payload(bytes, "forward", false).ok());
}

TEST_CASE("a single library may leave open which device it is for", "[aoti]") {
  const auto payload = parse_payload(
      PayloadBytes("ETCUDAFQN0").variants({{}}).number(std::uint32_t{0}).bytes(), "forward", true);
  INFO(payload.text());
  REQUIRE(payload.ok());
  CHECK(payload->library_key == "so_blob");
}

TEST_CASE("libraries that contradict each other or themselves are refused", "[aoti]") {
  const std::vector<std::pair<std::vector<PayloadVariant>, std::string>> bad = {
      {{}, "expected 1 to 256 libraries, found 0"},
      {std::vector<PayloadVariant>(257), "expected 1 to 256 libraries, found 257"},
      {{{90, 0, 0, ""}}, "expected the key of library 0"},
      {{{90, 0, 2, "a"}}, "library 0 has unknown flags, 2"},
      {{{80, 90, 0, "a"}}, "library 0 is for sm_80 with PTX for compute_90"},
      {{{0, 0, 0, "a"}, {90, 0, 0, "b"}}, "library 0 of 2 does not say its device"},
      {{{0, 0, 1, "a"}}, "library 0 of 1 does not say its device"},
      {{{90, 0, 1, "a"}}, "library 0 is for fallback and has no PTX"},
      {{{90, 0, 0, "a"}, {90, 90, 0, "b"}}, "library 1 is the second for sm_90"},
  };
  for (const auto& [variants, text] : bad) {
    const auto payload = parse_payload(
        PayloadBytes("ETCUDAFQN0").variants(variants).number(std::uint32_t{0}).bytes(), "forward",
        true);
    CHECK(payload.error() == Error::DelegateInvalidCompatibility);
    CHECK_THAT(std::string(payload.text()), ContainsSubstring(text));
  }
}

TEST_CASE("a KV cache outside of the graph is refused by name", "[aoti]") {
  const auto payload = parse_payload(
      one_weight().weight({.name = "__et_offgraph_kv_layer_0_k"}).bytes(), "forward", true);
  CHECK(payload.error() == Error::NotSupported);
  CHECK_THAT(std::string(payload.text()),
             ContainsSubstring("KV cache is outside of its graph (constant "
                               "'__et_offgraph_kv_layer_0_k')"));
}

TEST_CASE("weights of MX and NVFP4 formats are refused by their element type", "[aoti]") {
  for (const auto& [number, name] :
       {std::pair{44, "float8_e8m0fnu"}, std::pair{45, "float4_e2m1fn_x2"}}) {
    const auto payload = parse_payload(
        one_weight().weight({.name = "layer.scale", .dtype = number}).bytes(), "forward", true);
    CHECK(payload.error() == Error::NotSupported);
    CHECK_THAT(std::string(payload.text()),
               ContainsSubstring("weight 'layer.scale' [") &&
                   ContainsSubstring(std::string("has elements of ") + name + ": MX and NVFP4") &&
                   ContainsSubstring("when the model is exported"));
  }
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
