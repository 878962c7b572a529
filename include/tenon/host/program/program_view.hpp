// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon::host {

/// The parts of a program in memory: the flatbuffer and the segments behind it. A view: it owns
/// nothing and is as small as three pointers. Immutable; any thread may use it.
///
/// One that a `Program` returned satisfies everything that tenon/host/program/verify.hpp lists.
/// Functions that take an index "of the program" then need no check and do none.
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

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include "tenon/host/schema/program_generated.h"

namespace tenon::host {
namespace detail {

[[nodiscard]] inline std::span<const std::byte> bytes_of(
    const flatbuffers::Vector<std::uint8_t>* data) noexcept {
  if (data == nullptr) return {};
  return std::as_bytes(std::span(data->data(), data->size()));
}

}  // namespace detail

TENON_API std::size_t ProgramView::num_segments() const noexcept {
  return program_->segments() == nullptr ? 0 : program_->segments()->size();
}

TENON_API std::span<const std::byte> ProgramView::segment(std::size_t index) const noexcept {
  const auto* segment = program_->segments()->Get(static_cast<flatbuffers::uoffset_t>(index));
  return segments_.subspan(static_cast<std::size_t>(segment->offset()),
                           static_cast<std::size_t>(segment->size()));
}

TENON_API std::span<const std::byte> ProgramView::delegate_data(
    const schema::BackendDelegate& delegate) const noexcept {
  const auto* reference = delegate.processed();
  if (reference->location() == schema::DataLocation::SEGMENT) return segment(reference->index());
  return detail::bytes_of(program_->backend_delegate_data()->Get(reference->index())->data());
}

TENON_API Result<std::span<const std::byte>> ProgramView::constant_data(
    std::size_t buffer_index, std::uint64_t nbytes) const {
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

TENON_API Result<std::span<const std::byte>> ProgramView::mutable_data(std::uint64_t segments_index,
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

TENON_API bool ProgramView::uses_constant_segment() const noexcept {
  const auto* segment = program_->constant_segment();
  return segment != nullptr && segment->offsets() != nullptr && segment->offsets()->size() > 1;
}

TENON_COLD TENON_API Result<std::span<const std::byte>> ProgramView::subsegment(
    const schema::SubsegmentOffsets& where, std::string_view field, std::size_t offset_index,
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

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
