// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/core/status.hpp"
#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// Thrown through ExecuTorch's code where it would end the process.
struct Aborted {};

/// One call into ExecuTorch's code: on the thread that made the object, until it is destroyed.
///
/// ExecuTorch's functions return a number; the reason of a failure is only in its log, which is
/// written by its platform layer. During the call, lines that are logged on this thread are passed
/// to the host's log instead of stderr, and those logged as errors become the text of the failure.
/// Requires an installed PlatformHook.
class BridgedCall {
 public:
  /// `host` receives the log; null: lines are dropped.
  explicit BridgedCall(const tenon_host* host) noexcept
      : host_(host), innermost_(current()), outer_(innermost_) {
    innermost_ = this;
  }
  BridgedCall(const BridgedCall&) = delete;
  BridgedCall& operator=(const BridgedCall&) = delete;
  ~BridgedCall() { innermost_ = outer_; }

  /// The innermost call of this thread, or null.
  [[nodiscard]] static BridgedCall*& current() noexcept {
    static constinit thread_local BridgedCall* innermost = nullptr;
    return innermost;
  }

  /// Runs `body`, which returns a Status. A check of ExecuTorch's that fails in it on this thread,
  /// which would end the process, becomes an `aborted` with the text of the check.
  /// `what` is a text, or a function that returns one, which is only called then.
  template <class What, class Body>
  [[gnu::always_inline]] inline Status run(const What& what, Body&& body,
                                           Error aborted = Error::Internal) {
    try {
      const Raising raising(can_raise_, true);
      return body();
    } catch (const Aborted&) {
      if constexpr (std::invocable<const What&>) {
        return failure(aborted, what());
      } else {
        return failure(aborted, what);
      }
    }
  }

  /// Runs `body`, through which nothing may be thrown: the dynamic loader, for example.
  template <class Body>
  auto run_unthrown(Body&& body) {
    const Raising raising(can_raise_, false);
    return body();
  }

  /// Whether an Aborted would be caught.
  [[nodiscard]] bool can_raise() const noexcept { return can_raise_; }

  /// The lines that ExecuTorch logged as errors so far, joined by "; ".
  [[nodiscard]] std::string_view errors() const noexcept { return {text_.data(), size_}; }

  /// The failure of `what`, with ExecuTorch's reason.
  [[nodiscard, gnu::cold]] Status failure(Error code, std::string_view what) const {
    if (size_ != 0) return error(code, what, ": ", errors());
    return error(code, what, ": ExecuTorch's code returned ", error_name(code),
                 " and logged no reason");
  }
  [[nodiscard]] Status failure(et::Error code, std::string_view what) const {
    return failure(from_executorch(code), what);
  }

  /// Receives a line that was logged on this thread. Allocates nothing: memory may have run out.
  void take_line(et_pal_log_level_t level, const char* file, std::size_t line, const char* message,
                 std::size_t length) noexcept {
    const std::string_view text(message, length);
    if (level == kError || level == kFatal) keep(text);
    if (!host_) return;
    std::array<char, 512> out;
    const int written = std::snprintf(out.data(), out.size(), "%s:%zu: %.*s", file ? file : "",
                                      line, static_cast<int>(text.size()), text.data());
    if (written <= 0) return;
    const auto size = std::min(static_cast<std::size_t>(written), out.size() - 1);
    host_->log(host_, level_of(level), out.data(), size);
  }

 private:
  /// Sets whether an Aborted would be caught, for as long as it lives.
  class Raising {
   public:
    Raising(bool& flag, bool now) noexcept : flag_(flag), outer_(std::exchange(flag, now)) {}
    Raising(const Raising&) = delete;
    Raising& operator=(const Raising&) = delete;
    ~Raising() { flag_ = outer_; }

   private:
    bool& flag_;
    bool outer_;
  };

  void keep(std::string_view text) noexcept {
    const std::string_view separator = size_ == 0 ? "" : "; ";
    if (size_ + separator.size() + text.size() > text_.size()) return;
    std::memcpy(text_.data() + size_, separator.data(), separator.size());
    std::memcpy(text_.data() + size_ + separator.size(), text.data(), text.size());
    size_ += separator.size() + text.size();
  }

  static std::int32_t level_of(et_pal_log_level_t level) noexcept {
    switch (level) {
      case kDebug:
        return TENON_LOG_DEBUG;
      case kError:
        return TENON_LOG_ERROR;
      case kFatal:
        return TENON_LOG_FATAL;
      default:
        return TENON_LOG_INFO;
    }
  }

  const tenon_host* host_;
  BridgedCall*& innermost_;  // Of the thread, whose address costs a call to find.
  BridgedCall* outer_;
  bool can_raise_ = false;
  std::size_t size_ = 0;
  std::array<char, 1024> text_;  // Not cleared: a successful call does not read it.
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
