// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/write/pte_writer.hpp"

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/impl/emit/method_tables.hpp"
#include "tenon/aot/compiler/impl/write/file_image.hpp"
#include "tenon/aot/compiler/impl/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/program_check.hpp"
#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/unique_bytes.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

/// Lays out a program that has been checked.
class PteLayout {
 public:
  PteLayout(const ProgramData& program, const PteOptions& options) noexcept
      : program_(&program), options_(&options), segments_(options.segment_alignment) {}

  [[nodiscard]] Result<FileImage> make() && {
    const auto constants = add_subsegments(program_->constants, options_->constant_alignment);
    // States are copied when a method is loaded, so they need no alignment.
    Subsegments states;
    if (!program_->initial_states.empty()) states = add_subsegments(program_->initial_states, 1);
    const auto blobs = place_blobs();
    TENON_TRY(const auto named, add_named_segments(segments_, program_->named_data.buffers,
                                                   program_->named_data.pte_data));
    TENON_RETURN_IF_ERROR(check_size());

    const auto constant_segment = table(constants);
    Offset<flatbuffers::Vector<Offset<schema::SubsegmentOffsets>>> mutable_segments;
    if (!program_->initial_states.empty()) {
      const auto one = table(states);
      mutable_segments = builder_.CreateVector(&one, 1);
    }
    std::vector<Offset<schema::ExecutionPlan>> plans;
    const MethodTables::BufferNumbers numbers{constants.numbers, states.numbers};
    for (std::size_t i = 0; i < program_->methods.size(); ++i) {
      plans.push_back(MethodTables(builder_, program_->methods[i], numbers, blobs[i]).build());
    }
    std::vector<Offset<schema::NamedData>> entries(named.size());
    const auto add_entry = [&](std::size_t i) {
      const auto key = builder_.CreateString(program_->named_data.pte_data[i].key);
      entries[i] = schema::CreateNamedData(builder_, key, named[i]);
    };
    // What is made last is first in the file: hosts look for the table of variants in the first
    // bytes.
    const bool has_variants =
        !named.empty() && program_->named_data.pte_data.back().key == host::variants_key;
    for (std::size_t i = 0; i < named.size() - (has_variants ? 1 : 0); ++i) add_entry(i);
    std::vector<Offset<schema::DataSegment>> segments;
    for (const auto& [offset, size] : segments_.all()) {
      segments.push_back(schema::CreateDataSegment(builder_, offset, size));
    }
    const auto plan_list = builder_.CreateVector(plans);
    const auto no_constants = builder_.CreateVector(std::vector<Offset<schema::Buffer>>());
    const auto inline_list = builder_.CreateVector(inline_tables());
    const auto segment_list = builder_.CreateVector(segments);
    if (has_variants) add_entry(named.size() - 1);
    const auto named_list = builder_.CreateVector(entries);
    schema::FinishProgramBuffer(
        builder_,
        schema::CreateProgram(builder_, 0, plan_list, no_constants, inline_list, segment_list,
                              constant_segment, mutable_segments, named_list));
    return std::move(segments_).image(head());
  }

 private:
  template <class Table>
  using Offset = flatbuffers::Offset<Table>;

  struct Subsegments {
    std::uint32_t segment = 0;
    std::vector<std::uint64_t> offsets;  ///< By number; entry 0 is reserved.
    std::vector<std::uint32_t> numbers;  ///< By index in the description.
  };

  /// One segment of all contents, each of them once. ExecuTorch's writer makes one of constants
  /// even when there are none.
  [[nodiscard]] Subsegments add_subsegments(const std::vector<SharedBytes>& all,
                                            std::uint64_t alignment) {
    Subsegments out{segments_.begin(alignment), {0}, {}};
    UniqueBytes seen;
    for (const auto& bytes : all) {
      const auto index = seen.add(bytes);
      if (index + 1 == out.offsets.size()) {
        out.offsets.push_back(segments_.append(bytes, alignment));
      }
      out.numbers.push_back(index + 1);
    }
    return out;
  }

  [[nodiscard]] Offset<schema::SubsegmentOffsets> table(const Subsegments& all) {
    return schema::CreateSubsegmentOffsets(builder_, all.segment,
                                           builder_.CreateVector(all.offsets));
  }

