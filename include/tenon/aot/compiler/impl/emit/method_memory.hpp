// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/emit/method_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <variant>

#include "tenon/aot/compiler/emit/memory_plan.hpp"
#include "tenon/aot/compiler/impl/emit/memory_plan.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Finds out when values of a method are needed. The method's indices have been checked.
class LifetimeAnalysis {
 public:
  explicit LifetimeAnalysis(const MethodData& method)
      : method_(&method), lifetimes_(method.values.size()), groups_(method.values.size()) {
    std::iota(groups_.begin(), groups_.end(), std::size_t{0});
  }

  [[nodiscard]] std::vector<std::optional<Lifetime>> run() && {
    join_moved();
    const auto end = static_cast<std::uint32_t>(method_->instructions.size()) + 1;
    for (const ValueIndex index : method_->inputs) use(index, 0);
    for (std::uint32_t i = 0; i < method_->instructions.size(); ++i) {
      use_all(method_->instructions[i], i + 1);
    }
    for (const ValueIndex index : method_->outputs) use(index, end);
    share_within_groups();
    keep_through_loops();
    for (std::size_t i = 0; i < method_->values.size(); ++i) {
      const auto* tensor = std::get_if<TensorValue>(&method_->values[i]);
      if (tensor != nullptr && tensor->is_mutable_buffer()) lifetimes_[i] = {0, end};
    }
    return std::move(lifetimes_);
  }

 private:
  [[nodiscard]] std::size_t group_of(std::size_t index) noexcept {
    while (groups_[index] != index) index = groups_[index] = groups_[groups_[index]];
    return index;
  }
  void join(std::size_t a, std::size_t b) noexcept { groups_[group_of(a)] = group_of(b); }

  /// A value that is moved is afterwards known by two names. Items of a list that is moved belong
  /// to both lists, so they belong to the group as well.
  void join_moved() {
    std::vector<bool> is_moved(method_->values.size());
    for (const auto& instruction : method_->instructions) {
      const auto* move = std::get_if<MoveCall>(&instruction);
      if (move == nullptr) continue;
      for (const ValueIndex index : {move->from, move->to}) {
        is_moved[static_cast<std::size_t>(index)] = true;
      }
      join(static_cast<std::size_t>(move->from), static_cast<std::size_t>(move->to));
    }
    for (std::size_t i = 0; i < method_->values.size(); ++i) {
      if (!is_moved[i]) continue;
      for (const ValueIndex item : items_of(method_->values[i])) {
        if (item >= 0) join(i, static_cast<std::size_t>(item));
      }
    }
  }

  [[nodiscard]] static std::vector<ValueIndex> items_of(const Value& value) {
    if (const auto* list = std::get_if<TensorList>(&value)) return list->items;
    if (const auto* list = std::get_if<OptionalTensorList>(&value)) return list->items;
    return {};
  }

  static void extend(std::optional<Lifetime>& lifetime, std::uint32_t first,
                     std::uint32_t last) noexcept {
    if (!lifetime) lifetime = Lifetime{first, last};
    lifetime->first = std::min(lifetime->first, first);
    lifetime->last = std::max(lifetime->last, last);
  }

  /// A list that is used is a use of its items.
  void use(ValueIndex index, std::uint32_t time) {
    if (index < 0) return;
    const auto place = static_cast<std::size_t>(index);
    extend(lifetimes_[place], time, time);
    for (const ValueIndex item : items_of(method_->values[place])) {
      if (item >= 0) extend(lifetimes_[static_cast<std::size_t>(item)], time, time);
    }
  }

  void use_all(const Instruction& instruction, std::uint32_t time) {
    if (const auto* call = std::get_if<KernelCall>(&instruction)) {
      for (const ValueIndex index : call->args) use(index, time);
    } else if (const auto* delegate = std::get_if<DelegateCall>(&instruction)) {
      for (const ValueIndex index : delegate->args) use(index, time);
    } else if (const auto* move = std::get_if<MoveCall>(&instruction)) {
      use(move->from, time);
      use(move->to, time);
    } else if (const auto* jump = std::get_if<JumpFalseCall>(&instruction)) {
      use(jump->condition, time);
    } else {
      use(std::get<FreeCall>(instruction).value, time);
    }
  }

  void share_within_groups() {
    std::vector<std::optional<Lifetime>> of_group(lifetimes_.size());
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
      if (lifetimes_[i]) extend(of_group[group_of(i)], lifetimes_[i]->first, lifetimes_[i]->last);
    }
    for (std::size_t i = 0; i < lifetimes_.size(); ++i) {
      if (lifetimes_[i]) lifetimes_[i] = of_group[group_of(i)];
    }
  }

  /// A jump backwards repeats the instructions between: whatever is needed anywhere in a loop is
  /// needed in all of it, because the next round may read what the last one wrote. A lifetime that
  /// grows may reach into another loop.
  void keep_through_loops() {
    std::vector<Lifetime> loops;
    for (std::uint32_t i = 0; i < method_->instructions.size(); ++i) {
      const auto* jump = std::get_if<JumpFalseCall>(&method_->instructions[i]);
      if (jump != nullptr && jump->destination <= i)
        loops.push_back({jump->destination + 1, i + 1});
    }
    for (auto& lifetime : lifetimes_) {
      for (bool grew = lifetime.has_value(); grew;) {
        const Lifetime before = *lifetime;
        for (const auto& [first, last] : loops) {
          if (lifetime->first <= last && first <= lifetime->last) extend(lifetime, first, last);
        }
        grew = *lifetime != before;
      }
    }
  }

  const MethodData* method_;
  std::vector<std::optional<Lifetime>> lifetimes_;
  std::vector<std::size_t> groups_;  ///< A forest; values that share a root share memory.
};

}  // namespace detail

