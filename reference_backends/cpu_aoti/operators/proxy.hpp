// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "tenon/aoti/shims/proxy_shims.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// Prepares the calls that a description lists (AOTInductor's `extern_kernel_nodes.json`): each
/// operator is found and its arguments are checked, so that a call parses nothing.
///
/// errors: InvalidProgram for what is no description; OperatorMissing that names all operators
/// without code here; NotSupported for an argument that the operator's code does not take;
/// OutOfResources for a description that is too large.
[[nodiscard]] Result<std::unique_ptr<const aoti::ProxyExecutor>> make_proxy(
    std::string_view description);

}  // namespace tenon::cpu_aoti
