// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

#include "tenon/conformance/process/channel.hpp"
#include "tenon/core/api.hpp"

/// Reports why a signal ends a process: the signal, the address, the owner of the memory, and the
/// stack. The runner names the functions (backtrace.hpp), from the files: a handler must not look
/// up much, and names under which the process had libraries open end with it.
namespace tenon::conformance {

/// The number of backends that are open behind a `Boundary`.
inline std::atomic<int>& open_backends() noexcept {
  static std::atomic<int> count = 0;
  return count;
}

/// During its lifetime, a signal that ends the process is reported to the channel first: "!crash
/// RULE text", the addresses of the backtrace and the mappings with code. Also for an overflow of
/// the stack of the thread that made it. One at a time.
class CrashReporter {
 public:
  explicit CrashReporter(const Channel& channel);
  CrashReporter(const CrashReporter&) = delete;
  CrashReporter& operator=(const CrashReporter&) = delete;
  ~CrashReporter();

 private:
  static constexpr std::array<int, 7> signals = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                                 SIGABRT, SIGTRAP, SIGSYS};
  std::vector<std::byte> stack_;
  stack_t old_stack_{};
  std::array<struct sigaction, signals.size()> old_{};
};

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <fcntl.h>
#include <unistd.h>
#include <unwind.h>
#if defined(__linux__)
#include <ucontext.h>
#endif
#if defined(__APPLE__)
#include <execinfo.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "tenon/conformance/process/guarded_memory.hpp"

namespace tenon::conformance {

namespace detail {

inline std::atomic<int>& crash_descriptor() noexcept {
  static std::atomic<int> descriptor = -1;
  return descriptor;
}

/// The secret of the channel, ending with a zero.
inline std::array<char, channel_secret_size + 1>& crash_secret() noexcept {
  static std::array<char, channel_secret_size + 1> secret{};
  return secret;
}

/// Builds a text without allocating, which a signal handler must not do.
class SignalText {
 public:
  SignalText& operator<<(const char* text) noexcept {
    while (*text != '\0' && used_ < text_.size()) text_[used_++] = *text++;
    return *this;
  }
  SignalText& hex(std::uintptr_t number) noexcept {
    *this << "0x";
    bool leading = true;
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = (number >> shift) & 0xF;
      if (leading && digit == 0 && shift != 0) continue;
      leading = false;
      if (used_ < text_.size()) text_[used_++] = "0123456789abcdef"[digit];
    }
    return *this;
  }
  void write_to(int descriptor) const noexcept {
    [[maybe_unused]] const ssize_t written = ::write(descriptor, text_.data(), used_);
  }

 private:
  std::array<char, 512> text_{};
  std::size_t used_ = 0;
};

[[nodiscard]] inline const char* signal_name(int number) noexcept {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    case SIGABRT:
      return "SIGABRT";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGSYS:
      return "SIGSYS";
    default:
      return "a signal";
  }
}

/// Whether the thread does not belong to the kit and no backend is open: the plugin left it behind,
/// and its code is unmapped.
[[nodiscard]] inline bool was_left_behind() noexcept {
#if defined(__linux__)
  return open_backends() == 0 && ::gettid() != ::getpid();
#else
  return false;
#endif
}

/// The address of the instruction that failed, or null where the system does not say.
[[nodiscard]] inline void* failed_at([[maybe_unused]] void* context) noexcept {
#if defined(__linux__) && defined(__x86_64__)
  return reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__linux__) && defined(__aarch64__)
  return reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

