// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/options.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

using OptionText = std::array<char, et::kMaxOptionValueLength>;

/// An option as ExecuTorch has it: a key of at most 63 bytes, and a bool, an int or a
/// text of at most 255 bytes.
///
/// errors: InvalidArgument (a key, a text or a number that is too long or too large for that),
///         NotSupported (a double; bytes). The text has the expected and the found type.
[[nodiscard]] inline Result<et::BackendOption> to_backend_option(std::string_view key,
                                                                 const OptionView& value) {
  et::BackendOption out;
  if (key.size() >= et::kMaxOptionKeyLength) {
    return error(Error::InvalidArgument, "option '", key, "': ExecuTorch's keys have at most ",
                 et::kMaxOptionKeyLength - 1, " bytes, this one has ", key.size());
  }
  std::ranges::copy(key, out.key);
  if (const auto boolean = value.boolean()) {
    out.value = *boolean;
  } else if (const auto integer = value.integer()) {
    if (!std::in_range<int>(*integer)) {
      return error(Error::InvalidArgument, "option '", key,
                   "': ExecuTorch's numbers have 32 bits, found ", *integer);
    }
    out.value = static_cast<int>(*integer);
  } else if (const auto text = value.string()) {
    if (text->size() >= et::kMaxOptionValueLength || text->find('\0') != text->npos) {
      return error(Error::InvalidArgument, "option '", key, "': ExecuTorch's texts have at most ",
                   et::kMaxOptionValueLength - 1, " bytes and no NUL, found ", text->size(),
                   " bytes");
    }
    OptionText bytes{};
    std::ranges::copy(*text, bytes.begin());
    out.value = bytes;
  } else {
    return error(Error::NotSupported, "option '", key,
                 "': ExecuTorch's options are bool, int or string, found ",
                 option_type_name(value.type()));
  }
  return out;
}

/// The value of an option of ExecuTorch's, whose text may lack its terminator.
[[nodiscard]] inline OptionValue from_backend_option(const et::BackendOption& option) {
  if (const auto* boolean = std::get_if<bool>(&option.value)) return OptionValue(*boolean);
  if (const auto* integer = std::get_if<int>(&option.value)) {
    return OptionValue(std::int64_t{*integer});
  }
  const auto& text = std::get<OptionText>(option.value);
  return OptionValue(std::string(text.data(), ::strnlen(text.data(), text.size())));
}

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
