// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/aligned_bytes.hpp"
#include "tenon/core/file_bytes.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/loader/program/file_header.hpp"
#include "tenon/host/schema/program_generated.h"
#include "tenon/host/schema/program_objects_generated.h"

namespace tenon::test {

/// `value` as the byte type of the format's vectors.
inline std::span<const std::byte> bytes_of(std::string_view value) {
  return std::as_bytes(std::span(value.data(), value.size()));
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Union, class Payload>
std::unique_ptr<Union> make_union(Payload payload) {
  auto out = std::make_unique<Union>();
  if constexpr (std::is_same_v<Union, schema::objects::EValueT>) {
    out->val.Set(std::move(payload));
  } else {
    out->instr_args.Set(std::move(payload));
  }
  return out;
}

inline schema::objects::IntT int_value(std::int64_t value) {
  schema::objects::IntT out;
  out.int_val = value;
  return out;
}
inline schema::objects::BoolT bool_value(bool value) {
  schema::objects::BoolT out;
  out.bool_val = value;
  return out;
}
inline schema::objects::DoubleT double_value(double value) {
  schema::objects::DoubleT out;
  out.double_val = value;
  return out;
}
inline schema::objects::StringT string_value(std::string value) {
  schema::objects::StringT out;
  out.string_val = std::move(value);
  return out;
}
template <class List, class Items>
List list_of(Items items) {
  List out;
  out.items = std::move(items);
  return out;
}
inline schema::objects::IntListT int_list(std::vector<std::int64_t> items) {
  return list_of<schema::objects::IntListT>(std::move(items));
}
inline schema::objects::DoubleListT double_list(std::vector<double> items) {
  return list_of<schema::objects::DoubleListT>(std::move(items));
}
inline schema::objects::BoolListT bool_list(std::vector<bool> items) {
  schema::objects::BoolListT out;
  out.items.assign(items.begin(), items.end());
  return out;
}
inline schema::objects::TensorListT tensor_list(std::vector<std::int32_t> items) {
  return list_of<schema::objects::TensorListT>(std::move(items));
}
inline schema::objects::OptionalTensorListT optional_tensor_list(std::vector<std::int32_t> items) {
  return list_of<schema::objects::OptionalTensorListT>(std::move(items));
}

/// A contiguous tensor without data: the caller sets it.
schema::objects::TensorT tensor(ScalarType type, std::vector<std::int32_t> sizes);
/// A tensor in planned memory.
schema::objects::TensorT planned_tensor(ScalarType type, std::vector<std::int32_t> sizes,
                                        std::uint32_t memory_id, std::uint64_t offset);
/// A tensor with the data of constant `buffer_index`.
schema::objects::TensorT constant_tensor(ScalarType type, std::vector<std::int32_t> sizes,
                                         std::uint32_t buffer_index);

inline schema::objects::KernelCallT kernel_call(std::int32_t op, std::vector<std::int32_t> args) {
  schema::objects::KernelCallT out;
  out.op_index = op;
  out.args = std::move(args);
  return out;
}
inline schema::objects::DelegateCallT delegate_call(std::int32_t delegate,
                                                    std::vector<std::int32_t> args) {
  schema::objects::DelegateCallT out;
  out.delegate_index = delegate;
  out.args = std::move(args);
  return out;
}
inline schema::objects::MoveCallT move_call(std::int32_t from, std::int32_t to) {
  schema::objects::MoveCallT out;
  out.move_from = from;
  out.move_to = to;
  return out;
}
inline schema::objects::JumpFalseCallT jump_false_call(std::int32_t condition,
                                                       std::int32_t destination) {
  schema::objects::JumpFalseCallT out;
  out.cond_value_index = condition;
  out.destination_instruction = destination;
  return out;
}
inline schema::objects::FreeCallT free_call(std::int32_t value) {
  schema::objects::FreeCallT out;
  out.value_index = value;
  return out;
}

/// One method under construction. A view of its table in `ProgramBuilder::program`.
class PlanBuilder {
 public:
  explicit PlanBuilder(schema::objects::ExecutionPlanT& plan) : plan_(&plan) {}

  schema::objects::ExecutionPlanT& table() const { return *plan_; }

  /// Adds a value and returns its index.
  template <class Payload>
  std::int32_t value(Payload payload) {
    plan_->values.push_back(make_union<schema::objects::EValueT>(std::move(payload)));
    return static_cast<std::int32_t>(plan_->values.size()) - 1;
  }
  /// Adds a value that is also an input or output.
  template <class Payload>
  std::int32_t input(Payload payload) {
    plan_->inputs.push_back(value(std::move(payload)));
    return plan_->inputs.back();
  }
  template <class Payload>
  std::int32_t output(Payload payload) {
    plan_->outputs.push_back(value(std::move(payload)));
    return plan_->outputs.back();
  }

  /// Adds planned memory and returns its memory_id.
  std::uint32_t buffer(std::int64_t nbytes);

  std::int32_t op(std::string name, std::string overload);

  std::int32_t delegate(std::string id, schema::DataLocation location, std::uint32_t index);
  void compile_spec(std::int32_t delegate, std::string key, std::string_view value);

  /// Adds an instruction to the last chain.
  template <class Payload>
  void instruction(Payload payload) {
    plan_->chains.back()->instructions.push_back(
        make_union<schema::objects::InstructionT>(std::move(payload)));
  }

 private:
  schema::objects::ExecutionPlanT* plan_;
};

/// Makes the bytes of a `.pte` file. Everything in `program` may be edited until `build`, so that a
/// test can make a program with one fault. Empty lists and strings are written, as ExecuTorch does;
/// to leave a field out, use `remove_field` on the built bytes.
class ProgramBuilder {
 public:
  enum class Header {
    none,  ///< The flatbuffer alone; only for programs whose segments are empty.
    without_segment_data_size,  ///< 24 bytes, as before ExecuTorch 1.0.
    full,                       ///< 32 bytes.
  };

  schema::objects::ProgramT program;

  ProgramBuilder();
  ~ProgramBuilder();
  ProgramBuilder(ProgramBuilder&&) noexcept;
  ProgramBuilder& operator=(ProgramBuilder&&) noexcept;

  /// The program of a file that was opened without an error, to change it and to build it again.
  /// `program` keeps what the flatbuffer holds, and segments stay as they are.
  [[nodiscard]] static ProgramBuilder of(std::span<const std::byte> file) {
    ProgramBuilder out;
    schema::objects::GetProgram(file.data())->UnPackTo(&out.program);
    const auto parts = host::detail::read_program_header(FileBytes(file), file.size());
    if (!parts.ok() || parts->segment_base == 0) return out;
    const auto segments = file.subspan(static_cast<std::size_t>(parts->segment_base),
                                       static_cast<std::size_t>(parts->segment_size));
    out.segments_.assign(segments.begin(), segments.end());
    return out;
  }

  /// Adds a method with no values, one chain without instructions, and the reserved buffer size.
  PlanBuilder plan(std::string name);

  /// Adds a segment and returns its index.
  std::uint32_t segment(std::span<const std::byte> data, std::size_t alignment = 128);

  /// Makes the constant segment of all constants, each aligned to 16. They are numbered from 1 on.
  void constants(const std::vector<std::string>& data);
  /// Adds a mutable data segment of initial states, numbered from 1 on, and returns its index.
  std::uint32_t mutable_data(const std::vector<std::string>& data);

  void named_data(std::string key, std::uint32_t segment_index);

  /// Adds a blob inside the flatbuffer and returns its index.
  std::uint32_t inline_blob(std::string_view data);

  [[nodiscard]] AlignedBytes build(Header header = Header::full) const;

 private:
  std::unique_ptr<schema::objects::SubsegmentOffsetsT> subsegments(
      const std::vector<std::string>& data);

  std::vector<std::byte> segments_;
};

/// Writes a number into a built file.
template <class Number>
void patch(AlignedBytes& file, std::size_t offset, Number number) {
  std::memcpy(file.bytes().subspan(offset, sizeof number).data(), &number, sizeof number);
}

/// The program inside a built file.
inline const schema::Program& program_in(const AlignedBytes& file) {
  return *schema::GetProgram(file.bytes().data());
}

/// Leaves a field out of a table of a built file: `remove_field(plan,
/// schema::ExecutionPlan::VT_NAME)`. The table is part of the bytes of an `AlignedBytes`, which are
/// writable.
template <class Table>
void remove_field(const Table& table, flatbuffers::voffset_t field) {
  const auto* base = reinterpret_cast<const std::uint8_t*>(&table);
  const auto* vtable = base - flatbuffers::ReadScalar<flatbuffers::soffset_t>(base);
  const flatbuffers::voffset_t absent = 0;
  std::memcpy(const_cast<std::uint8_t*>(vtable) + field, &absent, sizeof absent);
}

/// A smallest useful program: method "forward" takes a float tensor of four elements and gives one,
/// through one delegate of backend `id` whose blob is in a segment.
ProgramBuilder delegate_program(std::string id, std::string_view blob);

}  // namespace tenon::test
