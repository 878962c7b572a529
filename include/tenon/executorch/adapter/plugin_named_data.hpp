// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

#include <cstdint>
#include <cstring>
#include <forward_list>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/core/struct_size.hpp"
#include "tenon/executorch/adapter/contexts.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

/// ExecuTorch's map of named data as a plugin sees it. ExecuTorch returns an object for each
/// buffer; they are kept here, so that buffers that a plugin never releases are freed with this
/// map, after the plugin's `destroy`. The address must not change. Any thread, if ExecuTorch's map
/// allows it (its own maps do).
class PluginNamedData : private tenon_named_data_map {
 public:
  /// `map` may be null, and must outlive this. A map that cannot count its keys is empty.
  explicit PluginNamedData(const et::NamedDataMap* map) noexcept
      : tenon_named_data_map{sizeof(tenon_named_data_map), count(map), &get_data,
                             &get_tensor_layout, &get_key},
        map_(map) {}
  PluginNamedData(const PluginNamedData&) = delete;
  PluginNamedData& operator=(const PluginNamedData&) = delete;

  /// The value of `tenon_init_context.named_data_map`: null when the map has no keys.
  [[nodiscard]] const tenon_named_data_map* abi() const noexcept {
    return num_keys == 0 ? nullptr : this;
  }

 private:
  static std::uint32_t count(const et::NamedDataMap* map) noexcept {
    if (!map) return 0;
    const auto keys = map->get_num_keys();
    return keys.ok() ? *keys : 0;
  }
  static PluginNamedData& self(const tenon_named_data_map* map) noexcept {
    return *const_cast<PluginNamedData*>(static_cast<const PluginNamedData*>(map));
  }

  static tenon_status get_data(const tenon_named_data_map* map, const char* key,
                               std::uint64_t key_size, tenon_buffer* out) noexcept {
    if (!map || (!key && key_size != 0) || !out || !TENON_HAS_MEMBER(*out, release)) {
      return TENON_STATUS_INVALID_ARGUMENT;
    }
    PluginNamedData& data = self(map);
    try {
      auto found = data.map_->get_data({key, static_cast<std::size_t>(key_size)});
      if (!found.ok()) return static_cast<tenon_status>(found.error());
      const std::lock_guard lock(data.mutex_);
      data.buffers_.emplace_front(std::move(*found));
      const Status filled = fill_buffer(data.buffers_.front(), *out);
      if (!filled.ok()) data.buffers_.pop_front();
      return to_status(filled.error());
    } catch (const std::bad_alloc&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
  }

  static tenon_status get_tensor_layout(const tenon_named_data_map* map, const char* key,
                                        std::uint64_t key_size, tenon_tensor_layout* out) noexcept {
    if (!map || (!key && key_size != 0) || !out || !TENON_HAS_MEMBER(*out, dim_order)) {
      return TENON_STATUS_INVALID_ARGUMENT;
    }
    const auto layout =
        self(map).map_->get_tensor_layout({key, static_cast<std::size_t>(key_size)});
    // A map of a program alone implements no layouts: it has no tensor of that name.
    if (!layout.ok()) {
      const bool has_none = layout.error() == et::Error::NotImplemented;
      return has_none ? tenon_status{TENON_STATUS_NOT_FOUND}
                      : static_cast<tenon_status>(layout.error());
    }
    // The dim order is in the data file, not in `layout`.
    try {
      out->sizes = self(map).sizes_.keep({layout->sizes().data(), layout->sizes().size()});
    } catch (const std::bad_alloc&) {
      return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
    }
    out->scalar_type = static_cast<std::int32_t>(layout->scalar_type());
    out->rank = static_cast<std::uint32_t>(layout->sizes().size());
    out->dim_order = layout->dim_order().data();
    return TENON_STATUS_OK;
  }

  static tenon_status get_key(const tenon_named_data_map* map, std::uint32_t index,
                              const char** key, std::uint64_t* key_size) noexcept {
    if (!map || !key || !key_size || index >= map->num_keys) return TENON_STATUS_INVALID_ARGUMENT;
    const auto found = self(map).map_->get_key(index);
    if (!found.ok()) return static_cast<tenon_status>(found.error());
    *key = *found;
    *key_size = std::strlen(*found);
    return TENON_STATUS_OK;
  }

  const et::NamedDataMap* map_;
  std::mutex mutex_;
  std::forward_list<et::FreeableBuffer> buffers_;
  host::WideSizes sizes_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
