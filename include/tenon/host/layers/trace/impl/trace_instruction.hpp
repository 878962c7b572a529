// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Records that instruction `at` ran from `start_ns` until now, and whose code it was.
inline void trace_instruction(Trace& trace, const MethodErrors& method, const Instruction& at,
                              std::size_t chain, std::size_t index, std::uint64_t start_ns) {
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
  if (const BackendUse* const owner = at.kernel->owner) {
    add({{"operator", name}, {"backend", owner->id}, instruction});
  } else {
    add({{"operator", name}, instruction});
  }
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
