// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>

#include "tenon/abi/extensions/memory_info.h"
#include "tenon/backend/memory_use.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: the backend reports the memory that it holds. The author adds
/// `MemoryUses memory_info(const Delegate*)`; null asks, on any thread, for what the backend holds
/// and no delegate reports.
template <class Derived>
class WithMemoryInfo {};

namespace detail {

template <class B>
concept HasMemoryInfo = requires(B& backend, const typename B::Delegate* delegate) {
  { backend.memory_info(delegate) } -> std::same_as<MemoryUses>;
};

template <class B>
struct MemoryInfoExtension {
  static consteval bool check() {
    if constexpr (!HasMemoryInfo<B>) {
      static_assert(always_false<B>,
                    "tenon: WithMemoryInfo needs a public "
                    "`tenon::MemoryUses memory_info(const Delegate*)`");
    }
    return HasMemoryInfo<B>;
  }

  static tenon_status memory_info(tenon_backend* backend, tenon_delegate* delegate,
                                  tenon_memory_sink sink, void* sink_context) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      const MemoryUses held =
          self<B>(backend).memory_info(reinterpret_cast<const typename B::Delegate*>(delegate));
      pass_uses(held, sink, sink_context);
      return ok();
    });
  }

  static constexpr tenon_memory_info_v1 table = {sizeof(tenon_memory_info_v1), 0, &memory_info};
};

template <>
struct MixinOf<tenon_memory_info_v1> : Mixin<WithMemoryInfo, MemoryInfoExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
