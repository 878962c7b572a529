// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/evalue.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/backend.h"
#include "tenon/abi/host.h"
#include "tenon/abi/private/changes.h"
#include "tenon/abi/tensor.h"
#include "tenon/backend/host_services.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/executorch/backend/executorch_tensor.hpp"
#include "tenon/executorch/backend/mirrored_value.hpp"
#include "tenon/executorch/backend/watched.hpp"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// The changes of the method that calls one delegate or kernel, or null: the host is asked in the
/// first call and not again.
class HostChanges {
 public:
  /// The result of `find`; null before its first call.
  [[nodiscard]] tenon_changes* get() const noexcept { return changes_; }

  [[nodiscard]] tenon_changes* find(const tenon_execution_context& context) noexcept {
    if (!std::exchange(was_asked_, true)) {
      const auto* const table =
          HostServices(context.host).extension<tenon_changes_v1>(TENON_EXTENSION_CHANGES);
      if (table && TENON_HAS_MEMBER(*table, get_changes)) changes_ = table->get_changes(&context);
    }
    return changes_;
  }

 private:
  tenon_changes* changes_ = nullptr;
  bool was_asked_ = false;
};

/// The arguments of one call site as ExecuTorch's: built once, updated before each call, written
/// back after it. Identity is preserved: two elements of a list that refer to one value or tensor
/// of the host refer to one here, as in ExecuTorch.
///
/// Several call sites can have mirrors in common. Each mirror knows the state of the host that it
/// was made of, so that the first call site after a change updates it for all; a call site whose
/// mirror another one has made anew builds its list again.
class ArgumentMirror {
 public:
  /// With mirrors of its own.
  ArgumentMirror() : ArgumentMirror(std::make_shared<SharedMirrors>()) {}
  /// With the mirrors of all call sites that have `mirrors`.
  explicit ArgumentMirror(std::shared_ptr<SharedMirrors> mirrors) noexcept
      : mirrors_(std::move(mirrors)) {}
  ~ArgumentMirror() { drop(); }
  /// Set by the caller once it has checked kinds, dtypes and ranks. Reset when one of them may have
  /// changed.
  bool is_judged = false;
  /// The number of the argument whose tensor may have no data.
  std::size_t unset_argument = static_cast<std::size_t>(-1);
  /// Whether the argument list and its tensors stay as in the first `update`, as the arguments of a
  /// kernel do ("tenon.kernels/1", TN-TEN-3), so that only what may change is looked at.
  bool is_bound = false;
  /// Whether the host counts changes, so that it keeps to what TN-TEN-3 lets change.
  bool is_counted = false;
  /// Whether a call may move the tensor that it returns, the last argument, and the one before it
  /// alone, and changes no other value. It may resize any tensor.
  bool writes_outputs_alone = false;
  /// Whether constants are copied, because what ExecuTorch's code writes to is not known.
  bool copies_constants = false;

  ArgumentMirror(const ArgumentMirror&) = delete;
  ArgumentMirror& operator=(const ArgumentMirror&) = delete;

  /// Whether all values still equal the arguments, so that the next call needs no `update`. Only
  /// with `is_bound`.
  [[nodiscard]] bool is_current() const noexcept {
    return !call_.empty() && !watched_.has_changed();
  }
  /// Whether `args` are the list that `remember` saw, and nothing has changed since then, without a
  /// look at the values.
  [[nodiscard]] bool is_current(const tenon_changes& changes,
                                std::span<tenon_value* const> args) const noexcept {
    return remembered_.count == changes.count && is_built_of(args);
  }

  /// Whether nothing has changed since `remember`, without a look at the list of arguments. Only
  /// with `is_bound`.
  [[nodiscard]] bool is_remembered(const tenon_changes& changes) const noexcept {
    return remembered_.count == changes.count && list_.data() != nullptr;
  }

