// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/host/method/errors.hpp"
#include "tenon/host/method/instructions.hpp"
#include "tenon/host/method/plugin_kernels.hpp"
#include "tenon/host/method/trace.hpp"

namespace tenon::host::detail {

/// Records that instruction `at` ran from `start_ns` until now, and whose code it was.
inline void trace_instruction(Trace& trace, const MethodErrors& method, const Instruction& at,
                              std::size_t chain, std::size_t index, std::uint64_t start_ns) {
  using Kind = schema::InstructionArguments;
  const std::uint64_t end_ns = trace.now_ns();
  Trace::Args args;
  if (at.kind == Kind::DelegateCall) {
    args.emplace_back("backend", at.delegate->use->backend->id());
  } else if (at.kind == Kind::KernelCall) {
    args.emplace_back("operator", method.operator_at(chain, index));
    if (const PluginKernel* from_plugin = PluginKernel::of(*at.kernel)) {
      args.emplace_back("backend", from_plugin->use().id);
    }
  }
  args.emplace_back("instruction", concat(chain, ":", index));
  const bool is_delegate = at.kind == Kind::DelegateCall;
  trace.add(is_delegate ? "DELEGATE_CALL" : schema::EnumNameInstructionArguments(at.kind),
            is_delegate ? "delegate" : "instruction", start_ns, end_ns, std::move(args));
}

}  // namespace tenon::host::detail
