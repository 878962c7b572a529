// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "tenon/host/backend_ref.hpp"
#include "tenon/host/data_file.hpp"
#include "tenon/host/embedded_code.hpp"
#include "tenon/host/kernels.hpp"
#include "tenon/host/loaded_delegate.hpp"
#include "tenon/host/registry.hpp"
#include "tenon/host/trace.hpp"

namespace tenon::host {

/// What a method is loaded with. Everything referred to must outlive the method.
struct MethodOptions {
  const BackendRegistry* registry = nullptr;  ///< Where delegates find their backends.
  /// Used for their ids in place of the registry's, and asked for kernels before it.
  std::vector<BackendRef> backends{};
  /// Code for operators left in the program; what it lacks is asked for in plugins.
  const KernelTable* kernels = nullptr;
  std::vector<std::shared_ptr<const DataFile>> data_files{};  ///< `.ptd` files, in their order.
  std::vector<BackendOption> backend_options{};
  /// Whether native code that the program carries may run. The default is ExecuTorch's, where a
  /// program is trusted like the application.
  EmbeddedCodePolicy embedded_code = EmbeddedCodePolicy::allow();
  Trace* trace = nullptr;  ///< Receives events of loading and running; null: nothing is recorded.

  /// Receives the number of the delegate that could not be loaded, when that is why `load` fails: a
  /// backend's error comes back unchanged, so its number does not tell who failed.
  std::optional<std::size_t>* failed_delegate = nullptr;
};

}  // namespace tenon::host
