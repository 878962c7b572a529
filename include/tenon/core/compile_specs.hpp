// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "tenon/abi/backend.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// A setting that was given ahead of time. The value is not NUL-terminated and has no type: read it
/// with `as_text` or `read_le`.
struct CompileSpec {
  std::string_view key;
  Bytes value;
};

/// The compile specs of a delegate, exactly those used ahead of time, in their order. Keys may
/// repeat. Valid until `init` returns; the bytes of the values until `destroy`.
class CompileSpecs {
 public:
  CompileSpecs(const tenon_compile_spec* first, std::uint32_t count) noexcept
      : specs_(first, count) {}

  [[nodiscard]] std::size_t size() const noexcept { return specs_.size(); }

  [[nodiscard]] CompileSpec operator[](std::size_t index) const noexcept {
    return spec_of(specs_[index]);
  }

  /// A forward iterator of C++20: it makes each `CompileSpec`. Valid as long as the specs.
  class Iterator {
   public:
    using value_type = CompileSpec;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category =
        std::input_iterator_tag;  // A reference would have nothing to refer to.

    Iterator() noexcept : specs_(nullptr, 0) {}

    [[nodiscard]] CompileSpec operator*() const noexcept { return spec_of(specs_[index_]); }
    Iterator& operator++() noexcept {
      ++index_;
      return *this;
    }
    Iterator operator++(int) noexcept {
      Iterator before = *this;
      ++index_;
      return before;
    }
    /// Of iterators of the same specs.
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept {
      return a.index_ == b.index_;
    }

   private:
    friend CompileSpecs;
    Iterator(detail::StridedArray<tenon_compile_spec> specs, std::size_t index) noexcept
        : specs_(specs), index_(index) {}

    detail::StridedArray<tenon_compile_spec> specs_;
    std::size_t index_ = 0;
  };

  [[nodiscard]] Iterator begin() const noexcept { return {specs_, 0}; }
  [[nodiscard]] Iterator end() const noexcept { return {specs_, size()}; }

  /// Value of the first spec with `key`.
  [[nodiscard]] std::optional<Bytes> find(std::string_view key) const noexcept {
    for (const CompileSpec& spec : *this) {
      if (spec.key == key) return spec.value;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] static CompileSpec spec_of(const tenon_compile_spec& spec) noexcept {
    return {spec.key,
            {static_cast<const std::byte*>(spec.value), static_cast<std::size_t>(spec.value_size)}};
  }

  detail::StridedArray<tenon_compile_spec> specs_;
};

}}  // namespace tenon::TENON_RELEASE
