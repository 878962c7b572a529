// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/data/data_file.hpp"

#include <utility>

#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/program/flatbuffer_root.hpp"
#include "tenon/host/loader/impl/program/named_data_entries.hpp"
#include "tenon/host/loader/program/file_header.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/schema/flat_tensor_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

[[nodiscard]] inline std::string_view data_key_of(const flat_tensor_schema::FlatTensor& root,
                                                  std::uint32_t index) noexcept {
  return root.named_data()->Get(index)->key()->string_view();
}

[[nodiscard]] inline std::span<const std::byte> part_of(
    std::span<const std::byte> segments, const flat_tensor_schema::DataSegment& segment) noexcept {
  return segments.subspan(static_cast<std::size_t>(segment.offset()),
                          static_cast<std::size_t>(segment.size()));
}

[[nodiscard]] inline Status verify_entry(const flat_tensor_schema::FlatTensor& root,
                                         const flat_tensor_schema::NamedData& entry,
                                         std::span<const std::byte> segments, WorkLimit& limit) {
  constexpr auto code = Error::InvalidExternalData;
  TENON_RETURN_IF_ERROR(verify_text(entry.key(), "key", limit, code));
  if (entry.segment_index() >= root.segments()->size()) {
    return error(code, "segment_index is ", entry.segment_index(), ", expected an index of one of ",
                 root.segments()->size(), " segments");
  }
  if (entry.tensor_layout() == nullptr) return ok();
  TENON_RETURN_IF_ERROR(
      with_location(verify_layout(*entry.tensor_layout(), code), "tensor_layout"));
  const auto layout = layout_of(*entry.tensor_layout());
  const auto data = part_of(segments, *root.segments()->Get(entry.segment_index()));
  const auto nbytes = layout.nbytes();
  if (nbytes > data.size()) {
    return error(code, "tensor_layout: the tensor needs ", nbytes, " bytes, but segment ",
                 entry.segment_index(), " has ", data.size());
  }
  const auto alignment = size_of(layout.scalar_type);
  if (nbytes != 0 && reinterpret_cast<std::uintptr_t>(data.data()) % alignment != 0) {
    return error(code, "tensor_layout: segment ", entry.segment_index(),
                 " is not aligned to the element size, ", alignment);
  }
  return ok();
}

}  // namespace detail

DataFile::DataFile(MappedFile file, std::shared_ptr<const void> keep_alive, std::string name,
                   Verified verified) noexcept
    : NamedDataTable(verified.keys.size()),
      file_(std::move(file)),
      keep_alive_(std::move(keep_alive)),
      name_(std::move(name)),
      root_(verified.root),
      segments_(verified.segments),
      keys_(std::move(verified.keys)) {}

Result<std::shared_ptr<const DataFile>> DataFile::open(const std::filesystem::path& path,
                                                       const HostLimits& limits) {
  TENON_TRY(auto file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return make(bytes, std::move(file), nullptr, path_text(path), limits);
}

Result<std::shared_ptr<const DataFile>> DataFile::from_bytes(std::span<const std::byte> bytes,
                                                             std::shared_ptr<const void> keep_alive,
                                                             std::string name,
                                                             const HostLimits& limits) {
  constexpr std::size_t alignment = 16;
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignment != 0) {
    return error(Error::InvalidArgument, name, ": the bytes begin at an address that is not a ",
                 "multiple of ", alignment);
  }
  return make(bytes, MappedFile(), std::move(keep_alive), std::move(name), limits);
}

std::string_view DataFile::key(std::uint32_t index) const noexcept {
  return detail::data_key_of(*root_, index);
}

std::optional<std::uint32_t> DataFile::find_key(std::string_view key) const noexcept {
  return keys_.find(key, [this](std::uint32_t i) { return detail::data_key_of(*root_, i); });
}

std::span<const std::byte> DataFile::key_data(std::uint32_t index) const noexcept {
  const auto segment = root_->named_data()->Get(index)->segment_index();
  return detail::part_of(segments_, *root_->segments()->Get(segment));
}

std::optional<StoredTensorLayout> DataFile::key_layout(std::uint32_t index) const noexcept {
  const auto* layout = root_->named_data()->Get(index)->tensor_layout();
  if (layout == nullptr) return std::nullopt;
  return detail::layout_of(*layout);
}

Result<std::shared_ptr<const DataFile>> DataFile::make(std::span<const std::byte> bytes,
                                                       MappedFile file,
                                                       std::shared_ptr<const void> keep_alive,
                                                       std::string name, const HostLimits& limits) {
  auto verified = verify(bytes, limits);
  if (!verified.ok()) return shortened(std::move(verified).status().with_context(name));
  return std::shared_ptr<const DataFile>(
      new DataFile(std::move(file), std::move(keep_alive), std::move(name), *std::move(verified)));
}

Result<DataFile::Verified> DataFile::verify(std::span<const std::byte> bytes,
                                            const HostLimits& limits) {
  constexpr auto code = Error::InvalidExternalData;
  TENON_TRY(const auto parts, detail::read_data_file_header(FileBytes(bytes)));
  TENON_TRY(const auto* root, detail::verify_flatbuffer<flat_tensor_schema::FlatTensor>(
                                  bytes.first(static_cast<std::size_t>(parts.flatbuffer_size)),
                                  flat_tensor_schema::FlatTensorIdentifier(), code));
  const auto segments = bytes.subspan(static_cast<std::size_t>(parts.segment_base),
                                      static_cast<std::size_t>(parts.segment_size));
  if (root->version() > 0) {
    return error(code, "version is ", root->version(), ", this host reads version 0");
  }
  if (root->segments() == nullptr) return error(code, "segments is missing");
  if (root->named_data() == nullptr) return error(code, "named_data is missing");
  for (std::uint32_t i = 0; i < root->segments()->size(); ++i) {
    TENON_RETURN_IF_ERROR(detail::with_location(
        detail::verify_segment(*root->segments()->Get(i), segments.size(), code), "segments[", i,
        "]"));
  }
  detail::WorkLimit limit(parts.flatbuffer_size, limits);
  const std::uint32_t num_keys = root->named_data()->size();
  detail::NamedDataSize named_size(num_keys, limits);
  for (std::uint32_t i = 0; i < num_keys; ++i) {
    TENON_RETURN_IF_ERROR(detail::with_location(
        detail::verify_entry(*root, *root->named_data()->Get(i), segments, limit), "named_data[", i,
        "]"));
    named_size.add(root->segments()->Get(root->named_data()->Get(i)->segment_index())->size());
  }
  TENON_RETURN_IF_ERROR(named_size.check());
  const auto key = [&](std::uint32_t i) { return detail::data_key_of(*root, i); };
  TENON_TRY(auto keys, detail::KeyIndex::build(num_keys, key, code, "named_data"));
  return Verified{root, segments, std::move(keys)};
}

}}}  // namespace tenon::TENON_RELEASE::host
