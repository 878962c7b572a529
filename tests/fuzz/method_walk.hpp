// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/touch_backends.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// Loads and runs every method of a program as an application would, with backends and kernels that
/// use all they are given. What a wrong program gets is an error; anything else a sanitizer sees.
class MethodWalk {
 public:
  /// Memory plans and inputs above this many bytes are left alone, so that many programs can be
  /// walked in little time.
  static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 22;

  /// Returns how many methods ran to their end.
  static std::size_t program(const std::shared_ptr<const host::Program>& program) {
    std::size_t ran = 0;
    for (const std::string_view name : program->method_names()) {
      if (run(program, name)) ++ran;
    }
    return ran;
  }

 private:
  static const host::BackendRegistry& registry() {
    static host::BackendRegistry all;
    static const bool added =
        all.register_backend(tenon_static_plugin_TouchNoop).ok() &&
        all.register_backend(tenon_static_plugin_BackendWithCompilerDemo).ok();
    if (!added) std::abort();
    return all;
  }

  static tenon_status touch_kernel(void*, const tenon_execution_context*, tenon_value* const* args,
                                   std::uint32_t num_args) {
    static volatile std::uint64_t sum = 0;
    sum = sum + touch_args(args, num_args);
    return TENON_STATUS_OK;
  }

  static bool is_small(const schema::ExecutionPlan& plan) {
    std::uint64_t total = 0;
    for (const std::int64_t size : *plan.non_const_buffer_sizes()) {
      if (size < 0 || static_cast<std::uint64_t>(size) > max_bytes) return false;
      total += static_cast<std::uint64_t>(size);
    }
    return total <= max_bytes;
  }

  static bool run(const std::shared_ptr<const host::Program>& program, std::string_view name) {
    const schema::ExecutionPlan& plan = **program->plan(name);
    if (!is_small(plan)) return false;
    host::KernelTable kernels;
    if (plan.operators()) {
      for (const auto* op : *plan.operators()) {
        // The same operator may be listed twice; one kernel serves both.
        (void)kernels.add(host::operator_name(*op), host::Kernel{&touch_kernel, nullptr});
      }
    }
    host::MethodOptions options;
    options.registry = &registry();
    options.kernels = &kernels;
    auto method = host::Method::load(program, name, std::move(options));
    if (!method.ok()) return false;
    std::vector<std::unique_ptr<std::uint64_t[]>> buffers;
    for (std::size_t i = 0; i < (*method)->num_inputs(); ++i) {
      if (!set_input(**method, i, buffers)) return false;
    }
    for (int round = 0; round < 2; ++round) {
      if (!(*method)->execute().ok()) return false;
      for (std::size_t i = 0; i < (*method)->num_outputs(); ++i) {
        auto* output = const_cast<tenon_value*>(&(*method)->output(i));
        touch_args(&output, 1);
      }
    }
    return true;
  }

  static bool set_input(host::Method& method, std::size_t index,
                        std::vector<std::unique_ptr<std::uint64_t[]>>& buffers) {
    const tenon_value& value = method.input(index);
    switch (value.kind) {
      case TENON_VALUE_TENSOR: {
        const TensorView tensor(*value.as.tensor);
        if (tensor.nbytes() > max_bytes) return false;
        buffers.push_back(std::make_unique<std::uint64_t[]>(tensor.nbytes() / 8 + 2));
        const std::vector<std::int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
        const std::span bytes(reinterpret_cast<const std::byte*>(buffers.back().get()),
                              tensor.nbytes());
        return method.set_input(index, {tensor.scalar_type(), sizes, bytes}).ok();
      }
      case TENON_VALUE_INT:
        return method.set_input(index, value.as.integer).ok();
      case TENON_VALUE_DOUBLE:
        return method.set_input(index, value.as.real).ok();
      case TENON_VALUE_BOOL:
        return method.set_input(index, value.as.boolean != 0).ok();
      case TENON_VALUE_STRING:
        return method
            .set_input(index, std::string_view(static_cast<const char*>(value.as.span.data),
                                               static_cast<std::size_t>(value.as.span.size)))
            .ok();
      default:
        return value.kind == TENON_VALUE_NONE;
    }
  }
};

}  // namespace tenon::test
