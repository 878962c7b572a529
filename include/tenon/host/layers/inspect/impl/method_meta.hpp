// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/inspect/method_meta.hpp"

#include <algorithm>

#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

[[nodiscard]] inline flatbuffers::uoffset_t offset_of(std::size_t index) noexcept {
  return static_cast<flatbuffers::uoffset_t>(index);
}

[[nodiscard]] inline const schema::EValue* value_at(
    const schema::ExecutionPlan& plan, const flatbuffers::Vector<std::int32_t>& indices,
    std::size_t index) noexcept {
  return plan.values()->Get(static_cast<flatbuffers::uoffset_t>(indices.Get(offset_of(index))));
}

[[nodiscard]] inline std::string_view name_of_tensor(const schema::Tensor& tensor) noexcept {
  const auto* extra = tensor.extra_tensor_info();
  if (extra == nullptr || extra->fully_qualified_name() == nullptr) return {};
  return extra->fully_qualified_name()->string_view();
}

[[nodiscard]] inline bool is_attribute(const schema::EValue& value) noexcept {
  const auto* tensor = value.val_as_Tensor();
  return tensor != nullptr && !name_of_tensor(*tensor).empty();
}

[[nodiscard]] inline TensorMeta meta_of(const schema::Tensor& tensor) noexcept {
  TensorMeta meta;
  meta.layout = layout_of(tensor);
  meta.is_memory_planned = tensor.allocation_info() != nullptr || tensor.data_buffer_idx() != 0;
  meta.shape_dynamism = static_cast<std::uint32_t>(tensor.shape_dynamism());
  meta.name = name_of_tensor(tensor);
  if (const auto* extra = tensor.extra_tensor_info(); extra != nullptr) {
    meta.device = dl_device(extra->device_type(), extra->device_index());
  }
  return meta;
}

}  // namespace detail

Result<MethodMeta> MethodMeta::of(const Program& program, std::string_view name) {
  TENON_TRY(const auto* plan, program.plan(name));
  return MethodMeta(program.view(), *plan);
}

MethodMeta::MethodMeta(const ProgramView& view, const schema::ExecutionPlan& plan)
    : view_(view), plan_(&plan) {
  const auto& values = *plan.values();
  for (flatbuffers::uoffset_t i = 0; i < values.size(); ++i) {
    if (detail::is_attribute(*values.Get(i))) attributes_.push_back(i);
  }
  const auto* devices = plan.non_const_buffer_device();
  if (devices == nullptr || devices->size() == 0) return;
  buffer_devices_.resize(num_memory_planned_buffers(), {TENON_DL_CPU, 0});
  for (const auto* entry : *devices) {
    // Buffer 0 is reserved: entries count from 1 (verify_buffers).
    buffer_devices_[static_cast<std::size_t>(entry->buffer_idx()) - 1] =
        dl_device(entry->device_type(), entry->device_index());
  }
}

std::string_view MethodMeta::name() const noexcept { return plan_->name()->string_view(); }

std::size_t MethodMeta::num_inputs() const noexcept { return plan_->inputs()->size(); }

std::size_t MethodMeta::num_outputs() const noexcept { return plan_->outputs()->size(); }

Result<std::uint32_t> MethodMeta::input_tag(std::size_t index) const {
  TENON_TRY(const auto* value, input_at(index));
  return value_kind(*value);
}

Result<std::uint32_t> MethodMeta::output_tag(std::size_t index) const {
  TENON_TRY(const auto* value, output_at(index));
  return value_kind(*value);
}

Result<TensorMeta> MethodMeta::input_tensor_meta(std::size_t index) const {
  TENON_TRY(const auto* value, input_at(index));
  return tensor_meta(*value, index, "input");
}

Result<TensorMeta> MethodMeta::output_tensor_meta(std::size_t index) const {
  TENON_TRY(const auto* value, output_at(index));
  return tensor_meta(*value, index, "output");
}

std::size_t MethodMeta::num_attributes() const noexcept { return attributes_.size(); }

