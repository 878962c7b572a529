// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "tenon/abi/plugin.h"

namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// Whether `text` fits a field of `size` bytes with its NUL and has no control characters, as every
/// text of a record must (TN-BIN-7).
consteval bool is_valid_text(std::string_view text, std::size_t size) {
  if (text.size() >= size) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

consteval bool is_valid_name(std::string_view name) {
  return !name.empty() && is_valid_text(name, TENON_ID_SIZE);
}

}}}  // namespace tenon::TENON_RELEASE::detail
