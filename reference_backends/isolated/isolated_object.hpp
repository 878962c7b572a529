// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/abi/plugin.h"

namespace tenon::isolated {

inline constexpr std::size_t max_isolated_backends = 16;
inline constexpr std::size_t isolated_path_size = 4096;

/// Marks a plugin's object as that of an isolated plugin.
inline constexpr char isolated_mark[20] = "tenon-isolated/1";

/// Which delegates share a worker.
enum class Sharing : std::uint32_t {
  backend = 0,   ///< All of one backend.
  delegate = 1,  ///< None: each has its own.
};

/// Choices of `tenon-isolate`: the initial values of the options `isolated.…`.
struct IsolatedSettings {
  std::uint32_t sharing;      ///< A `Sharing`.
  std::uint32_t restart;      ///< New workers for a delegate whose worker died.
  std::uint64_t deadline_ms;  ///< Longest time of one call; 0 for no limit.
  std::uint32_t restriction;  ///< Of the worker: an index of `restriction_names`.
  std::uint32_t reserved;     ///< 0.
};

/// The object that an isolated plugin exports. `tenon-isolate` fills in the head, the records, the
/// number in the body, and what is between the mark and the body, in a copy of the template's file.
struct IsolatedObject {
  tenon_plugin_head head;
  tenon_backend_record records[max_isolated_backends];
  char mark[sizeof isolated_mark];
  std::uint32_t reserved;  ///< 0.
  /// Absolute, or a name: of a file next to the isolated plugin. Empty in the template.
  char wrapped_path[isolated_path_size];
  char worker_path[isolated_path_size];  ///< Where the worker was; empty when it was not found.
  std::uint8_t sha256[32];               ///< Of the wrapped plugin's file.
  char permissions[isolated_path_size];  ///< "read=/opt/acme", ...: a line each.
  IsolatedSettings settings;
  tenon_plugin_body body;
  const tenon_backend_api* backends[max_isolated_backends];
};

}  // namespace tenon::isolated
