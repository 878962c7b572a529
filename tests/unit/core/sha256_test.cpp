// SPDX-License-Identifier: MIT
//
// SHA-256 against the examples of NIST (FIPS 180-4 and its "Secure Hash Standard" examples), with
// and without the processor's instructions.
#include "tenon/core/sha256.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using namespace tenon;

namespace {

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

struct Example {
  std::string text;
  std::string_view hash;
};

std::vector<Example> nist_examples() {
  return {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlm"
       "nopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
      {"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
      {"\xc9\x8c\x8e\x55", "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"},
      {std::string(55, '\0'), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
      {std::string(56, '\0'), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
      {std::string(57, '\0'), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"},
      {std::string(64, '\0'), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
      {std::string(1000, '\0'), "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"},
      {std::string(1000, 'A'), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4"},
      {std::string(1005, 'U'), "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0"},
  };
}

}  // namespace

TEST_CASE("the hashes equal NIST's examples", "[core]") {
  for (const Example& example : nist_examples()) {
    INFO(example.text.size() << " bytes, " << example.text.substr(0, 60));
    CHECK(sha256_hex(bytes_of(example.text)) == example.hash);
  }
}

TEST_CASE("a hash does not depend on how its bytes were divided", "[core]") {
  std::string text;
  for (unsigned i = 0; text.size() < 400; ++i) text += std::to_string(i);
  const Sha256 whole = sha256_of(bytes_of(text));
  for (const std::size_t step : {1u, 3u, 55u, 63u, 64u, 65u, 127u, 128u, 129u, 399u}) {
    Sha256Hasher hasher;
    for (std::size_t i = 0; i < text.size(); i += step) {
      hasher.update(bytes_of(text).subspan(i, std::min(step, text.size() - i)));
      hasher.update({});
    }
    INFO("in pieces of " << step);
    CHECK(hasher.finish() == whole);
  }
  CHECK_FALSE(sha256_of(bytes_of(text).first(399)) == whole);
}

TEST_CASE("the processor's instructions and plain C++ give the same hash", "[core]") {
  std::vector<std::byte> blocks(64 * 50);
  std::uint32_t state = 1;
  for (std::byte& one : blocks) {
    state = state * 1664525 + 1013904223;
    one = static_cast<std::byte>(state >> 24);
  }
  if (!detail::has_sha256_instructions()) SUCCEED("this processor has no such instructions");
  for (std::size_t count = 0; count <= 50; ++count) {
    detail::Sha256State plain{1, 2, 3, 4, 5, 6, 7, 0xffffffff};
    detail::Sha256State native = plain;
    detail::sha256_blocks_portable(plain, blocks.data(), count);
    if (detail::has_sha256_instructions()) {
      detail::sha256_blocks_native(native, blocks.data(), count);
      CHECK(native == plain);
    }
  }
  // NIST's first example, one block that is already padded.
  blocks.assign(64, std::byte{0});
  blocks[0] = std::byte{'a'};
  blocks[1] = std::byte{'b'};
  blocks[2] = std::byte{'c'};
  blocks[3] = std::byte{0x80};
  blocks[63] = std::byte{24};
  detail::Sha256State plain{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  detail::sha256_blocks_portable(plain, blocks.data(), 1);
  CHECK(plain == detail::Sha256State{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3,
                                     0x96177a9c, 0xb410ff61, 0xf20015ad});
}