  /// Takes the values as they are now, before a call, as the values at this count of changes.
  /// Allocates when there are more of them than ever before.
  void remember(const tenon_changes& changes) {
    remembered_.clear();
    if (!watched_.is_settled()) return;
    for (const auto& node : nodes_) {
      if (writes_outputs_alone && !is_output(*node)) continue;
      remembered_.add(node->watched);
      if (node->tensor) remembered_.add(*node->tensor->watched);
    }
    for (const auto& tensor : tensors_) remembered_.add_sizes(tensor->mirror);
    remembered_.count = changes.count;
  }

  /// Makes the values equal to `args`. Allocates nothing when they are the values of the call
  /// before and each still is of its kind; a move of another tensor or list into one builds it
  /// anew.
  ///
  /// Without `needs_data` tensors may have no data: before a program is run, inputs have none.
  ///
  /// errors: as ExecutorchTensor::update, with the argument's number; NotSupported for a list of
  ///         scalars, which ExecuTorch cannot hold either.
  [[nodiscard, gnu::noinline]] Status update(std::span<tenon_value* const> args,
                                             bool needs_data = true) {
    if (!is_built_of(args) || !update_values()) [[unlikely]] {
      TENON_RETURN_IF_ERROR(build(args));
    }
    for (WatchedTensor* const watched : watched_.tensors) {
      if (watched->change() == 0 && !watched->has_other_sizes()) continue;
      TENON_RETURN_IF_ERROR(update_tensor(*watched, args, needs_data));
    }
    return ok();
  }

  /// The arguments for a backend or kernel; valid until the next `update`. Their code must leave
  /// the pointers as they are: ExecuTorch, too, makes the list of an instruction once, when a
  /// method is loaded, and passes it to each call.
  [[nodiscard]] et::Span<et::EValue*> values() noexcept { return list_; }

  /// Whether argument `index`, or an element of that list, is a constant.
  [[nodiscard]] static bool is_constant(std::span<tenon_value* const> args, std::size_t index) {
    if (index >= args.size()) return false;
    const auto is_one = [](const tenon_value& value) {
      return value.kind == TENON_VALUE_TENSOR && TensorView(*value.as.tensor).is_constant();
    };
    const tenon_value& value = *args[index];
    if (value.kind != TENON_VALUE_TENSOR_LIST && value.kind != TENON_VALUE_OPTIONAL_TENSOR_LIST) {
      return is_one(value);
    }
    const auto* elements = static_cast<const tenon_value* const*>(value.as.span.data);
    return std::any_of(elements, elements + value.as.span.size,
                       [&](const tenon_value* element) { return is_one(*element); });
  }

  /// Whether a call changed something that `write_back` has to look at.
  [[nodiscard]] bool was_written() const noexcept { return watched_.was_written(); }

  /// Ends a call that succeeded: writes back when the call changed something, and counts it in
  /// `changes`, if the host has them.
  [[nodiscard]] Status finish(const tenon_host* host, tenon_changes* changes, bool allow_views) {
    if (changes && remembered_.count == changes->count) [[likely]]
      return finish_remembered(host, *changes, allow_views);
    if (was_written()) [[unlikely]]
      return finish_written(host, changes, allow_views);
    if (changes) changes->counted = 1;
    return ok();
  }

  /// Ends a call that succeeded, as `finish` does, where `is_remembered` was true before the call.
  [[nodiscard]] Status finish_remembered(const tenon_host* host, tenon_changes& changes,
                                         bool allow_views) {
    if (remembered_.was_written()) [[unlikely]]
      return finish_written(host, &changes, allow_views);
    changes.counted = 1;
    return ok();
  }

  /// The result of `remember`, until the next `update` or `clear`.
  [[nodiscard]] const Remembered& remembered() const noexcept { return remembered_; }

