// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The plan of a loaded method, or of its variant.
[[nodiscard]] inline Result<const schema::ExecutionPlan*> loaded_plan(const Method& method) {
  const Program& program = method.program();
  TENON_TRY(const Variants variants, Variants::of(program));
  for (const ProgramVariant& variant : variants.of_method(method.name())) {
    if (variant.name == method.variant()) {
      return program.flatbuffer().execution_plan()->Get(variant.plan);
    }
  }
  return program.plan(method.name());
}

/// For each input of `method`, whether the program itself writes to it: a kernel's last argument is
/// its result, which is an output or what it changes in place. Delegates write to no input (rule
/// TN-EXE-2).
[[nodiscard]] inline Result<std::vector<bool>> find_written_inputs(const Method& method) {
  TENON_TRY(const auto* plan, loaded_plan(method));
  const auto& inputs = *plan->inputs();
  std::vector<bool> out(inputs.size());
  for (const auto* chain : *plan->chains()) {
    if (!chain->instructions()) continue;
    for (const auto* instruction : *chain->instructions()) {
      const auto* const kernel = instruction->instr_args_as_KernelCall();
      if (!kernel || !kernel->args() || kernel->args()->size() == 0) continue;
      const std::int32_t last = kernel->args()->Get(kernel->args()->size() - 1);
      for (flatbuffers::uoffset_t i = 0; i < inputs.size(); ++i) {
        if (inputs.Get(i) == last) out[i] = true;
      }
    }
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
