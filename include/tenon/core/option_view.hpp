// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/abi/backend.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/options.hpp"

namespace tenon {

/// The value of an option, without a copy of it: refers to the option, which must outlive it. Each
/// reader returns nothing when the value is of another type, or is text or bytes with a size and
/// no address.
class OptionView {
 public:
  explicit OptionView(const tenon_option& option) noexcept : option_(&option) {}

  /// TENON_OPTION_...
  [[nodiscard]] std::uint32_t type() const noexcept { return option_->type; }

  [[nodiscard]] std::optional<bool> boolean() const noexcept {
    if (type() != TENON_OPTION_BOOL) return std::nullopt;
    return option_->as.boolean != 0;
  }
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept {
    if (type() != TENON_OPTION_INT) return std::nullopt;
    return option_->as.integer;
  }
  [[nodiscard]] std::optional<double> real() const noexcept {
    if (type() != TENON_OPTION_DOUBLE) return std::nullopt;
    return option_->as.real;
  }
  [[nodiscard]] std::optional<std::string_view> string() const noexcept {
    if (type() != TENON_OPTION_STRING) return std::nullopt;
    const auto text = span();
    if (!text) return std::nullopt;
    return as_text(*text);
  }
  [[nodiscard]] std::optional<Bytes> bytes() const noexcept {
    if (type() != TENON_OPTION_BYTES) return std::nullopt;
    return span();
  }

  /// A copy, for functions that take an OptionValue; a default value (false) where `read_option`
  /// refuses the option, whose type is unknown or whose text has no address. Tenon refuses such an
  /// option before a backend sees it. A template, so that only those who call it compile a
  /// std::variant.
  template <class Value>
    requires std::same_as<Value, OptionValue>
  operator Value() const {
    auto value = read_option<Value>(*option_);
    return value.ok() ? *std::move(value) : Value();
  }

 private:
  [[nodiscard]] std::optional<Bytes> span() const noexcept {
    const tenon_span& span = option_->as.span;
    if (!span.data && span.size != 0) return std::nullopt;
    return Bytes(static_cast<const std::byte*>(span.data), static_cast<std::size_t>(span.size));
  }

  const tenon_option* option_;
};

}  // namespace tenon
