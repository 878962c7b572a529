// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Bytes that do not change, and what keeps them alive. Copies share the bytes: weights of many
/// gigabytes pass from a model to a file without being copied. Any thread may read them.
class SharedBytes {
 public:
  /// No bytes.
  SharedBytes() noexcept = default;

  /// Takes the bytes over.
  SharedBytes(std::vector<std::byte> bytes) {
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    bytes_ = *owner;
    keep_alive_ = std::move(owner);
  }

  /// Bytes that `keep_alive` owns, or that outlive every copy of this object when it is null.
  [[nodiscard]] static SharedBytes borrow(Bytes bytes,
                                          std::shared_ptr<const void> keep_alive) noexcept {
    SharedBytes out;
    out.bytes_ = bytes;
    out.keep_alive_ = std::move(keep_alive);
    return out;
  }

  [[nodiscard]] static SharedBytes copy_of(Bytes bytes) {
    return SharedBytes(std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
  /// The characters, without a NUL behind them.
  [[nodiscard]] static SharedBytes copy_of(std::string_view text) {
    return copy_of(std::as_bytes(std::span(text)));
  }

  [[nodiscard]] Bytes bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

 private:
  Bytes bytes_;
  std::shared_ptr<const void> keep_alive_;
};

}}}  // namespace tenon::TENON_RELEASE::aot
