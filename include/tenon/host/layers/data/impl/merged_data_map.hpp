// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/data/merged_data_map.hpp"

#include <limits>
#include <utility>

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
  for (const auto& source : sources_) {
    if (const auto index = source.find_key(key)) return source.entry(*index);
  }
  return std::nullopt;
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

const tenon_named_data_map* MergedDataMap::Source::named_data() const noexcept {
  return file ? file->named_data() : program->named_data();
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

template <class Ask>
tenon_status MergedDataMap::ask_files(const Ask& ask) const noexcept {
  for (const Source& source : sources_) {
    const tenon_named_data_map* const file = source.named_data();
    const tenon_status status = file ? ask(file) : tenon_status{TENON_STATUS_NOT_FOUND};
    if (status != TENON_STATUS_NOT_FOUND) return status;
  }
  return TENON_STATUS_NOT_FOUND;
}

tenon_status MergedDataMap::get_data_entry(const tenon_named_data_map* map, const char* key,
                                           std::uint64_t key_size, tenon_buffer* out) noexcept {
  if (map == nullptr) return TENON_STATUS_INVALID_ARGUMENT;
  return static_cast<const MergedDataMap*>(map)->ask_files(
      [&](const tenon_named_data_map* file) { return file->get_data(file, key, key_size, out); });
}

tenon_status MergedDataMap::get_tensor_layout_entry(const tenon_named_data_map* map,
                                                    const char* key, std::uint64_t key_size,
                                                    tenon_tensor_layout* out) noexcept {
  if (map == nullptr) return TENON_STATUS_INVALID_ARGUMENT;
  return static_cast<const MergedDataMap*>(map)->ask_files([&](const tenon_named_data_map* file) {
    return file->get_tensor_layout(file, key, key_size, out);
  });
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