  /// Ends a call that succeeded and changed something: writes back, and counts it in `changes`, if
  /// the host has them.
  [[nodiscard, gnu::noinline]] Status finish_written(const tenon_host* host, tenon_changes* changes,
                                                     bool allow_views) {
    TENON_RETURN_IF_ERROR(write_back(host, allow_views));
    if (!changes) return ok();
    ++changes->count;
    changes->counted = 1;
    return ok();
  }

  /// Copies the results of a call to the host: new sizes of tensors, integers, doubles and
  /// booleans. With `allow_views` the data of a tensor may be inside another argument afterwards,
  /// as for the output of a view.
  ///
  /// errors: NotSupported (a tensor whose data has moved; a value of a kind that the host cannot
  ///         store), and errors of the host's resize.
  [[nodiscard, gnu::noinline]] Status write_back(const tenon_host* host, bool allow_views) {
    for (WatchedTensor* const watched : watched_.tensors) {
      if (watched->write() == 0 && !watched->has_other_sizes()) continue;
      TENON_RETURN_IF_ERROR(write_back_tensor(*watched, host, allow_views));
    }
    for (const auto& node : nodes_) {
      if (node->watched.write() == 0 || is_unchanged(*node)) continue;
      if (Status written = write_back_value(*node); !written.ok()) {
        clear();
        return written;
      }
      node->watched.settle(node->kind);
    }
    return ok();
  }

  /// Forgets the arguments, which the next `update` mirrors anew: after a call that failed, in
  /// which ExecuTorch's code may have left anything. Mirrors that other call sites have too get
  /// their contents back.
  [[gnu::cold]] void clear() {
    for (const auto& tensor : tensors_) tensor->mirror.restore();
    for (const auto& node : nodes_) {
      if (node->is_filled) set_value(*node);
    }
    drop();
  }

  /// Calls `visit` with each tensor among the arguments themselves, in their order.
  template <class Visit>
  void for_each_tensor(const Visit& visit) {
    for (const et::EValue* value : pointers_) {
      for (const auto& node : nodes_) {
        if (&node->value == value && node->tensor) visit(node->tensor->mirror);
      }
    }
  }

 private:
  /// Backends do not check the number of their arguments. This many empty values follow the last
  /// one, so that too few arguments are an error of the backend and not a read out of bounds.
  static constexpr std::size_t guards = 64;

  using Node = MirroredValue;

  /// Releases the arguments.
  void drop() noexcept {
    list_ = {};
    sources_.clear();
    pointers_.clear();
    call_.clear();
    watched_.clear();
    remembered_.clear();
    nodes_.clear();
    tensors_.clear();
    mirrors_->forget(held_);
    held_.clear();
  }

