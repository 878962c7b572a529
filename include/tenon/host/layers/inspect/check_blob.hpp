// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Registry;
class LoadedBackend;
class Program;

/// A backend's verdict about a blob without its device.
struct BlobCheck {
  std::uint32_t verdict = TENON_BLOB_OPTIMAL;  ///< TENON_BLOB_..., never another number.
  std::string reason;  ///< The backend's, when it is not optimal, in one line that can be printed.
  std::vector<std::string> missing_keys;  ///< Missing named data that it asked for.
};

/// "optimal", "usable", "incompatible".
[[nodiscard]] constexpr std::string_view blob_verdict_name(std::uint32_t verdict) noexcept {
  return verdict == TENON_BLOB_OPTIMAL  ? "optimal"
         : verdict == TENON_BLOB_USABLE ? "usable"
                                        : "incompatible";
}

/// Asks `backend` whether it could run a delegate here: extension "tenon.check_blob/1". Nothing
/// when the backend has no such extension. `init` is not called, and the device is not needed.
///
/// `delegate` is one of the delegates of `program`'s method `method_name`, `data` may be null, and
/// `options` are what the load gets. Backends of `registry` are asked for kernels of operators that
/// the delegate calls (abi/draft/kernel_lookup.h); where it is null no backend has any.
///
/// A verdict that this host does not know counts as usable: `init` decides.
///
/// threads: any. errors: the backend's own when it fails to judge; MemoryAllocationFailed.
[[nodiscard]] Result<std::optional<BlobCheck>> check_blob(
    const LoadedBackend& backend, const Program& program, const char* method_name,
    const schema::BackendDelegate& delegate, const tenon_named_data_map* data,
    const Registry* registry = nullptr, std::span<const tenon_option> options = {});

}}}  // namespace tenon::TENON_RELEASE::host
