// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../examples/programs/common/tool_limits.hpp"
#include "../../examples/programs/tenon-run/values.hpp"
#include "fuzz/touch_backends.hpp"
#include "tenon/host.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test {

/// Loads and runs every method of a program as an application would, with backends and kernels that
/// use all they are given. What a wrong program gets is an error; anything else a sanitizer sees.
class MethodWalk {
 public:
  using DataFiles = std::vector<std::shared_ptr<const host::DataFile>>;

  /// Memory plans and inputs above this many bytes are left alone, so that many programs can be
  /// walked in little time.
  static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 22;
  /// Calls of kernels and backends in one `execute`, after which they fail: a program may loop.
  static constexpr std::uint64_t max_calls = 4096;

  /// Returns how many methods ran to their end. touch_backends.hpp has the backends when `registry`
  /// is null.
  static std::size_t program(const std::shared_ptr<const host::Program>& program,
                             const DataFiles& data_files = {},
                             const host::BackendRegistry* registry = nullptr) {
    std::size_t ran = 0;
    for (std::size_t i = 0; i < program->num_methods(); ++i) {
      const std::string_view name = program->method_name(i);
      if (MethodWalk(registry ? *registry : touch_registry()).run(program, name, data_files)) ++ran;
    }
    return ran;
  }

 private:
  explicit MethodWalk(const host::BackendRegistry& registry) : registry_(registry) {}

  static const host::BackendRegistry& touch_registry() {
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
    constexpr std::uint32_t too_many = 7;
    return num_args < too_many && count_call() ? TENON_STATUS_OK : TENON_STATUS_INTERNAL;
  }

  static bool is_small(const schema::ExecutionPlan& plan) {
    std::uint64_t total = 0;
    for (const std::int64_t size : *plan.non_const_buffer_sizes()) {
      if (size < 0 || static_cast<std::uint64_t>(size) > max_bytes) return false;
      total += static_cast<std::uint64_t>(size);
    }
    return total <= max_bytes;
  }

  /// Whether a method may run an instruction twice. A method that loops without a call, as calls
  /// end after `max_calls`, runs HostLimits::instructions of them.
  enum class Loop { none, calls, spins };
  static Loop loop_in(const schema::ExecutionPlan& plan) {
    using schema::InstructionArguments;
    Loop out = Loop::none;
    for (const auto* chain : *plan.chains()) {
      const auto& instructions = *chain->instructions();
      for (flatbuffers::uoffset_t i = 0; i < instructions.size(); ++i) {
        const auto* const jump = instructions[i]->instr_args_as_JumpFalseCall();
        if (!jump || jump->destination_instruction() > static_cast<std::int64_t>(i)) continue;
        out = Loop::calls;
        bool has_call = false;
        for (auto at = static_cast<flatbuffers::uoffset_t>(jump->destination_instruction()); at < i;
             ++at) {
          const auto kind = instructions[at]->instr_args_type();
          has_call = has_call || kind == InstructionArguments::KernelCall ||
                     kind == InstructionArguments::DelegateCall;
        }
        if (!has_call) return Loop::spins;
      }
    }
    return out;
  }