  [[nodiscard]] bool is_built_of(std::span<tenon_value* const> args) const noexcept {
    if (call_.empty()) return false;
    if (is_bound) return true;
    if (args.size() != sources_.size()) return false;
    // A loop, because a call of memcmp costs more than these few pointers.
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args[i] != sources_[i]) return false;
    }
    return true;
  }

  [[nodiscard]] static const tenon_tensor* tensor_of(std::span<tenon_value* const> args,
                                                     std::size_t index) noexcept {
    if (index >= args.size() || args[index]->kind != TENON_VALUE_TENSOR) return nullptr;
    return args[index]->as.tensor;
  }

  Status build(std::span<tenon_value* const> args) {
    drop();
    is_judged = false;
    for (std::size_t i = 0; i < args.size(); ++i) {
      auto value = mirror(*args[i]);
      if (!value.ok()) {
        drop();
        return std::move(value).status().with_context(concat("argument ", i));
      }
      pointers_.push_back(&(*value)->value);
    }
    for (const auto& node : nodes_) {
      watched_.add(node->watched);
      if (is_span(node->kind)) watched_.sizes.push_back({node->source, node->span.size});
    }
    for (const auto& tensor : tensors_) watched_.add(*tensor->watched);
    constexpr std::size_t in_line = cache_line / sizeof(et::EValue*);
    call_.assign(in_line + pointers_.size() + guards, &guard_);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(call_.data()) / sizeof(et::EValue*);
    et::EValue** const first = call_.data() + (in_line - past % in_line) % in_line;
    std::copy(pointers_.begin(), pointers_.end(), first);
    list_ = {first, pointers_.size()};
    sources_.assign(args.begin(), args.end());
    return ok();
  }

  [[nodiscard]] bool is_output(const Node& node) const noexcept {
    const std::size_t count = pointers_.size();
    return pointers_[count - 1] == &node.value ||
           (count > 1 && pointers_[count - 2] == &node.value);
  }

  Status update_tensor(WatchedTensor& watched, std::span<tenon_value* const> args,
                       bool needs_data) {
    ExecutorchTensor& tensor = watched.mirror();
    watched.forget();
    Status updated =
        tensor.update(!needs_data || tensor.source() == tensor_of(args, unset_argument));
    if (!updated.ok()) [[unlikely]]
      return in_argument(tensor, std::move(updated));
    is_judged = is_judged && !tensor.was_bound_anew();
    if (needs_data) settle(watched);
    return ok();
  }

  Status write_back_tensor(WatchedTensor& watched, const tenon_host* host, bool allow_views) {
    ExecutorchTensor& tensor = watched.mirror();
    watched.forget();
    if (tensor.has_changed_constant()) [[unlikely]] {
      clear();  // The copy is made anew.
      return error(Error::InvalidProgram, "an output is a constant of the program");
    }
    if (tensor.has_moved()) [[unlikely]]
      TENON_RETURN_IF_ERROR(write_back_move(tensor, allow_views));
    Status resized = tensor.write_back_sizes(host);
    if (!resized.ok()) [[unlikely]]
      return in_argument(tensor, std::move(resized));
    settle(watched);
    return ok();
  }

  /// A copy of a constant and a stand-in are looked at in each call, and so are all of a tensor
  /// that a host need not keep, and one without data: another call site must not have it.
  void settle(WatchedTensor& watched) const noexcept {
    const tenon_tensor& source = *watched.mirror().source();
    const bool has_data = source.dl.data || source.capacity == 0;
    if ((is_bound || is_counted) && has_data && watched.mirror().has_own_data()) watched.settle();
  }

  Result<std::shared_ptr<Node>> mirror(tenon_value& value) {
    for (const auto& node : nodes_) {
      if (node->source == &value) return node;
    }
    held_.push_back(&value);
    auto node = mirrors_->find(value);
    if (is_usable(*node)) {
      take(node);
      return node;
    }
    TENON_RETURN_IF_ERROR(fill(*node));
    nodes_.push_back(node);
    return node;
  }

  /// Whether another call site has made `node` of what its value is now, except for a number.
  [[nodiscard]] static bool is_usable(const Node& node) noexcept {
    if (!node.is_filled || node.source->kind != node.kind) return false;
    if (is_scalar(node.kind)) return true;
    if (node.watched.change() != 0) return false;
    if (is_span(node.kind) && node.source->as.span.size != node.span.size) return false;
    return std::all_of(node.elements.begin(), node.elements.end(), [&](const auto& element) {
      return is_element(element->kind, node.kind) && is_usable(*element);
    });
  }

  /// Whether lists of the kind `list` have elements of the kind `kind`.
  [[nodiscard]] static bool is_element(std::uint32_t kind, std::uint32_t list) noexcept {
    if (list == TENON_VALUE_INT_LIST) return kind == TENON_VALUE_INT;
    const bool is_none = list == TENON_VALUE_OPTIONAL_TENSOR_LIST && kind == TENON_VALUE_NONE;
    return is_none || kind == TENON_VALUE_TENSOR;
  }

  /// Adds a mirror that is usable, and what it is made of, to the mirrors of this call site.
  void take(const std::shared_ptr<Node>& node) {
    if (is_scalar(node->kind) && node->watched.change() != 0) {
      set_value(*node);
      node->watched.settle(node->kind);
    }
    if (node->tensor &&
        std::find(tensors_.begin(), tensors_.end(), node->tensor) == tensors_.end()) {
      held_.push_back(node->tensor->mirror.source());
      tensors_.push_back(node->tensor);
    }
    for (const auto& element : node->elements) {
      if (std::find(nodes_.begin(), nodes_.end(), element) != nodes_.end()) continue;
      held_.push_back(element->source);
      take(element);
    }
    nodes_.push_back(node);
  }

  /// Makes `node` the mirror of what its value is now, at the same address.
  Status fill(Node& node) {
    node.is_filled = false;
    node.watched.replace();
    node.value = et::EValue();  // It may point to what is replaced.
    node.kind = node.source->kind;
    node.tensor.reset();
    node.elements.clear();
    switch (node.kind) {
      case TENON_VALUE_NONE:
      case TENON_VALUE_INT:
      case TENON_VALUE_DOUBLE:
      case TENON_VALUE_BOOL:
        break;
      case TENON_VALUE_TENSOR: {
        TENON_TRY(node.tensor, mirror_tensor(*node.source->as.tensor));
        break;
      }
      case TENON_VALUE_STRING:
        view<char>(node);
        break;
      case TENON_VALUE_BOOL_LIST:
        static_assert(sizeof(bool) == sizeof(std::uint8_t));
        view<bool>(node);
        break;
      case TENON_VALUE_DOUBLE_LIST:
        view<double>(node);
        break;
      case TENON_VALUE_INT_LIST:
        TENON_RETURN_IF_ERROR(fill_list<std::int64_t>(node, TENON_VALUE_INT, false));
        break;
      case TENON_VALUE_TENSOR_LIST:
        TENON_RETURN_IF_ERROR(fill_list<EtTensor>(node, TENON_VALUE_TENSOR, false));
        break;
      case TENON_VALUE_OPTIONAL_TENSOR_LIST:
        TENON_RETURN_IF_ERROR(fill_list<std::optional<EtTensor>>(node, TENON_VALUE_TENSOR, true));
        break;
      default:
        return error(Error::NotSupported, "ExecuTorch has no value of kind ",
                     value_kind_name(node.kind));
    }
    set_value(node);
    node.watched.settle(node.kind);
    node.is_filled = true;
    return ok();
  }

  Result<std::shared_ptr<MirroredTensor>> mirror_tensor(tenon_tensor& tensor) {
    for (const auto& known : tensors_) {
      if (known->mirror.source() == &tensor) return known;
    }
    held_.push_back(&tensor);
    auto found = mirrors_->find(tensor);
    if (!found->watched) {
      if (copies_constants) found->mirror.copy_constants();
      TENON_RETURN_IF_ERROR(found->mirror.bind(tensor));
      found->watched.emplace(found->mirror);
    }
    tensors_.push_back(found);
    return found;
  }

  template <class T>
  static void view(Node& node) {
    node.span = node.source->as.span;
    node.list.template emplace<et::ArrayRef<T>>(static_cast<const T*>(node.span.data),
                                                static_cast<std::size_t>(node.span.size));
  }

  template <class T>
  Status fill_list(Node& node, std::uint32_t wanted, bool is_optional) {
    node.span = node.source->as.span;
    const auto* elements = static_cast<tenon_value* const*>(node.span.data);
    std::vector<et::EValue*> values;
    for (std::size_t i = 0; i < node.span.size; ++i) {
      const std::uint32_t kind = elements[i]->kind;
      if (kind != wanted && !(is_optional && kind == TENON_VALUE_NONE)) {
        return error(Error::InvalidType, "element ", i, ": expected ", value_kind_name(wanted),
                     ", found ", value_kind_name(kind));
      }
      auto value = mirror(*elements[i]);
      if (!value.ok()) return std::move(value).status().with_context(concat("element ", i));
      values.push_back(&(*value)->value);
      node.elements.push_back(*std::move(value));
    }
    node.list.template emplace<MirroredList<T>>(std::move(values));
    return ok();
  }

  /// False when a value is not of the kind that was mirrored or names another tensor or list.
  [[nodiscard]] bool update_values() {
    if (watched_.was_replaced()) return false;
    for (const WatchedSize& size : watched_.sizes) {
      if (size.change() != 0) return false;
    }
    for (const auto& node : nodes_) {
      if (node->watched.change() == 0) [[likely]]
        continue;
      if (!is_scalar(node->kind) || node->source->kind != node->kind) return false;
      set_value(*node);
      node->watched.settle(node->kind);
    }
    return true;
  }

  /// Copies a number to the host, its kind included: the result of operators on numbers has the
  /// kind that follows from their arguments.
  static Status write_back_value(Node& node) {
    const et::EValue& value = node.value;
    tenon_value& to = *node.source;
    if (is_scalar(node.kind) && value.isInt()) {
      to.kind = TENON_VALUE_INT;
      to.as.integer = value.payload.copyable_union.as_int;
    } else if (is_scalar(node.kind) && value.isDouble()) {
      to.kind = TENON_VALUE_DOUBLE;
      to.as.real = value.payload.copyable_union.as_double;
    } else if (is_scalar(node.kind) && value.isBool()) {
      to.kind = TENON_VALUE_BOOL;
      to.as.boolean = value.payload.copyable_union.as_bool ? 1 : 0;
    } else {
      return error(Error::NotSupported, "ExecuTorch's code put a value of tag ",
                   static_cast<std::uint32_t>(value.tag), " in the place of one of kind ",
                   value_kind_name(node.kind), "; the host has no place for it");
    }
    // A list that it is an element of may not have such elements.
    if (node.kind != to.kind) node.watched.replace();
    node.kind = to.kind;
    return ok();
  }

  Status write_back_move(ExecutorchTensor& moved, bool allow_views) {
    const std::byte* const begin = moved.data();
    const std::size_t size = moved.nbytes();
    for (const auto& other : tensors_) {
      if (!allow_views || other->mirror.source() == moved.source()) continue;
      const std::span<const std::byte> room = other->mirror.given();
      // Compared as numbers: the addresses may belong to different blocks.
      const auto first = reinterpret_cast<std::uintptr_t>(room.data());
      const auto at = reinterpret_cast<std::uintptr_t>(begin);
      if (at < first || at - first > room.size() || size > room.size() - (at - first)) continue;
      moved.keep_move();
      return ok();
    }
    moved.undo_move();
    return in_argument(moved, error(Error::NotSupported,
                                    "ExecuTorch's code gave the tensor another data pointer; a "
                                    "tensor stays where the host put it"));
  }

  /// `status` with the number of the argument that `tensor` belongs to.
  Status in_argument(const ExecutorchTensor& tensor, Status status) const {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const tenon_value& value = *sources_[i];
      if (value.kind == TENON_VALUE_TENSOR && value.as.tensor == tensor.source()) {
        return std::move(status).with_context(concat("argument ", i));
      }
    }
    return std::move(status).with_context("an element of a list");
  }

  // What each call reads, then the rest.
  Remembered remembered_;
  et::Span<et::EValue*> list_;     // In `call_`.
  std::vector<et::EValue*> call_;  // From a line of the cache on: most lists are in one.
  std::vector<et::EValue*> pointers_;
  WatchedArguments watched_;
  std::shared_ptr<SharedMirrors> mirrors_;
  std::vector<const void*> held_;  // Addresses of what `nodes_` and `tensors_` mirror.
  std::vector<tenon_value*> sources_;
  std::vector<std::shared_ptr<MirroredTensor>> tensors_;
  std::vector<std::shared_ptr<Node>> nodes_;
  et::EValue guard_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
