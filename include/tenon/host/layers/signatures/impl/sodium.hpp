// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/impl/system_library.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The functions of libsodium that are used, found at first use. Its versions 1.0.12 and later have
/// them with these parameters.
class Sodium {
 public:
  using Digest = std::array<std::uint8_t, 64>;

  /// threads: any. errors: NotSupported, with the reason and what to install.
  static Result<const Sodium*> loaded() {
    static const Sodium only;
    if (only.problem_.empty()) return &only;
    return error(Error::NotSupported, std::string_view(only.problem_));
  }

  [[nodiscard]] bool verify(std::span<const std::uint8_t, 64> signature,
                            std::span<const std::byte> message,
                            std::span<const std::uint8_t, 32> key) const noexcept {
    return verify_(signature.data(), message.data(), message.size(), key.data()) == 0;
  }

  /// Of Ed25519ph (RFC 8032), without a context.
  [[nodiscard]] bool verify_prehashed(std::span<const std::uint8_t, 64> signature,
                                      std::span<const std::byte> message,
                                      std::span<const std::uint8_t, 32> key) const noexcept {
    State state{};
    return begin_(&state) == 0 && add_(&state, message.data(), message.size()) == 0 &&
           end_(&state, signature.data(), key.data()) == 0;
  }

  [[nodiscard]] Result<Digest> blake2b(std::span<const std::byte> message) const {
    Digest out;
    if (hash_(out.data(), out.size(), message.data(), message.size(), nullptr, 0) == 0) return out;
    return error(Error::Internal, "libsodium: crypto_generichash failed");
  }

 private:
  /// libsodium says how much of it is used: 208 bytes.
  struct alignas(64) State {
    std::array<std::byte, 512> bytes;
  };

  Sodium() {
    const platform::SystemLibrary library(platform::sodium_names);
    if (!library) {
      problem_ = concat(
          "signatures are checked with libsodium (Debian: libsodium23), which cannot be "
          "loaded: ",
          library.problem());
      return;
    }
    const auto find = [&]<class Function>(Function*& out, const char* name) {
      out = reinterpret_cast<Function*>(library.symbol(name));
      if (!out) problem_ = concat("libsodium has no function ", std::string_view(name));
    };
    int (*init)() = nullptr;
    find(init, "sodium_init");
    find(verify_, "crypto_sign_verify_detached");
    find(hash_, "crypto_generichash");
    std::size_t (*state_size)() = nullptr;
    find(state_size, "crypto_sign_statebytes");
    find(begin_, "crypto_sign_init");
    find(add_, "crypto_sign_update");
    find(end_, "crypto_sign_final_verify");
    if (!problem_.empty()) return;
    if (state_size() > sizeof(State)) {
      problem_ = concat("libsodium: crypto_sign needs ", state_size(), " bytes, expected at most ",
                        sizeof(State));
    } else if (init() < 0) {
      problem_ = "libsodium: sodium_init failed";
    }
  }

  std::string problem_;
  int (*verify_)(const void* signature, const void* message, unsigned long long size,
                 const void* key) = nullptr;
  int (*hash_)(void* out, std::size_t out_size, const void* message, unsigned long long size,
               const void* key, std::size_t key_size) = nullptr;
  int (*begin_)(void* state) = nullptr;
  int (*add_)(void* state, const void* message, unsigned long long size) = nullptr;
  int (*end_)(void* state, const void* signature, const void* key) = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
