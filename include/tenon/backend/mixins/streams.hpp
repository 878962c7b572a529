// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "tenon/abi/extensions/streams.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/backend/text_field.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: delegates run on a stream of the application. The author adds
///
///     static constexpr const char* stream_kind = TENON_KIND_CUDA_STREAM;  // abi/native_handle.h
///     Status set_stream(Delegate&, void* stream);
///
/// A vendor's own kind begins with the vendor's name and a dot ("acme.queue"). `set_stream` is
/// never called while the delegate runs: from then on its `execute` enqueues there and may return
/// before outputs in device memory are complete. Null restores the delegate's own stream. A failure
/// changes nothing.
template <class Derived>
class WithStreams {};

namespace detail {

template <class B>
concept HasSetStream = requires(B& backend, typename B::Delegate& delegate, void* stream) {
  { backend.set_stream(delegate, stream) } -> std::same_as<Status>;
};

template <class B>
concept HasStreamKind = requires {
  typename std::enable_if_t<is_valid_name(std::string_view(B::stream_kind))>;
  requires std::same_as<std::remove_cv_t<decltype(B::stream_kind)>, const char*>;
};

template <class B>
struct StreamsExtension {
  static consteval bool check() {
    if constexpr (!HasSetStream<B>) {
      static_assert(always_false<B>,
                    "tenon: WithStreams needs a public "
                    "`tenon::Status set_stream(Delegate&, void*)`");
    } else if constexpr (!HasStreamKind<B>) {
      static_assert(always_false<B>,
                    "tenon: WithStreams needs a public `static constexpr const char* stream_kind = "
                    "TENON_KIND_CUDA_STREAM`, or another kind of native handles");
    }
    return HasSetStream<B> && HasStreamKind<B>;
  }

  static tenon_status set_stream(tenon_backend* backend, tenon_delegate* delegate,
                                 void* stream) noexcept {
    return guard(host_of<B>(backend), [&] {
      return self<B>(backend).set_stream(*reinterpret_cast<typename B::Delegate*>(delegate),
                                         stream);
    });
  }

  static constexpr tenon_streams_v1 table = {sizeof(tenon_streams_v1), 0, B::stream_kind,
                                             &set_stream};
};

template <>
struct MixinOf<tenon_streams_v1> : Mixin<WithStreams, StreamsExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