  /// Gives each blob a segment or a number inside, equal ones the same.
  [[nodiscard]] std::vector<std::vector<MethodTables::Blob>> place_blobs() {
    using schema::DataLocation;
    std::vector<std::vector<MethodTables::Blob>> out;
    UniqueBytes outside;
    std::vector<std::uint32_t> segment_of;
    for (const auto& method : program_->methods) {
      auto& blobs = out.emplace_back();
      for (const auto& delegate : method.delegates) {
        const auto placement = delegate.placement == BlobPlacement::Default
                                   ? options_->delegate_placement
                                   : delegate.placement;
        if (delegate.processed.empty() || placement == BlobPlacement::Inline) {
          blobs.push_back({DataLocation::INLINE, inside_.add(delegate.processed)});
          continue;
        }
        const auto index = outside.add(delegate.processed);
        if (index == segment_of.size()) {
          segment_of.push_back(segments_.add(delegate.processed, options_->delegate_alignment));
        }
        blobs.push_back({DataLocation::SEGMENT, segment_of[index]});
      }
    }
    return out;
  }

  [[nodiscard]] std::vector<Offset<schema::BackendDelegateInlineData>> inline_tables() {
    std::vector<Offset<schema::BackendDelegateInlineData>> out;
    for (const auto& blob : inside_.all()) {
      const auto* data = reinterpret_cast<const std::uint8_t*>(blob.bytes().data());
      builder_.ForceVectorAlignment(blob.size(), 1, 16);
      const auto bytes = builder_.CreateVector(data, blob.size());
      out.push_back(schema::CreateBackendDelegateInlineData(builder_, bytes));
    }
    return out;
  }

  /// The library that builds flatbuffers stops the process, or corrupts data, beyond 2 GiB.
  [[nodiscard]] Status check_size() const {
    constexpr std::uint64_t limit = std::uint64_t{1} << 31;
    std::uint64_t nbytes = 64 * segments_.all().size() + 16 * program_->constants.size() +
                           16 * program_->initial_states.size();
    for (const auto& blob : inside_.all()) nbytes += blob.size() + 64;
    for (const auto& one : program_->named_data.pte_data) nbytes += one.key.size() + 64;
    for (const auto& method : program_->methods) nbytes += size_of_method(method);
    if (nbytes < limit) return ok();
    return error(Error::NotSupported, "the flatbuffer may need ", nbytes, " bytes, ", limit,
                 " is the limit of the format; inline blobs count, put them in segments");
  }

  /// The flatbuffer with the extended header in it (schema/extended_header.h).
  [[nodiscard]] std::vector<std::byte> head() const {
    constexpr std::uint32_t header_size = 32;
    const auto flatbuffer =
        std::as_bytes(std::span(builder_.GetBufferPointer(), builder_.GetSize()));
    auto out = insert_header(flatbuffer, header_size);
    std::memcpy(out.data() + 8, "eh00", 4);
    put(out, 12, header_size);
    put(out, 16, std::uint64_t{out.size()});
    put(out, 24, segments_.base(out.size()));
    put(out, 32, segments_.end());
    return out;
  }

  const ProgramData* program_;
  const PteOptions* options_;
  SegmentLayout segments_;
  UniqueBytes inside_;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace detail

Result<FileImage> make_pte(const ProgramData& program, const PteOptions& options) {
  TENON_RETURN_IF_ERROR(detail::check_alignment(options.segment_alignment, "segment_alignment"));
  TENON_RETURN_IF_ERROR(detail::check_alignment(options.constant_alignment, "constant_alignment"));
  TENON_RETURN_IF_ERROR(detail::check_alignment(options.delegate_alignment, "delegate_alignment"));
  if (options.delegate_placement == BlobPlacement::Default) {
    return error(Error::InvalidArgument, "delegate_placement is Default, expected a placement");
  }
  TENON_RETURN_IF_ERROR(check_program(program));
  return detail::PteLayout(program, options).make();
}

Status write_pte(const ProgramData& program, const std::filesystem::path& path,
                 const PteOptions& options) {
  TENON_TRY(const auto image, make_pte(program, options));
  return image.write(path);
}

}}}  // namespace tenon::TENON_RELEASE::aot
