// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/plugin/host_info.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The table by which delegates ask for kernels of other plugins (abi/draft/kernel_lookup.h).
///
/// threads: any. errors: never.
[[nodiscard]] HostExtension kernel_lookup_extension() noexcept;

}}}  // namespace tenon::TENON_RELEASE::host
