// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <unwind.h>
#if defined(__linux__)
#include <ucontext.h>
#endif
#if defined(__APPLE__)
#include <execinfo.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kit/platform/crash_text.hpp"
#include "kit/platform/posix/shared_file.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

[[nodiscard]] inline std::string_view signal_name(int number) noexcept {
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

[[nodiscard]] inline bool is_main_thread() noexcept {
#if defined(__linux__)
  return ::gettid() == ::getpid();
#else
  return true;
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
      if (code && text.back() == '\n') write(descriptor, text.data(), text.size());
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
inline void write_backtrace(int descriptor, const CrashFacts& facts) noexcept {
  Frames frames;
  frames.add_callers();
  const auto end = frames.at.begin() + static_cast<std::ptrdiff_t>(frames.count);
  auto first = std::find(frames.at.begin(), end, facts.instruction);
  // Without this function, the reporter and the handler.
  if (first == end)
    first = frames.at.begin() + std::min<std::ptrdiff_t>(end - frames.at.begin(), 3);
  for (auto frame = first; frame != end; ++frame) {
    CrashText text;
    (text << "!").hex(reinterpret_cast<std::uintptr_t>(*frame)) << "\n";
    write(descriptor, text.view().data(), text.view().size());
  }
  [[maybe_unused]] const bool has_maps = write_maps(descriptor);
#if defined(__APPLE__)
  for (auto frame = first; !has_maps && frame != end; ++frame) {
    write(descriptor, "!", 1);
    ::backtrace_symbols_fd(&*frame, 1, descriptor);
  }
#endif
}

/// During its lifetime a signal that ends the process is reported first, also an overflow of the
/// stack of the thread that made it. One at a time.
class CrashHandlers {
 public:
  explicit CrashHandlers(OnCrash on_crash) : stack_(std::size_t{64} << 10) {
    reporter() = on_crash;
    // The dynamic loader looks the unwinder up at the first call, for which a handler must not
    // wait.
    Frames frames;
    frames.add_callers();
    stack_t alternate{};
    alternate.ss_sp = stack_.data();
    alternate.ss_size = stack_.size();
    ::sigaltstack(&alternate, &old_stack_);
    struct sigaction action{};
    action.sa_sigaction = &report;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &old_[i]);
  }
  CrashHandlers(const CrashHandlers&) = delete;
  CrashHandlers& operator=(const CrashHandlers&) = delete;
  ~CrashHandlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &old_[i], nullptr);
    ::sigaltstack(&old_stack_, nullptr);
  }

 private:
  static constexpr std::array<int, 7> signals = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                                 SIGABRT, SIGTRAP, SIGSYS};

  static std::atomic<OnCrash>& reporter() noexcept {
    static std::atomic<OnCrash> on_crash = nullptr;
    return on_crash;
  }
  static void report(int number, siginfo_t* info, void* context) noexcept {
    CrashFacts facts;
    facts.name = signal_name(number);
    facts.has_address = number == SIGSEGV || number == SIGBUS;
    facts.address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    facts.is_on_main_thread = is_main_thread();
    facts.instruction = failed_at(context);
    facts.context = context;
    reporter().load()(facts);
    ::signal(number, SIG_DFL);
    ::raise(number);
  }

  std::vector<std::byte> stack_;
  stack_t old_stack_{};
  std::array<struct sigaction, signals.size()> old_{};
};

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
