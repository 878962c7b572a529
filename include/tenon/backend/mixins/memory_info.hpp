// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tenon/abi/extensions/memory_info.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/status.hpp"

namespace tenon::inline TENON_RELEASE {

/// Bytes held by a delegate or a backend, in addition to those that the host counts itself.
struct MemoryInfo {
  std::uint64_t host_weights = 0;
  std::uint64_t host_scratch = 0;
  std::uint64_t device_weights = 0;
  std::uint64_t device_scratch = 0;
};

/// Mixin: the backend reports the memory that it holds. The author adds
/// `MemoryInfo memory_info(const Delegate*)`; null asks for the whole backend.
template <class Derived>
class WithMemoryInfo {};

namespace detail {

template <class B>
concept HasMemoryInfo = requires(B& backend, const typename B::Delegate* delegate) {
  { backend.memory_info(delegate) } -> std::same_as<MemoryInfo>;
};

template <class B>
struct MemoryInfoExtension {
  static constexpr std::string_view id = TENON_EXTENSION_MEMORY_INFO;

  static consteval bool check() {
    if constexpr (!HasMemoryInfo<B>) {
      static_assert(always_false<B>,
                    "tenon: WithMemoryInfo needs a public "
                    "`tenon::MemoryInfo memory_info(const Delegate*)`");
    }
    return HasMemoryInfo<B>;
  }

  static tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                  tenon_memory_info* out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      const MemoryInfo info =
          self<B>(backend).memory_info(reinterpret_cast<const typename B::Delegate*>(delegate));
      tenon_memory_info full{};
      full.host_weights = info.host_weights;
      full.host_scratch = info.host_scratch;
      full.device_weights = info.device_weights;
      full.device_scratch = info.device_scratch;
      // A caller with older headers has a shorter struct, so only that much is written.
      const std::size_t size = out->struct_size < sizeof full ? out->struct_size : sizeof full;
      full.struct_size = out->struct_size;
      std::memcpy(out, &full, size);
      return ok();
    });
  }

  static constexpr tenon_memory_info_v1 table = {sizeof(tenon_memory_info_v1), 0, &memory_info};
};

template <>
struct MixinOf<tenon_memory_info_v1> : Mixin<WithMemoryInfo, MemoryInfoExtension> {};

}  // namespace detail
}  // namespace tenon::inline TENON_RELEASE
