// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/status.hpp"
#include "tenon/host/layers/discovery/plugin_source.hpp"

/// Reports of a registry about its backends. Nothing is loaded for it.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The state of one backend of a source.
enum class BackendState : std::uint8_t {
  known,        ///< Would be loaded at its first look-up.
  loaded,       ///< In use, or an object.
  shadowed,     ///< Another source serves this id.
  duplicate,    ///< Another source has this id with the same precedence; neither is used.
  disabled,     ///< By TENON_DISABLE or TENON_SELECT.
  unsupported,  ///< Needs another CPU, or another ABI than this host's.
  refused,      ///< The file is not a plugin, is not trusted, or disagrees with its manifest.
};

/// "known", "loaded", ...
[[nodiscard]] constexpr std::string_view state_name(BackendState state) noexcept {
  constexpr std::string_view names[] = {"known",    "loaded",      "shadowed", "duplicate",
                                        "disabled", "unsupported", "refused"};
  return names[static_cast<std::size_t>(state)];
}

/// One backend of one source; for a refused source the source as a whole.
struct BackendInfo {
  std::shared_ptr<const PluginSource> source;  ///< Never null.
  std::size_t index = 0;                       ///< Which of `source->backends`.
  BackendState state = BackendState::known;
  std::string reason{};         ///< For a state other than known and loaded.
  std::uint32_t num_users = 0;  ///< References that are held now.

  /// The registry's record of the backend; null for a refused source.
  [[nodiscard]] const BackendRecord* backend() const noexcept {
    return index < source->backends.size() ? &source->backends[index] : nullptr;
  }
  /// The id; empty for a refused source.
  [[nodiscard]] std::string_view id() const noexcept {
    return backend() ? std::string_view(backend()->id) : std::string_view();
  }
};

/// Why there is no backend for an id (TorchDynamo: InvalidBackend, torch/_dynamo/exc.py).
struct InvalidBackend {
  std::string id;
  std::vector<std::string> near_ids;     ///< Similar ids, the nearest first.
  std::vector<std::string> known;        ///< All ids that can be looked up, sorted.
  std::vector<BackendInfo> providers;    ///< Backends with this very id that cannot be used.
  std::vector<SearchPath> search_paths;  ///< What was searched, in order.
  std::vector<BackendInfo> refused;      ///< Sources that were refused as a whole.

  /// NotFound, or RegistrationAlreadyRegistered when two backends have the id with the same
  /// precedence. The first line of the text says what is wrong; one line for each thing that was
  /// tried follows.
  [[nodiscard]] Status status() const;
};

}}}  // namespace tenon::TENON_RELEASE::host
