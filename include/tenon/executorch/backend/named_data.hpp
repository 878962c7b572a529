// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/core/tensor_layout.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// A buffer of the host's that ExecuTorch frees. `buffer` stays where it is and the host's; it must
/// outlive the result.
[[nodiscard]] inline et::FreeableBuffer to_freeable(tenon_buffer& buffer) noexcept {
  const auto release = [](void* context, void*, std::size_t) {
    auto* const owner = static_cast<tenon_buffer*>(context);
    owner->release(owner);
  };
  return et::FreeableBuffer(buffer.data, static_cast<std::size_t>(buffer.nbytes), +release,
                            &buffer);
}

/// The host's named data as ExecuTorch's. Any thread, from `init` to `destroy`.
class HostNamedDataMap final : public et::NamedDataMap {
 public:
  /// Copies the keys, because ExecuTorch's are NUL-terminated.
  [[nodiscard]] static Result<std::unique_ptr<HostNamedDataMap>> create(
      const tenon_named_data_map& map) {
    std::unique_ptr<HostNamedDataMap> out(new HostNamedDataMap(map));
    out->keys_.reserve(map.num_keys);
    for (std::uint32_t i = 0; i < map.num_keys; ++i) {
      const char* key = nullptr;
      std::uint64_t size = 0;
      const tenon_status status = map.get_key(&map, i, &key, &size);
      if (status != TENON_STATUS_OK) {
        return error(error_from_status(status), "named data key ", i, " of ", map.num_keys,
                     ": the host did not return it");
      }
      out->keys_.emplace_back(key, static_cast<std::size_t>(size));
    }
    return out;
  }

  et::Result<const et::TensorLayout> get_tensor_layout(std::string_view key) const override {
    tenon_tensor_layout layout{};
    layout.struct_size = sizeof layout;
    const tenon_status status = map_.get_tensor_layout(&map_, key.data(), key.size(), &layout);
    if (status != TENON_STATUS_OK) return to_executorch(error_from_status(status));
    try {
      std::vector<std::int32_t> sizes;
      for (std::uint32_t i = 0; i < layout.rank; ++i) {
        if (!std::in_range<std::int32_t>(layout.sizes[i])) return et::Error::NotSupported;
        sizes.push_back(static_cast<std::int32_t>(layout.sizes[i]));
      }
      const std::lock_guard lock(mutex_);
      const auto& kept = *sizes_.insert(std::move(sizes)).first;
      return et::TensorLayout::create(
          {kept.data(), kept.size()}, {layout.dim_order, layout.rank},
          static_cast<::executorch::aten::ScalarType>(layout.scalar_type));
    } catch (const std::bad_alloc&) {
      return et::Error::MemoryAllocationFailed;
    }
  }

  et::Result<et::FreeableBuffer> get_data(std::string_view key) const override {
    auto buffer = find(key);
    if (!buffer.ok()) return buffer.error();
    // Empty data has no address, and a null address is never freed.
    if ((*buffer)->buffer.data == nullptr) return et::FreeableBuffer();
    Held* const held = buffer->release();
    return et::FreeableBuffer(
        held->buffer.data, static_cast<std::size_t>(held->buffer.nbytes),
        [](void* context, void*, std::size_t) { delete static_cast<Held*>(context); }, held);
  }

  et::Error load_data_into(std::string_view key, void* to, std::size_t size) const override {
    const auto buffer = find(key);
    if (!buffer.ok()) return buffer.error();
    const tenon_buffer& from = (*buffer)->buffer;
    if (size > from.nbytes) return et::Error::InvalidArgument;
    if (size != 0) std::memcpy(to, from.data, size);
    return et::Error::Ok;
  }

  et::Result<std::uint32_t> get_num_keys() const override {
    return static_cast<std::uint32_t>(keys_.size());
  }

  et::Result<const char*> get_key(std::uint32_t index) const override {
    if (index >= keys_.size()) return et::Error::InvalidArgument;
    return keys_[index].c_str();
  }

 private:
  explicit HostNamedDataMap(const tenon_named_data_map& map) noexcept : map_(map) {}

  /// Bytes of the host's, released on destruction.
  struct Held {
    tenon_buffer buffer{};

    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      if (buffer.release) buffer.release(&buffer);
    }
  };

  et::Result<std::unique_ptr<Held>> find(std::string_view key) const {
    std::unique_ptr<Held> held(new (std::nothrow) Held);
    if (!held) return et::Error::MemoryAllocationFailed;
    held->buffer.struct_size = sizeof held->buffer;
    const tenon_status status = map_.get_data(&map_, key.data(), key.size(), &held->buffer);
    if (status != TENON_STATUS_OK) {
      held->buffer.release = nullptr;
      return to_executorch(error_from_status(status));
    }
    return held;
  }

  const tenon_named_data_map& map_;
  std::vector<std::string> keys_;
  // ExecuTorch's layouts have sizes of 32 bits, and point to them.
  mutable std::mutex mutex_;
  mutable std::set<std::vector<std::int32_t>> sizes_;
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
