// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tag.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/args.hpp"
#include "tenon/core/result.hpp"
#include "tenon/executorch/adapter/plugin_tensor.hpp"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

using ::executorch::aten::Tensor;
using OptionalTensor = std::optional<Tensor>;

static_assert(static_cast<int>(et::Tag::Tensor) == TENON_VALUE_TENSOR &&
              static_cast<int>(et::Tag::String) == TENON_VALUE_STRING &&
              static_cast<int>(et::Tag::Bool) == TENON_VALUE_BOOL &&
              static_cast<int>(et::Tag::ListBool) == TENON_VALUE_BOOL_LIST &&
              static_cast<int>(et::Tag::ListScalar) == TENON_VALUE_SCALAR_LIST &&
              static_cast<int>(et::Tag::ListOptionalTensor) == TENON_VALUE_OPTIONAL_TENSOR_LIST);
static_assert(sizeof(bool) == sizeof(std::uint8_t), "a list of bools is one of bytes");

/// The tensors of one delegate, each mirrored once.
class PluginTensors {
 public:
  [[nodiscard]] Result<PluginTensor*> of(TensorImpl& impl) {
    for (const auto& mirror : all_) {
      if (mirror->stands_for(impl) && mirror->refresh(impl)) return mirror.get();
    }
    TENON_TRY(auto mirror, PluginTensor::make(impl));
    return all_.emplace_back(std::move(mirror)).get();
  }

 private:
  std::vector<std::unique_ptr<PluginTensor>> all_;
};

/// One list of arguments as a plugin sees it. The addresses of the list and of its values are fixed
/// in ExecuTorch until the method is destroyed, so this is built once.
class ArgumentList {
 public:
  [[nodiscard]] bool is_of(et::Span<et::EValue*> args) const noexcept {
    return std::equal(args.begin(), args.end(), source_.begin(), source_.end());
  }

  /// For a list of tensors alone, one at least, which most are: copies the addresses of their data,
  /// and their sizes. False for another list, and when the values no longer fit: use `refresh`
  /// then.
  ///
  /// A call costs little more than this, so each argument is looked at once, and what is rare is
  /// left to `refresh`. The type, rank and array of sizes of a TensorImpl cannot change while it
  /// exists, and ExecuTorch's exist as long as their method.
  [[nodiscard, gnu::always_inline]] inline bool refresh_tensors(
      et::Span<et::EValue*> args) noexcept {
    if (args.size() != num_tensors_) [[unlikely]]
      return false;
    et::EValue* const* value = args.data();
    et::EValue* const* const end = value + args.size();
    const TensorArgument* tensor = tensors_.data();
    do {
      if (!tensor++->refresh(*value++)) [[unlikely]]
        return false;
    } while (value != end);
    return !has_other_sizes();
  }

  /// Copies the current contents of the values. False when they no longer fit: `build` again.
  [[nodiscard]] bool refresh(et::Span<et::EValue*> args) noexcept {
    if (!is_built_ || args.size() != source_.size()) return false;
    for (const TensorArgument& each : tensors_) {
      if (!each.refresh(args[each.index])) return false;
    }
    for (OtherArgument& each : others_) {
      if (args[each.index] != each.from || !each.refresh()) return false;
    }
    if (has_other_sizes()) {
      for (PluginTensor* each : dynamic_) each->refresh_shape();
    }
    return true;
  }

  /// Builds everything for `args`. Existing values keep their addresses.
  [[nodiscard]] Status build(et::Span<et::EValue*> args, PluginTensors& mirrors) {
    is_built_ = false;
    num_tensors_ = not_only_tensors;
    source_.assign(args.begin(), args.end());
    tensors_.clear();
    others_.clear();
    dynamic_.clear();
    dimensions_.clear();
    num_dimensions_ = 0;
    values_.resize(args.size());
    pointers_.resize(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) {
      pointers_[i] = &values_[i];
      if (Status built = build_one(i, *args[i], mirrors); !built.ok()) {
        return std::move(built).with_context(concat("argument ", i));
      }
    }
    is_built_ = true;
    size_ = static_cast<std::uint32_t>(args.size());
    is_dynamic_ = !dimensions_.empty();
    if (others_.empty() && !tensors_.empty()) num_tensors_ = args.size();
    return ok();
  }

  [[nodiscard]] tenon_value* const* values() const noexcept { return pointers_.data(); }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  /// Whether a tensor of dynamic shape has other sizes in ExecuTorch than the plugin sees.
  [[nodiscard]] bool has_other_sizes() const noexcept {
    if (!is_dynamic_) return false;
    std::int64_t difference = 0;
    for (const auto& [one, other] : dimensions_) {
      difference |= one.difference() | other.difference();
    }
    return difference != 0;
  }
  /// Copies the numbers that the plugin wrote to ExecuTorch.
  void give_numbers() const noexcept {
    for (const OtherArgument& each : others_) each.give_back();
  }
  /// Copies the sizes that the plugin gave to tensors to ExecuTorch.
  [[nodiscard]] Status give_sizes() {
    for (PluginTensor* each : dynamic_) {
      if (each->was_resized()) TENON_RETURN_IF_ERROR(each->give_sizes());
    }
    return ok();
  }

