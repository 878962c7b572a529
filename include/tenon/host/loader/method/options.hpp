// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/options.hpp"
#include "tenon/host/layers/async/executor.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class KernelTable;
class PreparedStore;
class Registry;
class Trace;

/// An option for one load of one backend (ExecuTorch: LoadBackendOptionsMap).
struct BackendOption {
  std::string backend_id;
  std::string key;
  OptionValue value;
};

namespace detail {

/// Those of `options` for backend `id`, as the boundary has them. They refer to `options`.
[[nodiscard]] inline std::vector<tenon_option> runtime_specs_of(
    std::span<const BackendOption> options, std::string_view id) {
  std::vector<tenon_option> out;
  for (const BackendOption& option : options) {
    if (option.backend_id != id) continue;
    out.push_back(write_option(option.key.c_str(), option.value));
  }
  return out;
}

}  // namespace detail

/// Options of `Method::load`. Everything referred to must outlive the method.
struct MethodOptions {
  const Registry* registry = nullptr;  ///< Finds the backends of delegates.
  /// Used for their ids instead of the registry's.
  std::vector<BackendRef> backends{};
  /// Code for operators left in the program; plugins are asked for what it lacks.
  const KernelTable* kernels = nullptr;
  std::vector<BackendOption> backend_options{};
  /// Whether native code that the program carries may run. The default is ExecuTorch's, where a
  /// program is trusted like the application.
  EmbeddedCodePolicy embedded_code = EmbeddedCodePolicy::allow();
  /// Limits of the method's memory and of each run.
  HostLimits limits{};
  /// Take part in the load and in runs, before those of the registry (HostInfo::layers).
  Layers layers{};
  /// Whether `Method::cancel` can end a run. Then, and with `limits.run_milliseconds`, which then
  /// also cancels a delegate that is running, each instruction looks whether it may begin.
  bool cancellable = false;
  /// Where plugins keep what they prepare from blobs, and find it in later loads
  /// ("tenon.prepare/1"); null: nothing is kept. `PreparedCache` of <tenon/host/prepared.hpp>.
  const PreparedStore* prepared = nullptr;
  /// Hints for the backends, of which each follows those that its device knows. Later ones:
  /// `Method::set_scheduling`.
  Scheduling scheduling{};
  Executor executor{};  ///< Runs what `execute_async` leaves for later; without it there is none.
  Trace* trace = nullptr;  ///< Receives events of loading and running; null: nothing is recorded.

  /// Receives the number of the delegate that could not be loaded when that is why `load` fails: a
  /// backend's error comes back unchanged, so its code does not show where it comes from.
  std::optional<std::size_t>* failed_delegate = nullptr;

  /// Receives, while `load` runs, the number of delegates that are loaded: for applications that
  /// show how far a long load is. Is not used after `load`.
  std::atomic<std::size_t>* num_loaded_delegates = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::host
