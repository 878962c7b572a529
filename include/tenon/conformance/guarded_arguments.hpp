// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/conformance/argument_roles.hpp"
#include "tenon/conformance/boundary_calls.hpp"
#include "tenon/conformance/guarded_memory.hpp"
#include "tenon/conformance/shadow_tensor.hpp"

namespace tenon::conformance {

/// What an output held when a call had succeeded.
struct OutputImage {
  std::size_t call;      ///< Number of the call in its run.
  std::size_t argument;  ///< Number of the argument.
  std::size_t element;   ///< Bytes of one element.
  std::size_t nbytes;    ///< Bytes of the sizes that it has.
  std::vector<std::byte> bytes;
};

/// Stands between a method and the plugin, and gives each `execute` copies of its arguments in
/// memory where an access that a rule forbids faults, or shows afterwards. What the plugin wrote
/// goes back to the method.
///
/// One for the delegates of one method, from their first call to their last: as a plugin may
/// remember the addresses of its arguments (TN-TEN-3), they stay. One thread.
class GuardedArguments {
 public:
  /// `roles` are those of the method (find_roles). Must outlive the method, and the boundary's
  /// calls; `boundary` must outlive it.
  GuardedArguments(Boundary& boundary, std::vector<std::vector<ArgumentRole>> roles)
      : boundary_(&boundary), roles_(std::move(roles)) {
    boundary.on_execute = [this](ExecuteCall& call) { return run(call); };
    boundary.on_resize = [this](const tenon_host* host, tenon_tensor* tensor,
                                const std::int64_t* sizes,
                                std::uint32_t rank) { return resize(host, tensor, sizes, rank); };
  }
  GuardedArguments(const GuardedArguments&) = delete;
  GuardedArguments& operator=(const GuardedArguments&) = delete;
  ~GuardedArguments() {
    boundary_->on_execute = nullptr;
    boundary_->on_resize = nullptr;
  }

  GuardSettings settings;  ///< For the next call.

  /// The next call is the first of a run of the method.
  void begin_run() {
    next_call_ = 0;
    images_.clear();
  }
  /// Of the run: what outputs held, by call and argument.
  [[nodiscard]] const std::vector<OutputImage>& images() const noexcept { return images_; }
  /// Number of the call that `lend` was for last.
  [[nodiscard]] std::size_t call() const noexcept { return next_call_ - 1; }

  /// A whole call: `lend`, the plugin, `take_back`.
  tenon_status run(ExecuteCall& call) {
    const std::span<tenon_value* const> args = lend(call);
    const tenon_status status = call.forward(args.data(), call.num_args);
    take_back(status == TENON_STATUS_OK);
    return status;
  }

  /// The arguments for the plugin, in memory whose end is forbidden. Valid until `take_back`.
  [[nodiscard]] std::span<tenon_value* const> lend(const ExecuteCall& call) {
    const std::vector<ArgumentRole>* roles =
        next_call_ < roles_.size() && roles_[next_call_].size() == call.num_args
            ? &roles_[next_call_]
            : nullptr;
    ++next_call_;
    lent_.clear();
    numbers_.clear();
    std::vector<tenon_value*> shown;
    for (std::uint32_t i = 0; i < call.num_args; ++i) {
      shown.push_back(shadow_of(*call.args[i], i, roles ? (*roles)[i] : ArgumentRole{}));
    }
    for (Lent& one : lent_) one.tensor->lend(one.role, shares_elements(one), settings);
    // By number of the call: a host builds the list once.
    GuardedMemory& list = lists_[next_call_];
    if (!list.data()) {
      list = GuardedMemory(shown.size() * sizeof(tenon_value*), alignof(tenon_value*),
                           {"TN-EXE-5", "behind the list of arguments"});
    }
    if (!shown.empty()) std::memcpy(list.data(), shown.data(), list.size());
    return {reinterpret_cast<tenon_value**>(list.data()), shown.size()};
  }

  /// Ends the call that `lend` began: tells what was written where nothing may be written, and,
  /// when it succeeded, gives results to the method.
  void take_back(bool succeeded) {
    const Watch& watch = boundary_->watch();
    for (const Lent& one : lent_) {
      ShadowTensor& tensor = *one.tensor;
      tensor.take_back();
      const bool is_input = tensor.role() == Role::input;
      if (!tensor.is_intact()) {
        const Forbidden& outside = is_input ? settings.outside_input : settings.outside_output;
        watch.broke(outside.rule, "execute wrote ", outside.what, ": argument ", one.argument);
      }
      if (settings.protect_inputs && is_input && !tensor.is_unchanged()) {
        watch.broke("TN-EXE-2", "execute changed argument ", one.argument, ", an input");
      }
      if (succeeded && !is_input) take_result(one);
      tensor.close();
    }
    if (!succeeded) return;
    for (const auto& [original, shown] : numbers_) {
      if (shown->kind == original->kind) original->as = shown->as;
    }
  }