Result<TensorMeta> MethodMeta::attribute_tensor_meta(std::size_t index) const {
  if (index >= attributes_.size()) return above_end("attribute", index, attributes_.size());
  return detail::meta_of(*plan_->values()->Get(attributes_[index])->val_as_Tensor());
}

std::size_t MethodMeta::num_memory_planned_buffers() const noexcept {
  const std::size_t size = plan_->non_const_buffer_sizes()->size();
  return size == 0 ? 0 : size - 1;
}

Result<std::uint64_t> MethodMeta::memory_planned_buffer_size(std::size_t index) const {
  if (index >= num_memory_planned_buffers()) {
    return above_end("memory-planned buffer", index, num_memory_planned_buffers());
  }
  return static_cast<std::uint64_t>(
      plan_->non_const_buffer_sizes()->Get(detail::offset_of(index + 1)));
}

Result<tenon_dl_device> MethodMeta::memory_planned_buffer_device(std::size_t index) const {
  if (index >= num_memory_planned_buffers()) {
    return above_end("memory-planned buffer", index, num_memory_planned_buffers());
  }
  return index < buffer_devices_.size() ? buffer_devices_[index] : tenon_dl_device{TENON_DL_CPU, 0};
}

std::size_t MethodMeta::num_instructions() const noexcept {
  std::size_t count = 0;
  for (const auto* chain : *plan_->chains()) count += chain->instructions()->size();
  return count;
}

std::size_t MethodMeta::num_delegates() const noexcept { return plan_->delegates()->size(); }

Result<DelegateMeta> MethodMeta::delegate(std::size_t index) const {
  if (index >= num_delegates()) return above_end("delegate", index, num_delegates());
  const auto& delegate = *plan_->delegates()->Get(detail::offset_of(index));
  DelegateMeta meta{delegate.id()->string_view(), view_.delegate_data(delegate), {}};
  for (const auto* spec : *delegate.compile_specs()) {
    meta.compile_specs.push_back(
        {spec->key()->string_view(),
         std::as_bytes(std::span(spec->value()->data(), spec->value()->size()))});
  }
  return meta;
}

bool MethodMeta::uses_backend(std::string_view id) const noexcept {
  for (const auto* delegate : *plan_->delegates()) {
    if (delegate->id()->string_view() == id) return true;
  }
  return false;
}

std::vector<std::string_view> MethodMeta::backends() const {
  std::vector<std::string_view> ids;
  for (const auto* delegate : *plan_->delegates()) ids.push_back(delegate->id()->string_view());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::size_t MethodMeta::num_operators() const noexcept { return host::num_operators(*plan_); }

Result<std::string> MethodMeta::operator_name(std::size_t index) const {
  if (index >= num_operators()) return above_end("operator", index, num_operators());
  return host::operator_name(*plan_->operators()->Get(detail::offset_of(index)));
}

Status MethodMeta::above_end(std::string_view what, std::size_t index, std::size_t count) const {
  return error(Error::InvalidArgument, "method ", quoted(name()), ": ", what, " ", index,
               " does not exist: there are ", count);
}

Result<TensorMeta> MethodMeta::tensor_meta(const schema::EValue& value, std::size_t index,
                                           std::string_view what) const {
  if (const auto* tensor = value.val_as_Tensor(); tensor != nullptr)
    return detail::meta_of(*tensor);
  return error(Error::InvalidArgument, "method ", quoted(name()), ": ", what, " ", index,
               " is of kind ", schema::EnumNameKernelTypes(value.val_type()), ", expected Tensor");
}

Result<const schema::EValue*> MethodMeta::input_at(std::size_t index) const {
  if (index >= num_inputs()) return above_end("input", index, num_inputs());
  return detail::value_at(*plan_, *plan_->inputs(), index);
}

Result<const schema::EValue*> MethodMeta::output_at(std::size_t index) const {
  if (index >= num_outputs()) return above_end("output", index, num_outputs());
  return detail::value_at(*plan_, *plan_->outputs(), index);
}

}}}  // namespace tenon::TENON_RELEASE::host
