// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/plugin/backend.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// Keys and values that an application gave to the provider of one backend.
using ProviderOptions = std::vector<std::pair<std::string, std::string>>;

/// Begins all keys of the provider `id` among the entries of a session ("ep.add." for
/// "Add"): ONNX Runtime writes the provider's name in small letters.
[[nodiscard]] inline std::string option_prefix(std::string_view id) {
  std::string out = concat("ep.", id, ".");
  for (char& each : out) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return out;
}

/// The entries for the provider `id`, without the prefix.
[[nodiscard]] inline ProviderOptions provider_options(
    std::string_view id, std::span<const std::pair<std::string, std::string>> entries) {
  const std::string prefix = option_prefix(id);
  ProviderOptions out;
  for (const auto& [key, value] : entries) {
    if (key.starts_with(prefix)) out.emplace_back(key.substr(prefix.size()), value);
  }
  return out;
}

/// Whether a compiled model that should be compiled again is to fail, by ONNX Runtime's own option.
[[nodiscard]] inline bool must_be_optimal(
    std::span<const std::pair<std::string, std::string>> entries) {
  return std::any_of(entries.begin(), entries.end(), [](const auto& each) {
    return each.first == "session.fail_on_suboptimal_compiled_model" && each.second == "1";
  });
}

/// Options of a session as options of a load.
struct LoadOptions {
  ProviderOptions backend;  ///< For the backend itself.
  host::HostLimits limits;
  std::optional<host::EmbeddedCodePolicy> embedded_code;
};

/// Sorts the options of a session: "tenon.limit.NAME" sets a limit of the host (`set_limit`),
/// "tenon.embedded_code" its policy for code in programs, every other key is the backend's.
///
/// errors: InvalidArgument: names the option.
[[nodiscard]] inline Result<LoadOptions> read_load_options(ProviderOptions options) {
  constexpr std::string_view ours = "tenon.";
  constexpr std::string_view limit = "tenon.limit.";
  LoadOptions out;
  for (auto& [key, value] : options) {
    if (!key.starts_with(ours)) {
      out.backend.emplace_back(std::move(key), std::move(value));
      continue;
    }
    const std::string where = concat("option ", key);
    if (key.starts_with(limit)) {
      TENON_RETURN_IF_ERROR(host::set_limit(host::named_limits(out.limits),
                                            concat(key.substr(limit.size()), "=", value))
                                .with_context(where));
    } else if (key == "tenon.embedded_code") {
      auto policy = host::EmbeddedCodePolicy::parse(value);
      if (!policy.ok()) return std::move(policy).status().with_context(where);
      out.embedded_code = *std::move(policy);
    } else {
      return error(Error::InvalidArgument, where,
                   ": is unknown; there are tenon.embedded_code and tenon.limit.NAME");
    }
  }
  return out;
}

/// The backend's own options in the types that it declares.
///
/// errors: NotFound for a key that the backend does not declare, with those that it does;
///         InvalidType for a text that is no value of its type; and as `OptionDeclaration::check`.
[[nodiscard]] inline Result<std::vector<host::BackendOption>> backend_options(
    const host::LoadedBackend& backend, const ProviderOptions& options) {
  std::vector<host::BackendOption> out;
  if (options.empty()) return out;
  const auto declared = backend.options();
  for (const auto& [key, text] : options) {
    TENON_TRY(const host::OptionDeclaration* const declaration, host::find_option(declared, key));
    const std::uint32_t type = declaration->initial.type();
    auto value = parse_option(text, type);
    if (!value) {
      return error(Error::InvalidType, "option ", host::quoted(key), ": expected a value of type ",
                   option_type_name(type), ", found ", host::quoted(text));
    }
    TENON_RETURN_IF_ERROR(declaration->check({type, TENON_OPTION_AT_LOAD}));
    out.push_back({std::string(backend.id()), key, *std::move(value)});
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::ort