 private:
  /// One argument that is a tensor, and where the address of its data is copied to.
  struct TensorArgument {
    et::EValue* from;
    TensorImpl* impl;
    void** data;
    std::size_t index;

    /// Copies the address. False when `value` is another value or tensor than it was.
    [[nodiscard]] bool refresh(const et::EValue* value) const noexcept {
      // Only the tensor that is named is looked at: another one may no longer exist.
      if (value != from || value->tag != et::Tag::Tensor ||
          value->payload.as_tensor.unsafeGetTensorImpl() != impl) [[unlikely]] {
        return false;
      }
      *data = impl->mutable_data();
      return true;
    }
  };

  /// The elements of a list: values of their own, as an instruction may change them.
  struct Elements {
    std::vector<tenon_value> values;
    std::vector<const tenon_value*> pointers;
    std::vector<PluginTensor*> mirrors;  // Null for an element without a tensor.
  };

  struct OtherArgument {
    std::size_t index;
    et::EValue* from;
    tenon_value* to;
    et::Tag tag;
    std::unique_ptr<Elements> elements{};

    [[nodiscard]] bool refresh() noexcept {
      if (from->tag != tag) return false;
      const auto& payload = from->payload.copyable_union;
      switch (tag) {
        case et::Tag::Int:
          to->as.integer = payload.as_int;
          return true;
        case et::Tag::Double:
          to->as.real = payload.as_double;
          return true;
        case et::Tag::Bool:
          to->as.boolean = payload.as_bool ? 1 : 0;
          return true;
        case et::Tag::String:
          return refresh_span(payload.as_string_ptr);
        case et::Tag::ListBool:
          return refresh_span(payload.as_bool_list_ptr);
        case et::Tag::ListDouble:
          return refresh_span(payload.as_double_list_ptr);
        case et::Tag::ListInt:
          return refresh_integers();
        case et::Tag::ListTensor:
          return refresh_tensors(from->tryToTensorList());
        case et::Tag::ListOptionalTensor:
          return refresh_tensors(from->tryToListOptionalTensor());
        default:
          return true;
      }
    }

    void give_back() const noexcept {
      auto& payload = from->payload.copyable_union;
      switch (tag) {
        case et::Tag::Int:
          payload.as_int = to->as.integer;
          break;
        case et::Tag::Double:
          payload.as_double = to->as.real;
          break;
        case et::Tag::Bool:
          payload.as_bool = to->as.boolean != 0;
          break;
        default:
          break;
      }
    }

   private:
    template <class Array>
    [[nodiscard]] bool refresh_span(const Array* array) noexcept {
      if (!array) return false;
      to->as.span = {array->data(), array->size()};
      return true;
    }
    [[nodiscard]] bool refresh_integers() noexcept {
      const auto list = from->tryToIntList();
      if (!list.ok() || list->size() != elements->values.size()) return false;
      for (std::size_t i = 0; i < list->size(); ++i) elements->values[i].as.integer = (*list)[i];
      return true;
    }
    template <class List>
    [[nodiscard]] bool refresh_tensors(const List& list) noexcept {
      if (!list.ok() || list->size() != elements->mirrors.size()) return false;
      for (std::size_t i = 0; i < list->size(); ++i) {
        TensorImpl* const impl = impl_of((*list)[i]);
        PluginTensor* const mirror = elements->mirrors[i];
        if (!impl != !mirror || (impl && !mirror->refresh(*impl))) return false;
      }
      return true;
    }
  };

  static TensorImpl* impl_of(const Tensor& tensor) noexcept { return tensor.unsafeGetTensorImpl(); }
  static TensorImpl* impl_of(const OptionalTensor& tensor) noexcept {
    return tensor ? tensor->unsafeGetTensorImpl() : nullptr;
  }

  Status build_one(std::size_t index, et::EValue& from, PluginTensors& mirrors) {
    tenon_value& to = values_[index];
    to = {};
    to.struct_size = sizeof to;
    to.kind = static_cast<std::uint32_t>(from.tag);
    if (from.tag == et::Tag::Tensor) {
      TENON_TRY(PluginTensor * mirror,
                add_mirror(*from.payload.as_tensor.unsafeGetTensorImpl(), mirrors));
      to.as.tensor = &mirror->tensor();
      tensors_.push_back(
          {&from, from.payload.as_tensor.unsafeGetTensorImpl(), &mirror->tensor().dl.data, index});
      return ok();
    }
    OtherArgument other{index, &from, &to, from.tag};
    switch (from.tag) {
      case et::Tag::ListInt:
        TENON_RETURN_IF_ERROR(build_integers(from.tryToIntList(), other));
        break;
      case et::Tag::ListTensor:
        TENON_RETURN_IF_ERROR(build_tensors(from.tryToTensorList(), other, mirrors));
        break;
      case et::Tag::ListOptionalTensor:
        TENON_RETURN_IF_ERROR(build_tensors(from.tryToListOptionalTensor(), other, mirrors));
        break;
      default:
        break;
    }
    if (from.tag > et::Tag::ListOptionalTensor || from.tag == et::Tag::ListScalar ||
        !other.refresh()) {
      return error(Error::InvalidType, "a value of kind ", value_kind_name(to.kind),
                   " that cannot be passed to a plugin");
    }
    others_.push_back(std::move(other));
    return ok();
  }

