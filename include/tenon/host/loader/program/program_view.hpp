// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// The DLPack device for a device of a verified program: the two count types differently.
[[nodiscard]] tenon_dl_device dl_device(schema::DeviceType type, std::int8_t index) noexcept;

/// Name and overload of an operator, joined by a dot ("aten::add.out"), as kernels are found.
[[nodiscard]] std::string operator_name(const schema::Operator& op);

/// Number of the operators that a verified plan calls outside of its delegates. A plan without any
/// may leave the list out.
[[nodiscard]] std::uint32_t num_operators(const schema::ExecutionPlan& plan) noexcept;

/// Kind of a verified value (TENON_VALUE_...). Its name is `value_kind_name` of core/args.hpp.
[[nodiscard]] std::uint32_t value_kind(const schema::EValue& value) noexcept;

/// The parts of a program in memory: the flatbuffer and the segments behind it. It owns nothing and
/// is as small as three pointers. Immutable; any thread may use it.
///
/// A view that a `Program` returned satisfies everything that
/// tenon/host/loader/impl/program/verify.hpp lists. Functions that take an index "of the program"
/// then need no check and do none.
class ProgramView {
 public:
  /// `segment_base` is the offset of the first segment in `file`, at most the size of `file`.
  ProgramView(std::span<const std::byte> file, const schema::Program& program,
              std::uint64_t segment_base) noexcept
      : segments_(file.subspan(static_cast<std::size_t>(segment_base))), program_(&program) {}

  [[nodiscard]] const schema::Program& flatbuffer() const noexcept { return *program_; }

  [[nodiscard]] std::size_t num_segments() const noexcept;

  /// The bytes from the first segment to the end of the file.
  [[nodiscard]] std::span<const std::byte> segment_area() const noexcept { return segments_; }

  /// Segment `index`, below `num_segments()`. May be empty.
  [[nodiscard]] std::span<const std::byte> segment(std::size_t index) const noexcept;

  /// The blob of a delegate of the program, whether it is in a segment or in the flatbuffer.
  [[nodiscard]] std::span<const std::byte> delegate_data(
      const schema::BackendDelegate& delegate) const noexcept;

  /// The first `nbytes` bytes of constant number `buffer_index` (Tensor.data_buffer_idx), from the
  /// constant segment or, in old files, from the flatbuffer.
  ///
  /// errors: InvalidArgument when there is no such constant or it has fewer bytes
  ///         (Program::get_constant_buffer_data).
  [[nodiscard]] Result<std::span<const std::byte>> constant_data(std::size_t buffer_index,
                                                                 std::uint64_t nbytes) const;

  /// The first `nbytes` bytes of the initial state number `offset_index` (Tensor.data_buffer_idx)
  /// in mutable data segment `segments_index` (ExtraTensorInfo.mutable_data_segments_idx, else 0).
  /// The address may be unaligned: the state is meant to be copied.
  ///
  /// errors: InvalidArgument when there is no such segment or state, or it has fewer bytes.
  [[nodiscard]] Result<std::span<const std::byte>> mutable_data(std::uint64_t segments_index,
                                                                std::size_t offset_index,
                                                                std::uint64_t nbytes) const;

  /// Whether constants are in a segment. Its first offset is reserved, so a list of one offset
  /// means that there are no constants (Program::load).
  [[nodiscard]] bool uses_constant_segment() const noexcept;

 private:
  [[nodiscard]] Result<std::span<const std::byte>> subsegment(
      const schema::SubsegmentOffsets& where, std::string_view field, std::size_t offset_index,
      std::uint64_t nbytes) const;

  std::span<const std::byte> segments_;
  const schema::Program* program_;
};

}}}  // namespace tenon::TENON_RELEASE::host