std::vector<std::optional<Lifetime>> method_lifetimes(const MethodData& method) {
  return detail::LifetimeAnalysis(method).run();
}

namespace detail {

/// The request of a tensor. An unused tensor still needs bytes, at no particular time.
[[nodiscard]] inline MemoryRequest request_of(const TensorValue& tensor,
                                              const std::optional<Lifetime>& lifetime) {
  const auto [first, last] = lifetime.value_or(Lifetime());
  return {tensor.layout.nbytes(), first, last, tensor.device};
}

/// Checks the indices that lifetimes are computed from.
[[nodiscard]] inline Status check_uses(const MethodData& method) {
  const auto count = method.values.size();
  const auto check = [&](const std::vector<ValueIndex>& indices, ValueIndex least) -> Status {
    for (const ValueIndex index : indices) {
      if (index >= least && index < static_cast<std::int64_t>(count)) continue;
      return error(Error::InvalidArgument, "method '", method.name, "': value ", index,
                   " does not exist, there are ", count);
    }
    return ok();
  };
  TENON_RETURN_IF_ERROR(check(method.inputs, 0));
  TENON_RETURN_IF_ERROR(check(method.outputs, 0));
  for (const auto& value : method.values) {
    if (const auto* list = std::get_if<TensorList>(&value))
      TENON_RETURN_IF_ERROR(check(list->items, 0));
    if (const auto* list = std::get_if<OptionalTensorList>(&value)) {
      TENON_RETURN_IF_ERROR(check(list->items, -1));
    }
    if (const auto* tensor = std::get_if<TensorValue>(&value)) {
      TENON_RETURN_IF_ERROR(check_layout(tensor->layout));
    }
  }
  for (const auto& instruction : method.instructions) {
    if (const auto* call = std::get_if<KernelCall>(&instruction))
      TENON_RETURN_IF_ERROR(check(call->args, 0));
    if (const auto* call = std::get_if<DelegateCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(check(call->args, 0));
    }
    if (const auto* move = std::get_if<MoveCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(check({move->from, move->to}, 0));
    }
    if (const auto* jump = std::get_if<JumpFalseCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(check({jump->condition}, 0));
    }
    if (const auto* call = std::get_if<FreeCall>(&instruction)) {
      TENON_RETURN_IF_ERROR(check({call->value}, 0));
    }
  }
  return ok();
}

}  // namespace detail

Status plan_method_memory(MethodData& method, const MethodMemoryOptions& options) {
  TENON_RETURN_IF_ERROR(detail::check_uses(method));
  std::vector<bool> is_callers(method.values.size());
  const auto leave_to_caller = [&](const std::vector<ValueIndex>& indices) {
    for (const ValueIndex index : indices) is_callers[static_cast<std::size_t>(index)] = true;
  };
  if (!options.plan_inputs) leave_to_caller(method.inputs);
  if (!options.plan_outputs) leave_to_caller(method.outputs);

  const auto lifetimes = method_lifetimes(method);
  std::vector<MemoryRequest> requests;
  std::vector<std::size_t> owners;
  std::vector<TensorValue*> callers;
  for (std::size_t i = 0; i < method.values.size(); ++i) {
    auto* tensor = std::get_if<TensorValue>(&method.values[i]);
    if (tensor == nullptr || tensor->place() == nullptr || tensor->place()->memory_id != 0)
      continue;
    if (is_callers[i] && !tensor->is_mutable_buffer()) {
      callers.push_back(tensor);
      continue;
    }
    requests.push_back(detail::request_of(*tensor, lifetimes[i]));
    owners.push_back(i);
  }
  TENON_TRY(const auto plan, plan_memory(requests, options.alignment));
  for (auto* tensor : callers) tensor->data = storage::FromCaller();
  const auto before = static_cast<std::uint32_t>(method.planned_memory.size()) - 1;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    Place place = plan.places[i];
    place.memory_id += before;
    *std::get<TensorValue>(method.values[owners[i]]).place() = place;
  }
  for (std::size_t i = 1; i < plan.memories.size(); ++i) {
    const auto& [nbytes, device] = plan.memories[i];
    method.planned_memory.push_back({nbytes + options.extra_bytes, device});
  }
  return ok();
}

Status check_method_memory(const MethodData& method) {
  TENON_RETURN_IF_ERROR(detail::check_uses(method));
  const auto lifetimes = method_lifetimes(method);
  std::vector<MemoryRequest> requests;
  MemoryPlan plan{method.planned_memory, {}};
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < method.values.size(); ++i) {
    const auto* tensor = std::get_if<TensorValue>(&method.values[i]);
    if (tensor == nullptr || tensor->place() == nullptr) continue;
    requests.push_back(detail::request_of(*tensor, lifetimes[i]));
    plan.places.push_back(*tensor->place());
    owners.push_back(i);
  }
  return detail::prove_plan(requests, plan, 1, [&](std::size_t i) {
    return concat("method '", method.name, "': value ", owners[i]);
  });
}

}}}  // namespace tenon::TENON_RELEASE::aot
