// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/signatures/impl/base64.hpp"
#include "tenon/host/platform/impl/system_library.hpp"

namespace tenon::test {

using host::detail::to_base64;

/// Ends a test that signs where nothing can be signed.
#define TENON_TEST_NEEDS_SIGNER()                                         \
  if (!tenon::test::Signer::is_possible()) {                              \
    WARN("not run: libsodium23 is needed, which is not on this machine"); \
    return;                                                               \
  }

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A publisher with a new key, who signs as minisign does, with the library that minisign uses.
class Signer {
 public:
  /// Whether this machine has the library. `./dev setup` installs it; roots of other processors
  /// need not have it.
  [[nodiscard]] static bool is_possible() {
    const host::platform::SystemLibrary sodium(host::platform::sodium_names);
    return static_cast<bool>(sodium);
  }

  explicit Signer(std::uint8_t number = 1) : id_{number, 2, 3, 4, 5, 6, 7, 0xab} {
    const host::platform::SystemLibrary sodium(host::platform::sodium_names);
    if (!sodium)
      throw std::runtime_error("libsodium23 is needed: " + std::string(sodium.problem()));
    const auto find = [&]<class Function>(Function*& out, const char* name) {
      out = reinterpret_cast<Function*>(sodium.symbol(name));
    };
    int (*make_keys)(void*, void*) = nullptr;
    find(make_keys, "crypto_sign_keypair");
    find(sign_, "crypto_sign_detached");
    find(hash_, "crypto_generichash");
    find(begin_, "crypto_sign_init");
    find(add_, "crypto_sign_update");
    find(end_, "crypto_sign_final_create");
    make_keys(public_.data(), secret_.data());
  }

  /// The line of base64 of the public key.
  [[nodiscard]] std::string public_key() const {
    return to_base64(joined({'E', 'd'}, id_, public_));
  }

  /// The text of a signature of `bytes`.
  [[nodiscard]] std::string sign(std::string_view bytes, bool is_prehashed = true,
                                 std::string_view comment = "timestamp:1\tfile:a.so") const {
    std::string message(bytes);
    if (is_prehashed) {
      message.resize(64);
      hash_(message.data(), message.size(), bytes.data(), bytes.size(), nullptr, 0);
    }
    const auto signature = signature_of(message);
    const auto global =
        signature_of(concat(std::string(signature.begin(), signature.end()), comment));
    const std::array<std::uint8_t, 2> algorithm{
        'E', is_prehashed ? std::uint8_t{'D'} : std::uint8_t{'d'}};
    return concat("untrusted comment: signature\n", to_base64(joined(algorithm, id_, signature)),
                  "\ntrusted comment: ", comment, "\n", to_base64(global), "\n");
  }

  /// The line of base64 of the public key for sigstore.
  [[nodiscard]] std::string sigstore_key() const { return to_base64(der()); }

  /// A bundle of sigstore for `bytes`, as cosign writes it.
  [[nodiscard]] std::string bundle(std::string_view bytes, bool is_prehashed = false) const {
    const auto signature = is_prehashed ? prehashed_signature_of(bytes) : signature_of(bytes);
    return concat(R"({"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json", )",
                  R"("verificationMaterial":{"publicKey":{"hint":")", hash_of(der()),
                  R"("}}, "messageSignature":{"messageDigest":{"algorithm":"SHA2_256", "digest":")",
                  hash_of(bytes), R"("}, "signature":")", to_base64(signature), R"("}})");
  }

  /// Writes the signature of a file next to it.
  void sign_file(const std::filesystem::path& path) const {
    std::ofstream(path.native() + ".minisig", std::ios::binary) << sign(content_of(path));
  }

 private:
  /// The key as a SubjectPublicKeyInfo (RFC 8410).
  [[nodiscard]] std::vector<std::uint8_t> der() const {
    std::vector<std::uint8_t> out{0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0};
    out.insert(out.end(), public_.begin(), public_.end());
    return out;
  }

  template <class Range>
  static std::string hash_of(const Range& bytes) {
    return to_base64(sha256_of(std::as_bytes(std::span(bytes))).bytes);
  }

  template <std::size_t One, std::size_t Two>
  static std::vector<std::uint8_t> joined(const std::array<std::uint8_t, 2>& algorithm,
                                          const std::array<std::uint8_t, One>& id,
                                          const std::array<std::uint8_t, Two>& bytes) {
    std::vector<std::uint8_t> out(algorithm.begin(), algorithm.end());
    out.insert(out.end(), id.begin(), id.end());
    out.insert(out.end(), bytes.begin(), bytes.end());
    return out;
  }

  [[nodiscard]] std::array<std::uint8_t, 64> signature_of(std::string_view message) const {
    std::array<std::uint8_t, 64> out{};
    sign_(out.data(), nullptr, message.data(), message.size(), secret_.data());
    return out;
  }

  [[nodiscard]] std::array<std::uint8_t, 64> prehashed_signature_of(
      std::string_view message) const {
    std::array<std::uint8_t, 64> out{};
    std::vector<std::max_align_t> state(64);
    begin_(state.data());
    add_(state.data(), message.data(), message.size());
    end_(state.data(), out.data(), nullptr, secret_.data());
    return out;
  }

  std::array<std::uint8_t, 8> id_;
  std::array<std::uint8_t, 32> public_{};
  std::array<std::uint8_t, 64> secret_{};
  int (*sign_)(void*, unsigned long long*, const void*, unsigned long long, const void*) = nullptr;
  int (*hash_)(void*, std::size_t, const void*, unsigned long long, const void*,
               std::size_t) = nullptr;
  int (*begin_)(void*) = nullptr;
  int (*add_)(void*, const void*, unsigned long long) = nullptr;
  int (*end_)(void*, void*, unsigned long long*, const void*) = nullptr;
};

}  // namespace tenon::test
