// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "boundary/lane.hpp"

namespace tenon::isolated {

/// Where the calling thread reports its end, and the place of threads that have none.
inline thread_local Crash* my_crash = nullptr;
inline std::atomic<Crash*> any_crash = nullptr;

namespace detail {

inline void on_crash(int number, siginfo_t* info, void*) noexcept {
  Crash* crash = my_crash ? my_crash : any_crash.load();
  if (crash) {
    crash->code = info->si_code;
    // Of abort and kill, whose sender has its place there, there is no address.
    const bool is_fault = info->si_code > 0 && number != SIGABRT;
    crash->address = is_fault ? reinterpret_cast<std::uintptr_t>(info->si_addr) : 0;
    crash->system_call = number == SIGSYS ? info->si_syscall : -1;
    crash->thread = static_cast<std::int32_t>(::syscall(SYS_gettid));
    ::prctl(PR_GET_NAME, crash->thread_name);
    crash->signal.store(static_cast<std::uint32_t>(number));
  }
  // SA_RESETHAND has put back the default. A fault happens again; what was sent is sent again.
  if (info->si_code <= 0 || number == SIGABRT || number == SIGSYS) {
    ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number);
  }
}

}  // namespace detail

/// Reports the signals that end the process, which end it afterwards. A profile has a handler of
/// its own for SIGSYS, and keeps it.
inline void handle_crashes(bool has_profile) noexcept {
  struct sigaction action{};
  action.sa_sigaction = &detail::on_crash;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
    ::sigaction(number, &action, nullptr);
  }
  if (!has_profile) ::sigaction(SIGSYS, &action, nullptr);
}

/// A stack for the handler, of the calling thread: after an overflow its own has no room.
class SignalStack {
 public:
  SignalStack() : memory_(new std::byte[size]) {
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = size;
    ::sigaltstack(&stack, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }

 private:
  static constexpr std::size_t size = std::size_t{64} * 1024;
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace tenon::isolated
