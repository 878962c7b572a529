// SPDX-License-Identifier: MIT
#include "tenon/conformance/record_program.hpp"

#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "tenon/host/schema/program_objects_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// Assembles a `.pte` file.
class ProgramWriter {
 public:
  explicit ProgramWriter(const RecordedProgram& recorded) : recorded_(recorded) {
    auto& plan =
        *program_.execution_plan.emplace_back(std::make_unique<schema::objects::ExecutionPlanT>());
    plan.name = recorded.method;
    plan.non_const_buffer_sizes = {0};
    plan.chains.push_back(std::make_unique<schema::objects::ChainT>());
    plan_ = &plan;
  }

  [[nodiscard]] std::vector<std::byte> write() {
    add_delegate();
    schema::objects::DelegateCallT call;
    call.delegate_index = 0;
    for (const RecordedArgument& argument : recorded_.arguments) {
      const std::int32_t index =
          std::visit([&](const auto& value) { return add(value); }, argument.value);
      call.args.push_back(index);
      if (argument.is_output) {
        plan_->outputs.push_back(index);
      } else if (std::holds_alternative<RecordedTensor>(argument.value)) {
        plan_->inputs.push_back(index);
      }
    }
    if (planned_ != 0) plan_->non_const_buffer_sizes.push_back(static_cast<std::int64_t>(planned_));
    auto instruction = std::make_unique<schema::objects::InstructionT>();
    instruction->instr_args.Set(std::move(call));
    plan_->chains.front()->instructions.push_back(std::move(instruction));
    for (const auto& [key, bytes] : recorded_.named_data) {
      auto& entry =
          *program_.named_data.emplace_back(std::make_unique<schema::objects::NamedDataT>());
      entry.key = key;
      entry.segment_index = add_segment(bytes);
    }
    return file();
  }

 private:
  static constexpr std::size_t alignment = 128;  // Of segments; more than any blob needs.

  void add_delegate() {
    auto& delegate =
        *plan_->delegates.emplace_back(std::make_unique<schema::objects::BackendDelegateT>());
    delegate.id = recorded_.backend_id;
    delegate.processed = std::make_unique<schema::objects::BackendDelegateDataReferenceT>();
    if (recorded_.blob.empty()) {
      delegate.processed->location = schema::DataLocation::INLINE;
      program_.backend_delegate_data.push_back(
          std::make_unique<schema::objects::BackendDelegateInlineDataT>());
    } else {
      delegate.processed->location = schema::DataLocation::SEGMENT;
      delegate.processed->index = add_segment(recorded_.blob);
    }
    for (const auto& [key, bytes] : recorded_.compile_specs) {
      auto& spec =
          *delegate.compile_specs.emplace_back(std::make_unique<schema::objects::CompileSpecT>());
      spec.key = key;
      for (const std::byte one : bytes) spec.value.push_back(static_cast<std::uint8_t>(one));
    }
  }

  std::uint32_t add_segment(std::span<const std::byte> bytes) {
    pad(segments_);
    auto& segment =
        *program_.segments.emplace_back(std::make_unique<schema::objects::DataSegmentT>());
    segment.offset = segments_.size();
    segment.size = bytes.size();
    segments_.insert(segments_.end(), bytes.begin(), bytes.end());
    return static_cast<std::uint32_t>(program_.segments.size()) - 1;
  }

  template <class Payload>
  std::int32_t add_value(Payload payload) {
    auto value = std::make_unique<schema::objects::EValueT>();
    value->val.Set(std::move(payload));
    plan_->values.push_back(std::move(value));
    return static_cast<std::int32_t>(plan_->values.size()) - 1;
  }

