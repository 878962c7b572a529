// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/program/named_data_table.hpp"

#include <cstddef>
#include <new>
#include <span>
#include <string_view>

#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

template <class File>
std::optional<std::uint32_t> NamedDataTable<File>::find(const tenon_named_data_map* map,
                                                        const char* key,
                                                        std::uint64_t key_size) noexcept {
  return file_of(map).find_key(std::string_view(key, static_cast<std::size_t>(key_size)));
}

template <class File>
tenon_status NamedDataTable<File>::get_data_entry(const tenon_named_data_map* map, const char* key,
                                                  std::uint64_t key_size,
                                                  tenon_buffer* out) noexcept {
  if (map == nullptr || (key == nullptr && key_size != 0) || out == nullptr ||
      !TENON_HAS_MEMBER(*out, release)) {
    return TENON_STATUS_INVALID_ARGUMENT;
  }
  const auto index = find(map, key, key_size);
  if (!index) return TENON_STATUS_NOT_FOUND;
  const std::span<const std::byte> data = file_of(map).key_data(*index);
  out->data = data.empty() ? nullptr : data.data();
  out->nbytes = data.size();
  out->owner = const_cast<File*>(&file_of(map));
  out->release = &release_entry;
  return TENON_STATUS_OK;
}

template <class File>
void NamedDataTable<File>::release_entry(tenon_buffer* buffer) noexcept {
  if (buffer == nullptr || buffer->data == nullptr) return;
  static_cast<const File*>(buffer->owner)
      ->drop(
          {static_cast<const std::byte*>(buffer->data), static_cast<std::size_t>(buffer->nbytes)});
  buffer->data = nullptr;
  buffer->nbytes = 0;
}

template <class File>
tenon_status NamedDataTable<File>::get_tensor_layout_entry(const tenon_named_data_map* map,
                                                           const char* key, std::uint64_t key_size,
                                                           tenon_tensor_layout* out) noexcept {
  if (map == nullptr || (key == nullptr && key_size != 0) || out == nullptr ||
      !TENON_HAS_MEMBER(*out, dim_order)) {
    return TENON_STATUS_INVALID_ARGUMENT;
  }
  const auto index = find(map, key, key_size);
  if (!index) return TENON_STATUS_NOT_FOUND;
  const File& file = file_of(map);
  if constexpr (requires { file.key_layout(*index); }) {
    const auto layout = file.key_layout(*index);
    if (!layout) return TENON_STATUS_NOT_FOUND;
    try {
      out->sizes = file.keep_wide(layout->sizes);
    } catch (const std::bad_alloc&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
    out->scalar_type = static_cast<std::int32_t>(layout->scalar_type);
    out->rank = static_cast<std::uint32_t>(layout->sizes.size());
    out->dim_order = layout->dim_order.data();
    return TENON_STATUS_OK;
  } else {
    return TENON_STATUS_NOT_FOUND;
  }
}

template <class File>
tenon_status NamedDataTable<File>::get_key_entry(const tenon_named_data_map* map,
                                                 std::uint32_t index, const char** key,
                                                 std::uint64_t* key_size) noexcept {
  if (map == nullptr || key == nullptr || key_size == nullptr || index >= file_of(map).num_keys()) {
    return TENON_STATUS_INVALID_ARGUMENT;
  }
  const std::string_view found = file_of(map).key(index);
  *key = found.data();
  *key_size = found.size();
  return TENON_STATUS_OK;
}

}}}  // namespace tenon::TENON_RELEASE::host
