// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/options.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/options.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/backend.hpp"

/// Options, translated. ExecuTorch's are bool, 32-bit int and text of up to 255 bytes; a plugin
/// declares bool, int64, double, string and bytes. Values that ExecuTorch cannot hold are text:
/// "0.5" for a double, "5000000000" for an integer beyond 32 bits.
namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

/// The key of an option of ExecuTorch, which may lack its terminator.
///
/// errors: InvalidArgument.
inline Result<std::string> option_key(const et::BackendOption& option) {
  const auto* const end = std::find(option.key, option.key + sizeof option.key, '\0');
  if (end == option.key || end == option.key + sizeof option.key) {
    return error(Error::InvalidArgument, "the key of an option has ", end - option.key,
                 " bytes, expected 1 to ", sizeof option.key - 1);
  }
  return std::string(option.key, end);
}

/// `value`, which is ExecuTorch's, in the type that a plugin declares. A value that cannot be
/// converted is unchanged, so that the plugin refuses it with its own message.
inline OptionValue to_declared(const OptionValue& value, std::uint32_t type) {
  const auto integer = value.get<std::int64_t>();
  if (integer && type == TENON_OPTION_DOUBLE) return static_cast<double>(*integer);
  const auto text = value.get<std::string>();
  if (!text) return value;
  // The text is the bytes themselves.
  if (type == TENON_OPTION_BYTES) return std::as_bytes(std::span(*text));
  return parse_option(*text, type).value_or(value);
}

/// Options of ExecuTorch's for backend `id`, each in the type that it declares; those that are not
/// declared are unchanged.
///
/// errors: InvalidArgument for a key without a terminator.
template <class Options>
Result<std::vector<host::BackendOption>> read_options(
    const Options& options, std::string_view id,
    std::span<const host::OptionDeclaration> declared) {
  std::vector<host::BackendOption> out;
  for (const et::BackendOption& option : options) {
    TENON_TRY(std::string key, option_key(option));
    OptionValue value = bridge::detail::from_backend_option(option);
    if (const auto declaration = host::find_option(declared, key); declaration.ok()) {
      value = to_declared(value, (*declaration)->initial.type());
    }
    out.push_back({std::string(id), std::move(key), std::move(value)});
  }
  return out;
}

/// `value` as ExecuTorch can hold it.
inline OptionValue to_held(const OptionValue& value) {
  if (const auto real = value.get<double>()) return concat(*real);
  if (const auto bytes = OptionView(value).bytes()) return as_text(*bytes);
  const auto integer = value.get<std::int64_t>();
  if (integer && !std::in_range<int>(*integer)) return concat(*integer);
  return value;
}

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
