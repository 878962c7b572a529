// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "tenon/abi/backend.h"
#include "tenon/host/layers/budget/impl/method_budget.hpp"
#include "tenon/host/loader/impl/method/bind_inputs.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Bytes that loading a method takes from its arena, at most, besides small planned buffers and the
/// memory that is lent to delegates: each list as ValueBuilder, InstructionBuilder and the others
/// make it, with room to align it.
class TableBytes {
 public:
  explicit TableBytes(const schema::ExecutionPlan& plan) {
    add(plan.non_const_buffer_sizes()->size() * PlannedBuffers::bytes_of_entry);
    add_values(plan);
    add(plan.inputs()->size() * sizeof(MethodInput));
    // The addresses of planned tensors, by which inputs with two names are found.
    add(plan.values()->size() * sizeof(std::uintptr_t));
    add_delegates(plan);
    add(plan.chains()->size() * sizeof(Chain));
    for (const auto* chain : *plan.chains()) {
      add(chain->instructions()->size() * sizeof(Instruction));
      for (const auto* instruction : *chain->instructions()) {
        if (const auto* call = instruction->instr_args_as_KernelCall()) add_args(*call->args());
        if (const auto* call = instruction->instr_args_as_DelegateCall()) add_args(*call->args());
      }
    }
  }

  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }

 private:
  void add(std::uint64_t nbytes) noexcept { sum_ += nbytes + alignof(std::max_align_t); }
  template <class Indices>
  void add_args(const Indices& indices) noexcept {
    add(indices.size() * sizeof(tenon_value*));
  }

  void add_values(const schema::ExecutionPlan& plan) {
    add(plan.values()->size() * sizeof(tenon_value));
    for (const auto* value : *plan.values()) {
      if (const auto* tensor = value->val_as_Tensor()) {
        add(sizeof(tenon_tensor));
        add(3 * tensor->sizes()->size() * sizeof(std::int64_t));
      } else if (const auto* ints = value->val_as_IntList()) {
        add_args(*ints->items());
      } else if (const auto* tensors = value->val_as_TensorList()) {
        add_args(*tensors->items());
      } else if (const auto* optional = value->val_as_OptionalTensorList()) {
        add_args(*optional->items());
      }
    }
  }

  void add_delegates(const schema::ExecutionPlan& plan) {
    std::set<std::string_view> backends;
    add(plan.delegates()->size() * sizeof(Delegate));
    for (const auto* delegate : *plan.delegates()) {
      sum_ += MethodBudget::room_to_align;
      if (backends.insert(delegate->id()->string_view()).second) {
        add(delegate->id()->size());
        add(sizeof(BackendUse));
      }
      if (const auto* specs = delegate->compile_specs()) {
        add(specs->size() * sizeof(tenon_compile_spec));
      }
    }
  }

  std::uint64_t sum_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
