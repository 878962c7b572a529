// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "tenon/conformance/platform/system.hpp"
#include "tenon/conformance/process/channel.hpp"
#include "tenon/core/api.hpp"

/// Reports why a process ends: the signal or exception, the address, the owner of the memory, and
/// the stack. The runner names the functions (backtrace.hpp), from the files: a handler must not
/// look up much, and names under which the process had libraries open end with it.
namespace tenon::conformance {

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

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <array>
#include <string_view>

#include "tenon/conformance/process/guarded_memory.hpp"

namespace tenon::conformance {

namespace detail {

inline std::atomic<int>& crash_descriptor() noexcept {
  static std::atomic<int> descriptor = -1;
  return descriptor;
}

/// The secret of the channel.
inline std::array<char, channel_secret_size>& crash_secret() noexcept {
  static std::array<char, channel_secret_size> secret{};
  return secret;
}
inline std::atomic<std::size_t>& crash_secret_size() noexcept {
  static std::atomic<std::size_t> size = 0;
  return size;
}

inline void report_crash(const platform::CrashFacts& crash) noexcept {
  const int descriptor = crash_descriptor();
  const ForbiddenPages* pages = crash.has_address ? find_forbidden(crash.address) : nullptr;
  // The thread does not belong to the kit and no backend is open: the plugin left it behind, and
  // its code is unmapped.
  const bool was_left_behind = open_backends() == 0 && !crash.is_on_main_thread;
  platform::CrashText text;
  text << std::string_view(crash_secret().data(), crash_secret_size()) << "!crash "
       << (pages             ? pages->rule.load()
           : was_left_behind ? "TN-BCK-5"
                             : "TN-BCK-7")
       << " " << crash.name;
  if (pages) text << ": touched memory " << pages->what.load();
  if (crash.has_address) (text << " at ").hex(crash.address);
  text << "\n";
  platform::write(descriptor, text.view().data(), text.view().size());
  platform::write_backtrace(descriptor, crash);
}

}  // namespace detail

TENON_API CrashReporter::CrashReporter(const Channel& channel)
    : target_(channel), handlers_(&detail::report_crash) {}

TENON_API CrashReporter::Target::Target(const Channel& channel) {
  detail::crash_secret_size() =
      channel.secret().copy(detail::crash_secret().data(), channel_secret_size);
  detail::crash_descriptor() = channel.descriptor();
}

TENON_API CrashReporter::Target::~Target() { detail::crash_descriptor() = -1; }

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
