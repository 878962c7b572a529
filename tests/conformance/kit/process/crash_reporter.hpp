// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "kit/platform/system.hpp"
#include "kit/process/channel.hpp"

/// Reports why a process ends: the signal or exception, the address, the owner of the memory, and
/// the stack. The runner names the functions (backtrace.hpp), from the files: a handler must not
/// look up much, and names under which the process had libraries open end with it.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The number of backends that are open behind a `Boundary`.
inline std::atomic<int>& open_backends() noexcept {
  static std::atomic<int> count = 0;
  return count;
}

/// During its lifetime, what ends the process is reported to the channel first: "!crash RULE text",
/// the addresses of the backtrace and the mappings with code. Also for an overflow of the stack of
/// the thread that made it. One at a time.
class CrashReporter {
 public:
  explicit CrashReporter(const Channel& channel);
  CrashReporter(const CrashReporter&) = delete;
  CrashReporter& operator=(const CrashReporter&) = delete;
  ~CrashReporter() = default;

 private:
  /// Where reports go, from before a handler is set until after none is.
  struct Target {
    explicit Target(const Channel& channel);
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;
    ~Target();
  };

  Target target_;
  platform::CrashHandlers handlers_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
