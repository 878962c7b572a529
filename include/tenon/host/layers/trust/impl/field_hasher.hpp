// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/core/bytes.hpp"
#include "tenon/core/sha256.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Hashes several fields, texts and bytes with their sizes, so that no two lists look alike.
class FieldHasher {
 public:
  void number(std::uint64_t value) noexcept { hasher_.update(std::as_bytes(std::span(&value, 1))); }
  void bytes(Bytes of) noexcept {
    number(of.size());
    hasher_.update(of);
  }
  void text(std::string_view of) noexcept { bytes(std::as_bytes(std::span(of))); }

  [[nodiscard]] Sha256 finish() noexcept { return hasher_.finish(); }

 private:
  Sha256Hasher hasher_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
