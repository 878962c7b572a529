// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "kit/process/guarded_memory.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// While calls run, turns an access to forbidden pages into a finding instead of ending the
/// application: it unprotects the pages, the access is repeated, and the fault is recorded. Other
/// faults are passed to the previous handler. Any thread; one object a process, or library.
class ForgivingPages {
 public:
  ForgivingPages() = default;
  ForgivingPages(const ForgivingPages&) = delete;
  ForgivingPages& operator=(const ForgivingPages&) = delete;

  void install() noexcept {
    struct sigaction action{};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &action, &before()[i]);
  }
  /// Restores the previous handlers, unless they were replaced meanwhile.
  void remove() noexcept {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      struct sigaction now{};
      ::sigaction(signals[i], nullptr, &now);
      const bool is_mine = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault;
      if (is_mine) ::sigaction(signals[i], &before()[i], nullptr);
    }
  }

  /// The next recorded access, if any.
  [[nodiscard]] std::optional<Finding> take() {
    for (Fault& fault : faults()) {
      const char* what = fault.what.exchange(nullptr);
      if (what) return Finding{fault.rule.load(), concat("touched memory ", what)};
    }
    return std::nullopt;
  }

 private:
  struct Fault {
    std::atomic<const char*> rule = nullptr;
    std::atomic<const char*> what = nullptr;  // Null: free.
  };
  static constexpr std::array<int, 2> signals = {SIGSEGV, SIGBUS};

  static std::array<struct sigaction, signals.size()>& before() noexcept {
    static std::array<struct sigaction, signals.size()> actions;
    return actions;
  }
  static std::array<Fault, 16>& faults() noexcept {
    static std::array<Fault, 16> all;
    return all;
  }

  static void on_fault(int number, siginfo_t* info, void*) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    // A code that is not positive comes from a process and has no address.
    const ForbiddenPages* pages = info->si_code > 0 ? find_forbidden(address) : nullptr;
    // Constants are memory of the application, and stay protected.
    if (pages && std::string_view(pages->rule) != "TN-TEN-1") {
      const std::uintptr_t begin = pages->begin;
      const int opened =
          ::mprotect(reinterpret_cast<void*>(begin), pages->end - begin, PROT_READ | PROT_WRITE);
      if (opened == 0) return keep(pages->rule, pages->what);
    }
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (signals[i] == number) ::sigaction(number, &before()[i], nullptr);
    }
    // The instruction is repeated and faults again; a signal that was sent is not.
    if (info->si_code <= 0) ::raise(number);
  }

  static void keep(const char* rule, const char* what) noexcept {
    for (Fault& fault : faults()) {
      if (fault.what.load() != nullptr) continue;
      fault.rule = rule;
      fault.what = what;
      return;
    }
  }
};

}}}  // namespace tenon::TENON_RELEASE::conformance