  std::int32_t add(const std::monostate&) { return add_value(schema::objects::NullT{}); }
  std::int32_t add(const std::int64_t& number) {
    schema::objects::IntT out;
    out.int_val = number;
    return add_value(std::move(out));
  }
  std::int32_t add(const double& number) {
    schema::objects::DoubleT out;
    out.double_val = number;
    return add_value(std::move(out));
  }
  std::int32_t add(const bool& truth) {
    schema::objects::BoolT out;
    out.bool_val = truth;
    return add_value(std::move(out));
  }
  std::int32_t add(const std::string& text) {
    schema::objects::StringT out;
    out.string_val = text;
    return add_value(std::move(out));
  }
  std::int32_t add(const std::vector<std::int64_t>& numbers) {
    schema::objects::IntListT out;
    for (const std::int64_t& number : numbers) out.items.push_back(add(number));
    return add_value(std::move(out));
  }
  std::int32_t add(const std::vector<double>& numbers) {
    schema::objects::DoubleListT out;
    out.items = numbers;
    return add_value(std::move(out));
  }
  std::int32_t add(const std::vector<bool>& truths) {
    schema::objects::BoolListT out;
    out.items.assign(truths.begin(), truths.end());
    return add_value(std::move(out));
  }
  std::int32_t add(const RecordedTensor& tensor) {
    schema::objects::TensorT out;
    out.scalar_type = static_cast<schema::ScalarType>(tensor.type);
    out.sizes = tensor.bounds;
    out.dim_order = tensor.dim_order;
    out.shape_dynamism = static_cast<schema::TensorShapeDynamism>(tensor.shape_dynamism);
    if (tensor.is_planned) out.allocation_info = plan_memory(tensor);
    return add_value(std::move(out));
  }

  /// All tensors are alive at once, so they are stored one after the other in one buffer.
  std::unique_ptr<schema::objects::AllocationDetailsT> plan_memory(const RecordedTensor& tensor) {
    std::uint64_t size = size_of(tensor.type);
    for (const std::int32_t bound : tensor.bounds) size *= static_cast<std::uint64_t>(bound);
    auto out = std::make_unique<schema::objects::AllocationDetailsT>();
    out->memory_id = 1;
    out->memory_offset_low = static_cast<std::uint32_t>(planned_);
    out->memory_offset_high = static_cast<std::uint32_t>(planned_ >> 32);
    planned_ += (size + 15) / 16 * 16 + 16;
    return out;
  }

  static void pad(std::vector<std::byte>& bytes) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
  }

  /// The flatbuffer with the extended header, followed by the segments.
  std::vector<std::byte> file() const {
    flatbuffers::FlatBufferBuilder builder;
    schema::objects::FinishProgramBuffer(builder,
                                         schema::objects::CreateProgram(builder, &program_));
    const auto flatbuffer = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    constexpr std::size_t at = 8;  // After the root offset and the file identifier.
    constexpr std::uint32_t header = 32;
    const std::uint64_t program_size = flatbuffer.size() + header;
    std::vector<std::byte> out(flatbuffer.begin(), flatbuffer.end());
    out.insert(out.begin() + at, header, std::byte{});
    pad(out);
    const std::uint64_t segment_base = segments_.empty() ? 0 : out.size();
    out.insert(out.end(), segments_.begin(), segments_.end());
    const auto put = [&](std::size_t offset, auto number) {
      std::memcpy(out.data() + offset, &number, sizeof number);
    };
    put(0, flatbuffers::ReadScalar<std::uint32_t>(flatbuffer.data()) + header);
    std::memcpy(out.data() + at, "eh00", 4);
    put(at + 4, header);
    put(at + 8, program_size);
    put(at + 16, segment_base);
    put(at + 24, std::uint64_t{segments_.size()});
    return out;
  }

  const RecordedProgram& recorded_;
  schema::objects::ProgramT program_;
  schema::objects::ExecutionPlanT* plan_;
  std::vector<std::byte> segments_;
  std::uint64_t planned_ = 0;
};

}  // namespace

std::vector<std::byte> write_program(const RecordedProgram& recorded) {
  return ProgramWriter(recorded).write();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