 private:
  struct Lent {
    ShadowTensor* tensor;
    std::uint32_t argument;
    Role role;
  };

  tenon_value* shadow_of(tenon_value& original, std::uint32_t argument, const ArgumentRole& role) {
    const auto [place, is_new] = values_.try_emplace(&original, original);
    tenon_value& shown = place->second;
    if (original.kind == TENON_VALUE_TENSOR) {
      shown = original;
      shown.as.tensor = lend_tensor(*original.as.tensor, argument, role.role);
    } else if (original.kind == TENON_VALUE_TENSOR_LIST ||
               original.kind == TENON_VALUE_OPTIONAL_TENSOR_LIST) {
      show_list(original, shown, is_new, argument, role);
    } else {
      shown = original;
      const bool is_number = shown.kind == TENON_VALUE_INT || shown.kind == TENON_VALUE_DOUBLE ||
                             shown.kind == TENON_VALUE_BOOL;
      if (is_number && role.role != Role::input) numbers_.emplace_back(&original, &shown);
    }
    return &shown;
  }

  tenon_tensor* lend_tensor(tenon_tensor& original, std::uint32_t argument, Role role) {
    auto& tensor = tensors_[&original];
    if (!tensor) tensor = std::make_unique<ShadowTensor>(original);
    const bool known = std::ranges::find(lent_, tensor.get(), &Lent::tensor) != lent_.end();
    if (!known) lent_.push_back({tensor.get(), argument, role});
    return &tensor->tensor();
  }

  void show_list(const tenon_value& original, tenon_value& shown, bool is_new,
                 std::uint32_t argument, const ArgumentRole& role) {
    const auto* items = static_cast<tenon_value* const*>(original.as.span.data);
    const auto size = static_cast<std::size_t>(original.as.span.size);
    if (is_new) {
      std::vector<tenon_value*>& list = item_lists_.emplace_back(size);
      shown.as.span.data = list.data();
    }
    auto* const list = static_cast<tenon_value**>(const_cast<void*>(shown.as.span.data));
    for (std::size_t i = 0; i < size; ++i) {
      const Role of_item = i < role.items.size() ? role.items[i] : Role::either;
      list[i] = shadow_of(*items[i], argument, {of_item, {}});
    }
  }

  /// Whether another tensor of this call has some of the same bytes.
  bool shares_elements(const Lent& one) const noexcept {
    const auto range = [](const Lent& lent) {
      const tenon_tensor& tensor = lent.tensor->original();
      const auto begin = reinterpret_cast<std::uintptr_t>(tensor.dl.data);
      return std::pair(begin, begin + static_cast<std::uintptr_t>(tensor.nbytes));
    };
    const auto mine = range(one);
    return std::ranges::any_of(lent_, [&](const Lent& other) {
      const auto theirs = range(other);
      return other.tensor != one.tensor && mine.first < theirs.second && theirs.first < mine.second;
    });
  }

  void take_result(const Lent& one) {
    if (!one.tensor->copy_back()) {
      boundary_->watch().broke("TN-TEN-2", "argument ", one.argument,
                               " has sizes that resize_tensor does not give it");
    }
    if (one.tensor->role() != Role::output || !one.tensor->has_elements()) return;
    const tenon_tensor& tensor = one.tensor->tensor();
    const auto bytes = one.tensor->elements();
    images_.push_back({call(),
                       one.argument,
                       size_of(static_cast<ScalarType>(tensor.scalar_type)),
                       std::min(static_cast<std::size_t>(tensor.nbytes), bytes.size()),
                       {bytes.begin(), bytes.end()}});
  }

  tenon_status resize(const tenon_host* host, tenon_tensor* tensor, const std::int64_t* sizes,
                      std::uint32_t rank) {
    ShadowTensor* shadow = nullptr;
    for (const Lent& one : lent_) {
      if (&one.tensor->tensor() == tensor) shadow = one.tensor;
    }
    if (shadow && settings.protect_sizes) shadow->allow_sizes();
    const tenon_status status = host->resize_tensor(host, tensor, sizes, rank);
    if (shadow && settings.protect_sizes) shadow->protect_sizes();
    return status;
  }

  Boundary* boundary_;
  std::vector<std::vector<ArgumentRole>> roles_;
  std::size_t next_call_ = 0;
  std::map<tenon_value*, tenon_value> values_;  // Addresses stay.
  std::map<tenon_tensor*, std::unique_ptr<ShadowTensor>> tensors_;
  std::list<std::vector<tenon_value*>> item_lists_;
  std::map<std::size_t, GuardedMemory> lists_;
  std::vector<Lent> lent_;
  std::vector<std::pair<tenon_value*, const tenon_value*>> numbers_;  // That a call may change.
  std::vector<OutputImage> images_;
};

}  // namespace tenon::conformance
