// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Elements of a weight that a plugin may read and not write, while it is called.
struct GivenWeight {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  const char* name = nullptr;  ///< Fully-qualified.
};

/// The call into a plugin that runs now: for handlers of signals, which must name what crashed. All
/// that it refers to stays as it is during the call, and is read without locks or memory.
struct PluginCall {
  const char* backend = nullptr;   ///< The backend's id.
  const char* plugin = nullptr;    ///< The path of its file.
  const char* function = nullptr;  ///< "partition", "ops_to_not_decompose" or "preprocess".
  std::span<const GivenWeight> weights{};

  /// The weight at `address`, or null.
  [[nodiscard]] const char* weight_at(const void* address) const noexcept {
    const auto* const at = static_cast<const std::byte*>(address);
    for (const GivenWeight& weight : weights) {
      if (at >= weight.begin && at < weight.end) return weight.name;
    }
    return nullptr;
  }
};

namespace detail {

/// The call that this thread is in; null: none.
inline const PluginCall*& plugin_call_here() noexcept {
  static thread_local constinit const PluginCall* call = nullptr;
  return call;
}

/// The latest of all threads, for threads that a plugin made; null as soon as that one returned.
inline std::atomic<const PluginCall*>& latest_plugin_call() noexcept {
  static constinit std::atomic<const PluginCall*> call = nullptr;
  return call;
}

/// `call` is the current one while this lives.
class CurrentCall {
 public:
  explicit CurrentCall(const PluginCall& call) noexcept : call_(&call), outer_(plugin_call_here()) {
    plugin_call_here() = call_;
    latest_plugin_call() = call_;
  }
  CurrentCall(const CurrentCall&) = delete;
  CurrentCall& operator=(const CurrentCall&) = delete;
  ~CurrentCall() {
    const PluginCall* mine = call_;
    latest_plugin_call().compare_exchange_strong(mine, outer_);
    plugin_call_here() = outer_;
  }

 private:
  const PluginCall* call_;
  const PluginCall* outer_;
};

}  // namespace detail

/// The call into a plugin that this thread is in, or else the latest of another thread; null
/// outside of such calls. May be called in a handler of signals.
[[nodiscard]] inline const PluginCall* current_plugin_call() noexcept {
  const PluginCall* const here = detail::plugin_call_here();
  return here ? here : detail::latest_plugin_call().load();
}

}}}  // namespace tenon::TENON_RELEASE::aot
