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
/// reader gives nothing when the value is of another type.
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
    return as_text(span());
  }
  [[nodiscard]] std::optional<Bytes> bytes() const noexcept {
    if (type() != TENON_OPTION_BYTES) return std::nullopt;
    return span();
  }

  /// A copy, for functions that take an OptionValue. The type must be a known one. A template, so
  /// that only those who call it compile a std::variant.
  template <class Value>
    requires std::same_as<Value, OptionValue>
  operator Value() const {
    return *read_option<Value>(*option_);
  }

 private:
  [[nodiscard]] Bytes span() const noexcept {
    return {static_cast<const std::byte*>(option_->as.span.data),
            static_cast<std::size_t>(option_->as.span.size)};
  }

  const tenon_option* option_;
};

}  // namespace tenon
