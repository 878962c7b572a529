// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>

#include "tenon/aoti/shims/proxy_shims.hpp"
#include "tenon/backend/context.hpp"
#include "tenon/core/result.hpp"

namespace tenon::cpu_aoti {

/// Prepares the calls that a description lists (AOTInductor's `extern_kernel_nodes.json`): each
/// operator is found and its arguments are checked, so that a call parses nothing. Operators that
/// have no code here are looked for among the kernels of other plugins, if `context` is not
/// null.
///
/// errors: InvalidProgram for what is no description; OperatorMissing that names all operators
/// without code, here and in other plugins, with what is known about each; NotSupported for an
/// argument that the operator's code here does not take; OutOfResources for a description that is
/// too large; the errors of a plugin that refuses a call of its operator.
[[nodiscard]] Result<std::unique_ptr<const aoti::ProxyExecutor>> make_proxy(
    std::string_view description, const InitContext* context = nullptr);

}  // namespace tenon::cpu_aoti
