// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

/// Plugins with code for operators that were left in a program.
namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Registry;

/// Ids of the backends that a method asks for kernels, in this order: backends of `named` whose
/// record offers some; then backends of `registry`, the highest priority first, equal ones by id. A
/// `registry` that is no ProviderRegistry adds none, as it has no list. A backend that a search
/// found, and the application did not name, counts only without the tags of
/// ProviderRegistry::default_exclude_tags. `registry` may be null. Loads nothing.
[[nodiscard]] std::vector<std::string> find_kernel_backends(std::span<const BackendRef> named,
                                                            const Registry* registry);

/// The operators that a backend has kernels for, in its order; none when it has no extension
/// "tenon.kernels/1".
///
/// threads: any. errors: the backend's own; MemoryAllocationFailed.
[[nodiscard]] Result<std::vector<std::string>> list_operators(const LoadedBackend& backend);

/// The kernels of a backend that can be used on this machine.
///
/// errors: NotFound when it is not available, NotSupported when it has no complete
/// "tenon.kernels/1".
[[nodiscard]] Result<tenon_kernels_v1> usable_kernels(const LoadedBackend& backend);

/// A kernel of `backend`, whose `usable_kernels` are `table`, for one call of `op`. The plugin
/// keeps `args`, an address that must not change; the caller destroys the kernel.
///
/// errors: as the plugin, OperatorMissing among them; Internal without a kernel.
[[nodiscard]] Result<tenon_kernel*> create_kernel(const LoadedBackend& backend,
                                                  const tenon_kernels_v1& table,
                                                  const std::string& op,
                                                  std::span<tenon_value* const> args);

}}}  // namespace tenon::TENON_RELEASE::host
