// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/abi/backend.h"
#include "tenon/core/bytes.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon {

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
    const tenon_compile_spec& spec = specs_[index];
    return {spec.key,
            {static_cast<const std::byte*>(spec.value), static_cast<std::size_t>(spec.value_size)}};
  }

  /// Value of the first spec with `key`.
  [[nodiscard]] std::optional<Bytes> find(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < size(); ++i) {
      if ((*this)[i].key == key) return (*this)[i].value;
    }
    return std::nullopt;
  }

 private:
  detail::StridedArray<tenon_compile_spec> specs_;
};

}  // namespace tenon
