// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/data/merged_data_map.hpp"

#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "tenon/core/struct_size.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::shared_ptr<const MergedDataMap>> MergedDataMap::create(
    std::shared_ptr<const Program> program,
    const std::vector<std::shared_ptr<const DataFile>>& external) {
  std::vector<Source> sources;
  for (const auto& file : external) sources.push_back({file, nullptr});
  if (program != nullptr) sources.push_back({nullptr, std::move(program)});
  std::uint64_t num_keys = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    num_keys += sources[i].num_keys();
    for (std::size_t j = 0; j < i; ++j)
      TENON_RETURN_IF_ERROR(verify_distinct(sources[j], sources[i]));
  }
  if (num_keys > std::numeric_limits<std::uint32_t>::max()) {
    return error(Error::InvalidArgument, "the files have ", num_keys, " keys, at most ",
                 std::numeric_limits<std::uint32_t>::max(), " can be joined");
  }
  return std::shared_ptr<const MergedDataMap>(
      new MergedDataMap(std::move(sources), static_cast<std::uint32_t>(num_keys)));
}

const tenon_named_data_map* MergedDataMap::abi() const noexcept {
  return num_keys_ == 0 ? nullptr : this;
}

std::optional<std::string_view> MergedDataMap::key(std::uint32_t index) const noexcept {
  for (const auto& source : sources_) {
    const auto count = source.num_keys();
    if (index < count) return source.key(index);
    index -= count;
  }
  return std::nullopt;
}

std::optional<MergedDataMap::Entry> MergedDataMap::find(std::string_view key) const noexcept {
  const auto place = locate(key);
  if (!place) return std::nullopt;
  return place->source->entry(place->index);
}

MergedDataMap::MergedDataMap(std::vector<Source> sources, std::uint32_t count) noexcept
    : tenon_named_data_map{sizeof(tenon_named_data_map), count, &get_data_entry,
                           &get_tensor_layout_entry, &get_key_entry},
      sources_(std::move(sources)),
      num_keys_(count) {}

std::uint32_t MergedDataMap::Source::num_keys() const noexcept {
  return file ? file->num_keys() : program->num_keys();
}

std::string_view MergedDataMap::Source::key(std::uint32_t index) const noexcept {
  return file ? file->key(index) : program->key(index);
}

std::optional<std::uint32_t> MergedDataMap::Source::find_key(std::string_view key) const noexcept {
  return file ? file->find_key(key) : program->find_key(key);
}

const std::string& MergedDataMap::Source::name() const noexcept {
  return file ? file->name() : program->name();
}

MergedDataMap::Entry MergedDataMap::Source::entry(std::uint32_t index) const noexcept {
  if (file) return {file->key_data(index), file->key_layout(index)};
  return {program->key_data(index), std::nullopt};
}

Status MergedDataMap::verify_distinct(const Source& first, const Source& second) {
  for (std::uint32_t i = 0; i < second.num_keys(); ++i) {
    const auto key = second.key(i);
    if (!first.find_key(key)) continue;
    return error(Error::InvalidArgument, "key ", quoted(key), " is both in ", first.name(),
                 " and in ", second.name());
  }
  return ok();
}

std::optional<MergedDataMap::Location> MergedDataMap::locate(std::string_view key) const noexcept {
  for (const auto& source : sources_) {
    if (const auto index = source.find_key(key)) return Location{&source, *index};
  }
  return std::nullopt;
}

std::optional<MergedDataMap::Location> MergedDataMap::locate(const tenon_named_data_map* map,
                                                             const char* key,
                                                             std::uint64_t key_size) noexcept {
  const auto* self = static_cast<const MergedDataMap*>(map);
  return self->locate(std::string_view(key, static_cast<std::size_t>(key_size)));
}

tenon_status MergedDataMap::get_data_entry(const tenon_named_data_map* map, const char* key,
                                           std::uint64_t key_size, tenon_buffer* out) noexcept {
  if (map == nullptr || (key == nullptr && key_size != 0) || out == nullptr ||
      !TENON_HAS_MEMBER(*out, release)) {
    return TENON_STATUS_INVALID_ARGUMENT;
  }
  const auto place = locate(map, key, key_size);
  if (!place) return TENON_STATUS_NOT_FOUND;
  const auto data = place->source->entry(place->index).data;
  out->data = data.empty() ? nullptr : data.data();
  out->nbytes = data.size();
  out->owner = const_cast<Source*>(place->source);
  out->release = &release_entry;
  return TENON_STATUS_OK;
}

void MergedDataMap::release_entry(tenon_buffer* buffer) noexcept {
  if (buffer == nullptr || buffer->data == nullptr) return;
  const std::span part(static_cast<const std::byte*>(buffer->data),
                       static_cast<std::size_t>(buffer->nbytes));
  const auto& source = *static_cast<const Source*>(buffer->owner);
  if (source.file) {
    source.file->drop(part);
  } else {
    source.program->drop(part);
  }
  buffer->data = nullptr;
  buffer->nbytes = 0;
}

tenon_status MergedDataMap::get_tensor_layout_entry(const tenon_named_data_map* map,
                                                    const char* key, std::uint64_t key_size,
                                                    tenon_tensor_layout* out) noexcept {
  if (map == nullptr || (key == nullptr && key_size != 0) || out == nullptr ||
      !TENON_HAS_MEMBER(*out, dim_order)) {
    return TENON_STATUS_INVALID_ARGUMENT;
  }
  const auto place = locate(map, key, key_size);
  const auto layout = place ? place->source->entry(place->index).layout : std::nullopt;
  if (!layout) return TENON_STATUS_NOT_FOUND;
  try {
    out->sizes = static_cast<const MergedDataMap*>(map)->sizes_.keep(layout->sizes);
  } catch (const std::bad_alloc&) {
    return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
  }
  out->scalar_type = static_cast<std::int32_t>(layout->scalar_type);
  out->rank = static_cast<std::uint32_t>(layout->sizes.size());
  out->dim_order = layout->dim_order.data();
  return TENON_STATUS_OK;
}

tenon_status MergedDataMap::get_key_entry(const tenon_named_data_map* map, std::uint32_t index,
                                          const char** key, std::uint64_t* key_size) noexcept {
  if (map == nullptr || key == nullptr || key_size == nullptr) {
    return TENON_STATUS_INVALID_ARGUMENT;
  }
  const auto found = static_cast<const MergedDataMap*>(map)->key(index);
  if (!found) return TENON_STATUS_INVALID_ARGUMENT;
  *key = found->data();
  *key_size = found->size();
  return TENON_STATUS_OK;
}

}}}  // namespace tenon::TENON_RELEASE::host
