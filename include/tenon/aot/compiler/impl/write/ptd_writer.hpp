// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/write/ptd_writer.hpp"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/aot/compiler/impl/write/file_image.hpp"
#include "tenon/aot/compiler/impl/write/program_check.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/schema/flat_tensor_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

[[nodiscard]] inline Status check_alignment(std::uint64_t alignment, std::string_view name) {
  if (std::has_single_bit(alignment) && alignment >= 16 &&
      alignment <= NamedDataStore::max_alignment) {
    return ok();
  }
  return error(Error::InvalidArgument, name, " is ", alignment,
               ", expected a power of two from 16 to ", NamedDataStore::max_alignment);
}

/// Gives each buffer that `entries` use a segment, in the order of first use, aligned to what all
/// of its keys ask for. Returns the segment of each entry.
///
/// errors: InvalidArgument when the alignments of one buffer's keys need too much together.
[[nodiscard]] inline Result<std::vector<std::uint32_t>> add_named_segments(
    SegmentLayout& segments, const std::vector<SharedBytes>& buffers,
    const std::vector<NamedEntry>& entries) {
  std::vector<std::uint64_t> alignments(buffers.size(), 1);
  for (const auto& [key, entry] : entries) {
    auto& alignment = alignments[entry.buffer_index];
    alignment = std::lcm(alignment, entry.alignment);
    if (alignment <= NamedDataStore::max_alignment) continue;
    return error(Error::InvalidArgument, "named data '", key,
                 "': its alignment and other keys' alignments of the same data need ", alignment,
                 " together, expected at most ", NamedDataStore::max_alignment);
  }
  std::vector<std::optional<std::uint32_t>> segment_of(buffers.size());
  std::vector<std::uint32_t> out;
  for (const auto& one : entries) {
    const auto index = one.entry.buffer_index;
    auto& segment = segment_of[index];
    if (!segment) segment = segments.add(buffers[index], alignments[index]);
    out.push_back(*segment);
  }
  return out;
}

}  // namespace detail

Result<FileImage> make_ptd(const std::vector<SharedBytes>& buffers,
                           const std::vector<NamedEntry>& entries, const PtdOptions& options) {
  namespace schema = flat_tensor_schema;
  TENON_RETURN_IF_ERROR(detail::check_alignment(options.segment_alignment, "segment_alignment"));
  TENON_RETURN_IF_ERROR(detail::check_named_data(buffers, entries));
  detail::SegmentLayout segments(options.segment_alignment);
  TENON_TRY(const auto segment_of, detail::add_named_segments(segments, buffers, entries));

  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<schema::DataSegment>> segment_tables;
  for (const auto& [offset, size] : segments.all()) {
    segment_tables.push_back(schema::CreateDataSegment(builder, offset, size));
  }
  std::vector<flatbuffers::Offset<schema::NamedData>> entry_tables;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    flatbuffers::Offset<schema::TensorLayout> layout;
    if (const auto& one = entries[i].entry.tensor_layout) {
      const auto sizes = builder.CreateVector(one->sizes);
      const auto dim_order = builder.CreateVector(one->full_dim_order());
      layout = schema::CreateTensorLayout(
          builder, static_cast<tenon::schema::ScalarType>(one->scalar_type), sizes, dim_order);
    }
    const auto key = builder.CreateString(entries[i].key);
    entry_tables.push_back(schema::CreateNamedData(builder, key, segment_of[i], layout));
  }
  const auto segment_list = builder.CreateVector(segment_tables);
  const auto entry_list = builder.CreateVector(entry_tables);
  schema::FinishFlatTensorBuffer(builder,
                                 schema::CreateFlatTensor(builder, 0, segment_list, entry_list));

  constexpr std::uint32_t header_size = 40;
  constexpr std::uint32_t inserted = 48;  // A multiple of 16.
  const auto flatbuffer = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  auto head = detail::insert_header(flatbuffer, inserted);
  std::memcpy(head.data() + 8, "FH01", 4);
  detail::put(head, 12, header_size);
  detail::put(head, 16, std::uint64_t{inserted});
  detail::put(head, 24, std::uint64_t{flatbuffer.size()});
  detail::put(head, 32, segments.base(head.size()));
  detail::put(head, 40, segments.end());
  return std::move(segments).image(std::move(head));
}

Status write_ptd(const std::vector<SharedBytes>& buffers, const std::vector<NamedEntry>& entries,
                 const std::filesystem::path& path, const PtdOptions& options) {
  TENON_TRY(const auto image, make_ptd(buffers, entries, options));
  return image.write(path);
}

Result<std::vector<std::filesystem::path>> write_external_data(
    const NamedDataStoreOutput& data, const std::filesystem::path& directory,
    const PtdOptions& options) {
  std::vector<std::filesystem::path> paths;
  std::vector<host::NewFile> files;
  for (const auto& [tag, entries] : data.external_data) {
    TENON_RETURN_IF_ERROR(NamedDataStore::check_tag(tag));
    auto path = directory / (tag + ".ptd");
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) {
      return error(Error::InvalidArgument, "external tag '", tag, "' appears twice");
    }
    auto image = make_ptd(data.buffers, entries, options);
    if (!image.ok()) return std::move(image).status().with_context(host::path_text(path));
    TENON_TRY(auto file, host::NewFile::create(path));
    TENON_RETURN_IF_ERROR(image->stream([&file](Bytes part) { return file.write(part); }));
    files.push_back(std::move(file));
    paths.push_back(std::move(path));
  }
  for (auto& file : files) TENON_RETURN_IF_ERROR(file.commit());
  return paths;
}

}}}  // namespace tenon::TENON_RELEASE::aot
