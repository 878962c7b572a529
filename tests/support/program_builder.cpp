// SPDX-License-Identifier: MIT
#include "support/program_builder.hpp"

#include <cstring>
#include <numeric>

#include "tenon/host/schema/program_objects_generated.h"

namespace tenon::test {
namespace {

template <class Number>
void put(std::span<std::byte> file, std::size_t offset, Number number) {
  std::memcpy(file.data() + offset, &number, sizeof number);
}

}  // namespace

schema::objects::TensorT tensor(ScalarType type, std::vector<std::int32_t> sizes) {
  schema::objects::TensorT out;
  out.scalar_type = static_cast<schema::ScalarType>(type);
  out.dim_order.resize(sizes.size());
  std::iota(out.dim_order.begin(), out.dim_order.end(), std::uint8_t{0});
  out.sizes = std::move(sizes);
  return out;
}

schema::objects::TensorT planned_tensor(ScalarType type, std::vector<std::int32_t> sizes,
                                        std::uint32_t memory_id, std::uint64_t offset) {
  auto out = tensor(type, std::move(sizes));
  out.allocation_info = std::make_unique<schema::objects::AllocationDetailsT>();
  out.allocation_info->memory_id = memory_id;
  out.allocation_info->memory_offset_low = static_cast<std::uint32_t>(offset);
  out.allocation_info->memory_offset_high = static_cast<std::uint32_t>(offset >> 32);
  return out;
}

schema::objects::TensorT constant_tensor(ScalarType type, std::vector<std::int32_t> sizes,
                                         std::uint32_t buffer_index) {
  auto out = tensor(type, std::move(sizes));
  out.data_buffer_idx = buffer_index;
  return out;
}

ProgramBuilder::ProgramBuilder() = default;
ProgramBuilder::~ProgramBuilder() = default;
ProgramBuilder::ProgramBuilder(ProgramBuilder&&) noexcept = default;
ProgramBuilder& ProgramBuilder::operator=(ProgramBuilder&&) noexcept = default;

std::uint32_t PlanBuilder::buffer(std::int64_t nbytes) {
  plan_->non_const_buffer_sizes.push_back(nbytes);
  return static_cast<std::uint32_t>(plan_->non_const_buffer_sizes.size()) - 1;
}

std::int32_t PlanBuilder::op(std::string name, std::string overload) {
  plan_->operators.push_back(std::make_unique<schema::objects::OperatorT>());
  plan_->operators.back()->name = std::move(name);
  plan_->operators.back()->overload = std::move(overload);
  return static_cast<std::int32_t>(plan_->operators.size()) - 1;
}

std::int32_t PlanBuilder::delegate(std::string id, schema::DataLocation location,
                                   std::uint32_t index) {
  auto& delegate =
      *plan_->delegates.emplace_back(std::make_unique<schema::objects::BackendDelegateT>());
  delegate.id = std::move(id);
  delegate.processed = std::make_unique<schema::objects::BackendDelegateDataReferenceT>();
  delegate.processed->location = location;
  delegate.processed->index = index;
  return static_cast<std::int32_t>(plan_->delegates.size()) - 1;
}

void PlanBuilder::compile_spec(std::int32_t delegate, std::string key, std::string_view value) {
  auto& specs = plan_->delegates.at(static_cast<std::size_t>(delegate))->compile_specs;
  auto& spec = *specs.emplace_back(std::make_unique<schema::objects::CompileSpecT>());
  spec.key = std::move(key);
  spec.value.assign(value.begin(), value.end());
}

PlanBuilder ProgramBuilder::plan(std::string name) {
  auto& plan =
      *program.execution_plan.emplace_back(std::make_unique<schema::objects::ExecutionPlanT>());
  plan.name = std::move(name);
  plan.chains.push_back(std::make_unique<schema::objects::ChainT>());
  plan.non_const_buffer_sizes = {0};
  return PlanBuilder(plan);
}

std::uint32_t ProgramBuilder::segment(std::span<const std::byte> data, std::size_t alignment) {
  segments_.resize((segments_.size() + alignment - 1) / alignment * alignment);
  auto& segment = *program.segments.emplace_back(std::make_unique<schema::objects::DataSegmentT>());
  segment.offset = segments_.size();
  segment.size = data.size();
  segments_.insert(segments_.end(), data.begin(), data.end());
  return static_cast<std::uint32_t>(program.segments.size()) - 1;
}

void ProgramBuilder::constants(const std::vector<std::string>& data) {
  program.constant_segment = subsegments(data);
}

std::uint32_t ProgramBuilder::mutable_data(const std::vector<std::string>& data) {
  program.mutable_data_segments.push_back(subsegments(data));
  return static_cast<std::uint32_t>(program.mutable_data_segments.size()) - 1;
}

void ProgramBuilder::named_data(std::string key, std::uint32_t segment_index) {
  auto& entry = *program.named_data.emplace_back(std::make_unique<schema::objects::NamedDataT>());
  entry.key = std::move(key);
  entry.segment_index = segment_index;
}

std::uint32_t ProgramBuilder::inline_blob(std::string_view data) {
  auto& blob = *program.backend_delegate_data.emplace_back(
      std::make_unique<schema::objects::BackendDelegateInlineDataT>());
  blob.data.assign(data.begin(), data.end());
  return static_cast<std::uint32_t>(program.backend_delegate_data.size()) - 1;
}

AlignedBytes ProgramBuilder::build(Header header) const {
  flatbuffers::FlatBufferBuilder builder;
  builder.DedupVtables(false);
  schema::objects::FinishProgramBuffer(builder, schema::objects::CreateProgram(builder, &program));
  const auto flatbuffer = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  if (header == Header::none) return AlignedBytes(flatbuffer);

  constexpr std::size_t inserted = 32;
  constexpr std::size_t at = 8;
  std::vector<std::byte> file(flatbuffer.begin(), flatbuffer.begin() + at);
  file.resize(at + inserted);
  file.insert(file.end(), flatbuffer.begin() + at, flatbuffer.end());
  const std::uint64_t program_size = file.size();
  file.resize((file.size() + 127) / 128 * 128);
  const std::uint64_t segment_base = segments_.empty() ? 0 : file.size();
  file.insert(file.end(), segments_.begin(), segments_.end());

  put(file, 0, flatbuffers::ReadScalar<std::uint32_t>(file.data()) + std::uint32_t{inserted});
  std::memcpy(file.data() + at, "eh00", 4);
  put(file, at + 4, header == Header::full ? 32u : 24u);
  put(file, at + 8, program_size);
  put(file, at + 16, segment_base);
  if (header == Header::full) put(file, at + 24, std::uint64_t{segments_.size()});
  return AlignedBytes(file);
}

std::unique_ptr<schema::objects::SubsegmentOffsetsT> ProgramBuilder::subsegments(
    const std::vector<std::string>& data) {
  auto out = std::make_unique<schema::objects::SubsegmentOffsetsT>();
  out->offsets = {0};
  std::string all;
  for (const auto& part : data) {
    all.resize((all.size() + 15) / 16 * 16);
    out->offsets.push_back(all.size());
    all += part;
  }
  out->segment_index = segment(bytes_of(all));
  return out;
}

ProgramBuilder delegate_program(std::string id, std::string_view blob) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  const auto x = plan.input(planned_tensor(ScalarType::Float, {4}, memory, 0));
  const auto y = plan.output(planned_tensor(ScalarType::Float, {4}, memory, 16));
  const auto segment = builder.segment(bytes_of(blob));
  const auto delegate = plan.delegate(std::move(id), schema::DataLocation::SEGMENT, segment);
  plan.instruction(delegate_call(delegate, {x, y}));
  return builder;
}

}  // namespace tenon::test
