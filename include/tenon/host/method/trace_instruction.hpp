// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tenon/core/api.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/method/errors.hpp"
#include "tenon/host/method/instructions.hpp"
#include "tenon/host/method/plugin_kernels.hpp"
#include "tenon/host/method/trace.hpp"

namespace tenon::host::detail {

/// Records that instruction `at` ran from `start_ns` until now, and whose code it was.
TENON_COLD inline void trace_instruction(Trace& trace, const MethodErrors& method,
                                         const Instruction& at, std::size_t chain,
                                         std::size_t index, std::uint64_t start_ns) {
  using Kind = schema::InstructionArguments;
  const std::uint64_t end_ns = trace.now_ns();
  const std::string place = concat(chain, ":", index);
  const Trace::Arg instruction{"instruction", place};
  if (at.kind == Kind::DelegateCall) {
    return trace.add("DELEGATE_CALL", "delegate", start_ns, end_ns,
                     {{"backend", at.delegate->use->backend->id()}, instruction});
  }
  const auto add = [&](std::initializer_list<Trace::Arg> args) {
    trace.add(schema::EnumNameInstructionArguments(at.kind), "instruction", start_ns, end_ns, args);
  };
  if (at.kind != Kind::KernelCall) return add({instruction});
  const std::string name = method.operator_at(chain, index);
  if (const PluginKernel* from_plugin = PluginKernel::of(*at.kernel)) {
    add({{"operator", name}, {"backend", from_plugin->use().id}, instruction});
  } else {
    add({{"operator", name}, instruction});
  }
}

}  // namespace tenon::host::detail
