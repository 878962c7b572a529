// SPDX-License-Identifier: MIT
#include "kit/boundary/argument_roles.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// Walks the instructions of a plan and records which values have been written.
class RoleFinder {
 public:
  explicit RoleFinder(const schema::ExecutionPlan& plan) : plan_(plan) {
    for (const std::int32_t index : *plan.inputs()) seen_.insert(index);
  }

  [[nodiscard]] std::vector<std::vector<ArgumentRole>> find(std::string_view backend_id) {
    std::vector<std::vector<ArgumentRole>> calls;
    for (const auto* chain : *plan_.chains()) {
      for (const auto* instruction : *chain->instructions()) {
        // The next instruction is then known only at run time.
        if (instruction->instr_args_as_JumpFalseCall()) return {};
        if (const auto* kernel = instruction->instr_args_as_KernelCall()) see(*kernel->args());
        if (const auto* move = instruction->instr_args_as_MoveCall()) seen_.insert(move->move_to());
        const auto* call = instruction->instr_args_as_DelegateCall();
        if (!call) continue;
        const auto delegate = static_cast<flatbuffers::uoffset_t>(call->delegate_index());
        if (plan_.delegates()->Get(delegate)->id()->string_view() == backend_id) {
          std::vector<ArgumentRole>& roles = calls.emplace_back();
          for (const std::int32_t index : *call->args()) roles.push_back(role_of_argument(index));
        }
        see(*call->args());
      }
    }
    return calls;
  }

 private:
  using Kind = schema::KernelTypes;

  const schema::EValue& value(std::int32_t index) const {
    return *plan_.values()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }

  template <class Use>
  void for_items(std::int32_t index, const Use& use) const {
    if (const auto* list = value(index).val_as_TensorList()) {
      for (const std::int32_t item : *list->items()) use(item);
    }
    if (const auto* list = value(index).val_as_OptionalTensorList()) {
      for (const std::int32_t item : *list->items()) use(item);
    }
  }

  ArgumentRole role_of_argument(std::int32_t index) const {
    ArgumentRole out{role_of(index), {}};
    for_items(index, [&](std::int32_t item) { out.items.push_back(role_of(item)); });
    return out;
  }

  Role role_of(std::int32_t index) const {
    if (index < 0 || seen_.contains(index)) return Role::input;
    const auto* tensor = value(index).val_as_Tensor();
    if (!tensor) return Role::either;
    const auto* extra = tensor->extra_tensor_info();
    const bool external = extra && extra->location() == schema::TensorDataLocation::EXTERNAL;
    if (external || tensor->data_buffer_idx() != 0) {
      return tensor->allocation_info() ? Role::either : Role::input;
    }
    const auto& outputs = *plan_.outputs();
    return std::find(outputs.begin(), outputs.end(), index) != outputs.end() ? Role::output
                                                                             : Role::either;
  }

  void see(const flatbuffers::Vector<std::int32_t>& args) {
    for (const std::int32_t index : args) {
      seen_.insert(index);
      for_items(index, [&](std::int32_t item) { seen_.insert(item); });
    }
  }

  const schema::ExecutionPlan& plan_;
  std::set<std::int32_t> seen_;
};

}  // namespace

std::vector<std::vector<ArgumentRole>> find_roles(const schema::ExecutionPlan& plan,
                                                  std::string_view backend_id) {
  return RoleFinder(plan).find(backend_id);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
