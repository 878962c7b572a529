// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/program/program_view.hpp"

#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {
namespace detail {

[[nodiscard]] inline std::span<const std::byte> bytes_of(
    const flatbuffers::Vector<std::uint8_t>* data) noexcept {
  if (data == nullptr) return {};
  return std::as_bytes(std::span(data->data(), data->size()));
}

}  // namespace detail

tenon_dl_device dl_device(schema::DeviceType type, std::int8_t index) noexcept {
  switch (type) {
    case schema::DeviceType::CPU:
      break;
    case schema::DeviceType::CUDA:
      return {TENON_DL_CUDA, index};
  }
  return {TENON_DL_CPU, 0};
}

std::uint32_t num_operators(const schema::ExecutionPlan& plan) noexcept {
  return plan.operators() ? plan.operators()->size() : 0;
}

std::string operator_name(const schema::Operator& op) {
  std::string name = op.name()->str();
  if (op.overload() != nullptr && op.overload()->size() != 0) {
    name += '.';
    name += op.overload()->string_view();
  }
  return name;
}

std::uint32_t value_kind(const schema::EValue& value) noexcept {
  using schema::KernelTypes;
  switch (value.val_type()) {
    case KernelTypes::Int:
      return TENON_VALUE_INT;
    case KernelTypes::Bool:
      return TENON_VALUE_BOOL;
    case KernelTypes::Double:
      return TENON_VALUE_DOUBLE;
    case KernelTypes::Tensor:
      return TENON_VALUE_TENSOR;
    case KernelTypes::String:
      return TENON_VALUE_STRING;
    case KernelTypes::IntList:
      return TENON_VALUE_INT_LIST;
    case KernelTypes::DoubleList:
      return TENON_VALUE_DOUBLE_LIST;
    case KernelTypes::BoolList:
      return TENON_VALUE_BOOL_LIST;
    case KernelTypes::TensorList:
      return TENON_VALUE_TENSOR_LIST;
    case KernelTypes::OptionalTensorList:
      return TENON_VALUE_OPTIONAL_TENSOR_LIST;
    default:
      return TENON_VALUE_NONE;
  }
}

std::size_t ProgramView::num_segments() const noexcept {
  return program_->segments() == nullptr ? 0 : program_->segments()->size();
}

std::span<const std::byte> ProgramView::segment(std::size_t index) const noexcept {
  const auto* segment = program_->segments()->Get(static_cast<flatbuffers::uoffset_t>(index));
  return segments_.subspan(static_cast<std::size_t>(segment->offset()),
                           static_cast<std::size_t>(segment->size()));
}

std::span<const std::byte> ProgramView::delegate_data(
    const schema::BackendDelegate& delegate) const noexcept {
  const auto* reference = delegate.processed();
  if (reference->location() == schema::DataLocation::SEGMENT) return segment(reference->index());
  return detail::bytes_of(program_->backend_delegate_data()->Get(reference->index())->data());
}

Result<std::span<const std::byte>> ProgramView::constant_data(std::size_t buffer_index,
                                                              std::uint64_t nbytes) const {
  const auto index = static_cast<flatbuffers::uoffset_t>(buffer_index);
  if (uses_constant_segment()) {
    return subsegment(*program_->constant_segment(), "constant_segment", buffer_index, nbytes);
  }
  const auto* buffers = program_->constant_buffer();
  const std::size_t count = buffers == nullptr ? 0 : buffers->size();
  if (buffer_index >= count) {
    return error(Error::InvalidArgument, "constant ", buffer_index,
                 " does not exist: the program has ", count);
  }
  const auto bytes = detail::bytes_of(buffers->Get(index)->storage());
  if (nbytes > bytes.size()) {
    return error(Error::InvalidArgument, "constant_buffer[", buffer_index, "] has ", bytes.size(),
                 " bytes, expected at least ", nbytes);
  }
  return bytes.first(static_cast<std::size_t>(nbytes));
}

Result<std::span<const std::byte>> ProgramView::mutable_data(std::uint64_t segments_index,
                                                             std::size_t offset_index,
                                                             std::uint64_t nbytes) const {
  const auto* all = program_->mutable_data_segments();
  const std::size_t count = all == nullptr ? 0 : all->size();
  if (segments_index >= count) {
    return error(Error::InvalidArgument, "mutable_data_segments[", segments_index,
                 "] does not exist: the program has ", count);
  }
  return subsegment(*all->Get(static_cast<flatbuffers::uoffset_t>(segments_index)),
                    "mutable_data_segments", offset_index, nbytes);
}

bool ProgramView::uses_constant_segment() const noexcept {
  const auto* segment = program_->constant_segment();
  return segment != nullptr && segment->offsets() != nullptr && segment->offsets()->size() > 1;
}

Result<std::span<const std::byte>> ProgramView::subsegment(const schema::SubsegmentOffsets& where,
                                                           std::string_view field,
                                                           std::size_t offset_index,
                                                           std::uint64_t nbytes) const {
  const auto count = where.offsets()->size();
  if (offset_index >= count) {
    return error(Error::InvalidArgument, field, ".offsets[", offset_index,
                 "] does not exist: it has ", count);
  }
  const auto bytes = segment(where.segment_index());
  const std::uint64_t offset =
      where.offsets()->Get(static_cast<flatbuffers::uoffset_t>(offset_index));
  if (offset > bytes.size() || nbytes > bytes.size() - offset) {
    return error(Error::InvalidArgument, field, ".offsets[", offset_index, "]: ", nbytes,
                 " bytes at ", offset, " are expected in segment ", where.segment_index(),
                 ", which has ", bytes.size());
  }
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(nbytes));
}

}}}  // namespace tenon::TENON_RELEASE::host
