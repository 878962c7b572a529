// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string_view>

#include "tenon/abi/extensions/streams.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/status.hpp"

namespace tenon::inline TENON_RELEASE {

/// Mixin: delegates run on a stream of the application. The author adds
/// `Status set_stream(Delegate&, void* stream)`, never called while the delegate runs: from then on
/// its `execute` enqueues there and may return before outputs in device memory are complete. Null
/// restores the delegate's own stream. A failure changes nothing.
template <class Derived>
class WithStreams {};

namespace detail {

template <class B>
concept HasSetStream = requires(B& backend, typename B::Delegate& delegate, void* stream) {
  { backend.set_stream(delegate, stream) } -> std::same_as<Status>;
};

template <class B>
struct StreamsExtension {
  static constexpr std::string_view id = TENON_EXTENSION_STREAMS;

  static consteval bool check() {
    if constexpr (!HasSetStream<B>) {
      static_assert(always_false<B>,
                    "tenon: WithStreams needs a public "
                    "`tenon::Status set_stream(Delegate&, void*)`");
    }
    return HasSetStream<B>;
  }

  static tenon_status set_stream(tenon_backend* backend, tenon_delegate* delegate,
                                 void* stream) noexcept {
    return guard(host_of<B>(backend), [&] {
      return self<B>(backend).set_stream(*reinterpret_cast<typename B::Delegate*>(delegate),
                                         stream);
    });
  }

  static constexpr tenon_streams_v1 table = {sizeof(tenon_streams_v1), 0, &set_stream};
};

template <>
struct MixinOf<tenon_streams_v1> : Mixin<WithStreams, StreamsExtension> {};

}  // namespace detail
}  // namespace tenon::inline TENON_RELEASE
