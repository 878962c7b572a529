// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/options.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class KernelTable;
class Registry;

/// An option for one load of one backend (ExecuTorch: LoadBackendOptionsMap).
struct BackendOption {
  std::string backend_id;
  std::string key;
  OptionValue value;
};

namespace detail {

/// The options for backend `id`, as the boundary has them. They refer to `options`.
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
  /// Limits of the method's memory and of each run.
  HostLimits limits{};
  /// Take part in the load and in runs, before the layers of the registry (HostInfo::layers).
  Layers layers{};
};

}}}  // namespace tenon::TENON_RELEASE::host