  bool run(const std::shared_ptr<const host::Program>& program, std::string_view name,
           const DataFiles& data_files) {
    const schema::ExecutionPlan& plan = **program->plan(name);
    if (!is_small(plan)) return false;
    host::KernelTable kernels;
    if (plan.operators()) {
      for (const auto* op : *plan.operators()) {
        // An operator may be listed twice; one kernel serves both. Some are left to plugins.
        const std::string full = host::operator_name(*op);
        if (!full.starts_with("touch::")) {
          (void)kernels.add(full, host::Kernel{&touch_kernel, nullptr});
        }
      }
    }
    host::MethodOptions options;
    options.registry = &registry_;
    options.kernels = &kernels;
    options.layers.add(host::DataFiles(data_files));
    host::Trace trace;
    const Loop loop = loop_in(plan);
    if (loop == Loop::none && name.size() % 2 == 0) options.layers.add(trace);
    auto loaded = host::Method::load(program, name, std::move(options));
    if (!loaded.ok()) return false;
    host::Method& method = **loaded;
    if (method.num_inputs() != 0) (void)method.execute();
    for (std::size_t i = 0; i < method.num_inputs(); ++i) {
      (void)method.set_input(i, std::string_view("wrong"));
    }
    if (!set_inputs(method, 0)) return false;
    set_outputs(method);
    if (loop == Loop::spins || !execute(method)) return false;
    if (loop == Loop::calls) return true;
    // Once more: inputs and outputs may be other values now, moved or freed by the program.
    (void)set_inputs(method, 1);
    set_outputs(method);
    if (!execute(method)) return false;
    const auto session = method.create_session();
    if (!session.ok()) return true;
    method.use_session(session->get());
    const bool ran = execute(method);
    method.use_session(nullptr);
    return ran;
  }

  /// Runs the method, and reads and prints what it gives back.
  static bool execute(host::Method& method) {
    begin_calls(max_calls);
    if (!method.execute().ok()) return false;
    std::uint64_t printed = tool::ToolLimits{}.printed_values;
    for (std::size_t i = 0; i < method.num_outputs(); ++i) {
      auto* output = const_cast<tenon_value*>(&method.output(i));
      touch_args(&output, 1);
      if (run::type_text(*output).empty()) std::abort();
      (void)run::value_text(*output, printed);
      if (output->kind != TENON_VALUE_TENSOR) continue;
      const std::uint64_t nbytes = output->as.tensor->nbytes;
      if (nbytes > max_bytes) continue;
      std::vector<std::byte> copy(static_cast<std::size_t>(nbytes));
      (void)method.read_output(i, copy);
    }
    return true;
  }

  /// Sets all inputs, sizes that may change to their bounds less `less`.
  bool set_inputs(host::Method& method, std::int64_t less) {
    for (std::size_t i = 0; i < method.num_inputs(); ++i) {
      if (!set_input(method, i, less)) return false;
    }
    return true;
  }

  std::span<std::byte> buffer(std::size_t nbytes) {
    buffers_.push_back(std::make_unique<std::uint64_t[]>(nbytes / 8 + 2));
    return {reinterpret_cast<std::byte*>(buffers_.back().get()), nbytes};
  }

  bool set_input(host::Method& method, std::size_t index, std::int64_t less) {
    const tenon_value& value = method.input(index);
    switch (value.kind) {
      case TENON_VALUE_TENSOR: {
        const TensorView tensor(*value.as.tensor);
        std::vector<std::int64_t> sizes(tensor.bounds().begin(), tensor.bounds().end());
        std::uint64_t nbytes = size_of(tensor.scalar_type());
        const bool is_dynamic = value.as.tensor->shape_dynamism != 0;
        for (std::int64_t& size : sizes) {
          if (is_dynamic && size > less) size -= less;
          nbytes *= static_cast<std::uint64_t>(size);
          if (nbytes > max_bytes) return false;
        }
        return method
            .set_input(index,
                       {tensor.scalar_type(), sizes, buffer(static_cast<std::size_t>(nbytes))})
            .ok();
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

  /// Gives outputs memory, where the program leaves that to the caller.
  void set_outputs(host::Method& method) {
    for (std::size_t i = 0; i < method.num_outputs(); ++i) {
      const tenon_value& value = method.output(i);
      const std::uint64_t nbytes =
          value.kind == TENON_VALUE_TENSOR ? value.as.tensor->capacity : 16;
      if (nbytes <= max_bytes) {
        (void)method.set_output(i, buffer(static_cast<std::size_t>(nbytes)));
      }
    }
  }

  const host::BackendRegistry& registry_;
  std::vector<std::unique_ptr<std::uint64_t[]>> buffers_;  ///< Longer alive than any use of them.
};

}  // namespace tenon::test