  Result<PluginTensor*> add_mirror(TensorImpl& impl, PluginTensors& mirrors) {
    TENON_TRY(PluginTensor * mirror, mirrors.of(impl));
    const bool is_new = std::find(dynamic_.begin(), dynamic_.end(), mirror) == dynamic_.end();
    if (!mirror->is_dynamic() || !is_new) return mirror;
    dynamic_.push_back(mirror);
    for (std::size_t d = 0; d < mirror->rank(); ++d) {
      const PluginTensor::Dimension dimension = mirror->dimension(d);
      if (num_dimensions_++ % 2 == 0) dimensions_.emplace_back(dimension, dimension);
      dimensions_.back().second = dimension;
    }
    return mirror;
  }

  template <class List>
  static Status check_list(const List& list) {
    if (list.ok()) return ok();
    return error(from_executorch(list.error()), "a list whose elements are of another kind");
  }

  static void add_elements(std::size_t count, std::uint32_t kind, OtherArgument& to) {
    to.elements = std::make_unique<Elements>();
    tenon_value element{};
    element.struct_size = sizeof element;
    element.kind = kind;
    to.elements->values.assign(count, element);
    for (const tenon_value& each : to.elements->values) to.elements->pointers.push_back(&each);
    to.to->as.span = {to.elements->pointers.data(), count};
  }

  template <class List>
  Status build_integers(const List& list, OtherArgument& to) {
    TENON_RETURN_IF_ERROR(check_list(list));
    add_elements(list->size(), TENON_VALUE_INT, to);
    return ok();
  }

  template <class List>
  Status build_tensors(const List& list, OtherArgument& to, PluginTensors& mirrors) {
    TENON_RETURN_IF_ERROR(check_list(list));
    add_elements(list->size(), TENON_VALUE_TENSOR, to);
    for (std::size_t i = 0; i < list->size(); ++i) {
      PluginTensor* mirror = nullptr;
      if (TensorImpl* const impl = impl_of((*list)[i])) {
        TENON_TRY(mirror, add_mirror(*impl, mirrors));
        to.elements->values[i].as.tensor = &mirror->tensor();
      } else {
        to.elements->values[i].kind = TENON_VALUE_NONE;
      }
      to.elements->mirrors.push_back(mirror);
    }
    return ok();
  }

  static constexpr std::size_t not_only_tensors = static_cast<std::size_t>(-1);

  // In the order in which a call reads them.
  std::size_t num_tensors_ = not_only_tensors;  // Of a list of tensors alone that is built.
  std::vector<TensorArgument> tensors_;
  // Of `dynamic_`. In pairs, which take fewer steps; an odd last one is there twice.
  std::vector<std::pair<PluginTensor::Dimension, PluginTensor::Dimension>> dimensions_;
  std::vector<tenon_value*> pointers_;
  std::uint32_t size_ = 0;
  bool is_dynamic_ = false;  // Whether there are `dimensions_`.
  bool is_built_ = false;
  std::vector<tenon_value> values_;
  std::vector<et::EValue*> source_;
  std::vector<OtherArgument> others_;
  std::vector<PluginTensor*> dynamic_;
  std::size_t num_dimensions_ = 0;
};

/// All lists of arguments that one delegate was called with: one for each instruction that calls
/// it.
class Arguments {
 public:
  /// The list of the last call.
  [[nodiscard]] ArgumentList& last() noexcept { return *last_; }

  /// Makes `last` the list for `args`, with the current contents of the values; builds it when
  /// there is none.
  [[nodiscard]] Status prepare(et::Span<et::EValue*> args) {
    // An instruction of a loop may run again; otherwise instructions run in the same order each
    // time, so that the next list is likely.
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::size_t index = (index_ + i) % all_.size();
      if (!all_[index]->refresh(args)) continue;
      select(index);
      return ok();
    }
    const auto found =
        std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each->is_of(args); });
    select(static_cast<std::size_t>(found - all_.begin()));
    return last_->build(args, mirrors_);
  }

 private:
  void select(std::size_t index) {
    if (index == all_.size()) all_.push_back(std::make_unique<ArgumentList>());
    index_ = index;
    last_ = all_[index].get();
  }

  ArgumentList none_;  // Never built.
  ArgumentList* last_ = &none_;
  std::size_t index_ = 0;  // Of `last_`.
  PluginTensors mirrors_;
  std::vector<std::unique_ptr<ArgumentList>> all_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
