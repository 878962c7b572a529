// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "tenon/abi/native_handle.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// The kind of a native handle: a text of abi/native_handle.h, or a vendor's own ("acme.queue").
/// Refers to a NUL-terminated text, usually a literal. Two kinds are equal when their texts are.
class HandleKind {
 public:
  constexpr HandleKind() noexcept = default;
  /// Null is no kind, as an empty text is.
  constexpr HandleKind(const char* text) noexcept : text_(text ? text : "") {}

  [[nodiscard]] constexpr const char* c_str() const noexcept { return text_; }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return *text_ == '\0'; }

  friend constexpr bool operator==(HandleKind a, HandleKind b) noexcept {
    return a.text() == b.text();
  }

 private:
  const char* text_ = "";
};

/// A stream of the application, for work that a backend enqueues there.
struct NativeStream {
  /// None: delegates use their own streams, and copies are complete on return.
  constexpr NativeStream(std::nullptr_t) noexcept {}
  /// A stream of CUDA, or none when `cuda_stream` is null.
  constexpr NativeStream(void* cuda_stream) noexcept
      : NativeStream(TENON_KIND_CUDA_STREAM, cuda_stream) {}
  /// `NativeStream(TENON_KIND_METAL_COMMAND_QUEUE, queue)`; none when `native` is null.
  constexpr NativeStream(HandleKind its_kind, void* native) noexcept
      : kind(its_kind), handle(native) {}

  HandleKind kind;
  void* handle = nullptr;
};

}}  // namespace tenon::TENON_RELEASE
