// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Runs the operators of one model that have no function in PyTorch's C shim. The model calls them
/// by number; a description that belongs to the model (AOTInductor's `extern_kernel_nodes.json`)
/// has the operator and the arguments of each number. Shared by all instances of the model.
///
/// Threads: any.
class ProxyExecutor {
 public:
  ProxyExecutor() = default;
  ProxyExecutor(const ProxyExecutor&) = delete;
  ProxyExecutor& operator=(const ProxyExecutor&) = delete;
  virtual ~ProxyExecutor() = default;

  /// Runs call `index`. `integers` and `tensors` are its arguments in the order of the description,
  /// lists one element after the other. Results are the last of `tensors`: handles of the model's,
  /// which get other tensors.
  ///
  /// errors: InvalidProgram when the model and its description do not fit together; the errors of
  /// the operator.
  [[nodiscard]] virtual Status call(std::size_t index, std::span<const std::int64_t> integers,
                                    std::span<ModelTensor* const> tensors) const = 0;
};

/// Shims for models that call operators by number. torch/csrc/inductor/aoti_torch/c/shim.h defines
/// their names, parameters and meaning.
namespace shims {

/// Makes the handle of a result. Until a call replaces it, it has no element.
inline ShimError aoti_torch_new_uninitialized_tensor(ModelTensor** out) noexcept {
  return shim_call("aoti_torch_new_uninitialized_tensor", [&]() -> Status {
    constexpr std::int64_t none[] = {0};
    TensorPool& pool = current_pool();
    const DeviceMemoryApi& memory = pool.memory();
    ModelTensor* made = pool.empty_strided(none, nullptr, ScalarType::Byte, memory.device_type,
                                           memory.device_index);
    if (!made) return error(Error::MemoryAllocationFailed, "no tensor was made");
    *out = made;
    return ok();
  });
}

inline ShimError aoti_torch_proxy_executor_call_function(
    const ProxyExecutor* executor, std::int32_t index, std::int32_t num_integers,
    std::int64_t* integers, std::int32_t num_tensors, ModelTensor** tensors) noexcept {
  // The text of an operator's failure begins with the operator.
  return shim_call("operator call", [&]() -> Status {
    if (!executor || index < 0 || num_integers < 0 || num_tensors < 0) {
      return error(Error::InvalidProgram, "number ", index, " with ", num_integers,
                   " integers and ", num_tensors, " tensors, ",
                   executor ? "none may be negative" : "the program has no description of calls");
    }
    return executor->call(static_cast<std::size_t>(index),
                          {integers, static_cast<std::size_t>(num_integers)},
                          {tensors, static_cast<std::size_t>(num_tensors)});
  });
}

/// All shims of this header.
inline std::span<const Shim> proxy() {
  static const Shim list[] = {TENON_AOTI_ENTRY(aoti_torch_new_uninitialized_tensor, )
                                  TENON_AOTI_ENTRY(aoti_torch_proxy_executor_call_function, )};
  return list;
}

}  // namespace shims
}}}  // namespace tenon::TENON_RELEASE::aoti
