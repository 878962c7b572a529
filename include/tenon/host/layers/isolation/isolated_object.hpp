// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/core/sha256.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/layers/isolation/worker_settings.hpp"

/// Isolated plugins: copies of the template `tenon-isolated.so`, whose exported object is filled
/// in.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

inline constexpr std::size_t max_isolated_backends = 16;
inline constexpr std::size_t isolated_path_size = 4096;

/// Marks a plugin's object as the object of an isolated plugin.
inline constexpr char isolated_mark[20] = "tenon-isolated/1";

/// Which delegates share a worker.
enum class Sharing : std::uint32_t {
  backend = 0,   ///< All of one backend.
  delegate = 1,  ///< None: each has its own.
};

/// How a worker has the tensors of a method's memory plan.
enum class WorkerMemory : std::uint32_t {
  copied = 0,  ///< A copy in each call.
  shared = 1,  ///< Where they are.
};

/// `WorkerSettings` in an object: the initial values of the options `isolated.…`.
struct IsolatedSettings {
  std::uint32_t sharing;      ///< A `Sharing`.
  std::uint32_t restart;      ///< New workers for a delegate whose worker died.
  std::uint64_t deadline_ms;  ///< Longest time of one call; 0 for no limit.
  std::uint32_t restriction;  ///< Of the worker: a `WorkerProfile`.
  std::uint32_t memory;       ///< Of planned tensors: a `WorkerMemory`.
};

/// The object that an isolated plugin exports: of the template, but for the head, the records, the
/// number in the body, and what is between the mark and the body.
struct IsolatedObject {
  tenon_plugin_head head;
  tenon_backend_record records[max_isolated_backends];
  char mark[sizeof isolated_mark];
  std::uint32_t reserved;  ///< 0.
  /// Absolute, or a name: of a file next to the isolated plugin. Empty in the template.
  char wrapped_path[isolated_path_size];
  char worker_path[isolated_path_size];  ///< Where the worker was; empty when it was not found.
  /// Of the wrapped plugin's file; with libraries next to it, of the SHA-256 of all of their files
  /// in the order in which they are loaded.
  std::uint8_t sha256[32];
  char permissions[isolated_path_size];  ///< "read=/opt/acme", ...: a line each.
  IsolatedSettings settings;
  tenon_plugin_body body;
  const tenon_backend_api* backends[max_isolated_backends];
};

/// Fills in an object of the template that has the head and the records of the wrapped plugin
/// already. `wrapped` is the text of `wrapped_path`.
///
/// threads: any. errors: InvalidArgument for a path that is too long or has a line feed, for an
/// unknown permission, and for a permission that the profile does not have.
[[nodiscard]] Status fill_isolated_object(IsolatedObject& object, std::string_view wrapped,
                                          const Sha256& sha256, const std::filesystem::path& worker,
                                          const WorkerSettings& settings);

}}}  // namespace tenon::TENON_RELEASE::host