/// Copies the lines of /proc/self/maps with code, each after "!map ". Returns false where there is
/// no such file.
[[nodiscard]] inline bool write_maps(int descriptor) noexcept {
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  constexpr std::string_view prefix = "!map ";
  std::array<char, 4096> in;
  std::array<char, 4608> line;  // A path of 4096 bytes and the numbers before it.
  prefix.copy(line.data(), prefix.size());
  std::size_t used = prefix.size();
  for (;;) {
    const ssize_t got = ::read(maps, in.data(), in.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      if (used < line.size()) line[used++] = in[i];
      if (in[i] != '\n') continue;
      const std::string_view text(line.data(), used);
      const std::size_t rights = text.find(' ', prefix.size());
      const bool code = rights < text.size() - 4 && text[rights + 3] == 'x';
      if (code && text.back() == '\n') {
        [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
      }
      used = prefix.size();
    }
  }
  ::close(maps);
  return true;
}

/// The addresses in the calls of a thread, innermost first. From the unwinder of C++ exceptions, as
/// musl has no <execinfo.h>.
struct Frames {
  std::array<void*, 48> at;
  std::size_t count = 0;

  /// Adds the caller, of which it is a part, and what called that. Allocates nothing.
  [[gnu::always_inline]] void add_callers() noexcept { ::_Unwind_Backtrace(&add, this); }

 private:
  static _Unwind_Reason_Code add(_Unwind_Context* context, void* to) noexcept {
    Frames& frames = *static_cast<Frames*>(to);
    if (frames.count == frames.at.size()) return _URC_END_OF_STACK;
    // A macro on 32-bit ARM.
    const auto address = static_cast<std::uintptr_t>(_Unwind_GetIP(context));
    if (address != 0) frames.at[frames.count++] = reinterpret_cast<void*>(address);
    return _URC_NO_REASON;
  }
};

/// Writes the frames, innermost first, one a line, each after '!', from the instruction that
/// failed on: as addresses, and on a Mac, where nothing is known of the mappings, as its C library
/// names them.
inline void write_backtrace(int descriptor, const void* failed) noexcept {
  Frames frames;
  frames.add_callers();
  const auto end = frames.at.begin() + static_cast<std::ptrdiff_t>(frames.count);
  auto first = std::find(frames.at.begin(), end, failed);
  // Without this function and the handler.
  if (first == end)
    first = frames.at.begin() + std::min<std::ptrdiff_t>(end - frames.at.begin(), 2);
  for (auto frame = first; frame != end; ++frame) {
    SignalText text;
    ((text << "!").hex(reinterpret_cast<std::uintptr_t>(*frame)) << "\n").write_to(descriptor);
  }
  [[maybe_unused]] const bool has_maps = write_maps(descriptor);
#if defined(__APPLE__)
  for (auto frame = first; !has_maps && frame != end; ++frame) {
    [[maybe_unused]] const ssize_t written = ::write(descriptor, "!", 1);
    ::backtrace_symbols_fd(&*frame, 1, descriptor);
  }
#endif
}

inline void report_crash(int number, siginfo_t* info, void* context) noexcept {
  const int descriptor = crash_descriptor();
  const bool has_address = number == SIGSEGV || number == SIGBUS;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const ForbiddenPages* pages = has_address ? find_forbidden(address) : nullptr;
  SignalText text;
  const char* rule = was_left_behind() ? "TN-BCK-5" : "TN-BCK-7";
  text << crash_secret().data() << "!crash " << (pages ? pages->rule.load() : rule) << " "
       << signal_name(number);
  if (pages) text << ": touched memory " << pages->what.load();
  if (has_address) (text << " at ").hex(address);
  text << "\n";
  text.write_to(descriptor);
  write_backtrace(descriptor, failed_at(context));
  ::signal(number, SIG_DFL);
  ::raise(number);
}

}  // namespace detail

TENON_API CrashReporter::CrashReporter(const Channel& channel) : stack_(std::size_t{64} << 10) {
  detail::crash_secret() = {};
  channel.secret().copy(detail::crash_secret().data(), channel_secret_size);
  detail::crash_descriptor() = channel.descriptor();
  // The dynamic loader looks the unwinder up at the first call, for which a handler must not wait.
  detail::Frames frames;
  frames.add_callers();
  stack_t alternate{};
  alternate.ss_sp = stack_.data();
  alternate.ss_size = stack_.size();
  ::sigaltstack(&alternate, &old_stack_);
  struct sigaction action{};
  action.sa_sigaction = &detail::report_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &old_[i]);
}

TENON_API CrashReporter::~CrashReporter() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &old_[i], nullptr);
  ::sigaltstack(&old_stack_, nullptr);
  detail::crash_descriptor() = -1;
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
