// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tenon/core/concat.hpp"

extern "C" char** environ;

/// State that all parts of a process share, and that a plugin must not change. Texts are read into
/// strings of the caller, which allocates only when they grew.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The handlers of signals, and the signals that are blocked.
class SignalState {
 public:
  void take() {
    for (int number = 1; number < num_signals; ++number) {
      struct sigaction& action = actions_[static_cast<std::size_t>(number)];
      std::memset(&action, 0, sizeof action);
      ::sigaction(number, nullptr, &action);
    }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  }
  void restore() const {
    for (int number = 1; number < num_signals; ++number) {
      ::sigaction(number, &actions_[static_cast<std::size_t>(number)], nullptr);
    }
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  /// A text for each difference of `later`.
  [[nodiscard]] std::vector<std::string> differences(const SignalState& later) const {
    std::vector<std::string> out;
    for (int number = 1; number < num_signals; ++number) {
      const auto index = static_cast<std::size_t>(number);
      if (same_handler(actions_[index], later.actions_[index])) continue;
      out.push_back(
          concat("signal ", number, " (", name_of_signal(number), ") has another handler"));
    }
    for (int number = 1; number < num_signals; ++number) {
      const int before = sigismember(&mask_, number);
      const int after = sigismember(&later.mask_, number);
      if (before == after) continue;
      out.push_back(concat("signal ", number, " (", name_of_signal(number), ") is ",
                           after == 1 ? "blocked" : "not blocked any more"));
    }
    return out;
  }

 private:
  static constexpr int num_signals = 65;

  static bool same_handler(const struct sigaction& a, const struct sigaction& b) noexcept {
    // Linux: SA_RESTORER, which the C library adds to every action that it sets. A plugin that puts
    // back the default action after a library has changed it has put back everything.
    constexpr int of_libc = 0x04000000;
    return ((a.sa_flags ^ b.sa_flags) & ~of_libc) == 0 &&
           ((a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                           : a.sa_handler == b.sa_handler);
  }
  static std::string name_of_signal(int number) {
    const char* text = ::strsignal(number);
    return text ? text : "unknown";
  }

  std::array<struct sigaction, num_signals> actions_;
  sigset_t mask_;
};

/// The mask for new files. Reading it sets it for a moment.
[[nodiscard]] inline unsigned new_file_mask() noexcept {
  const ::mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}
inline void set_new_file_mask(unsigned mask) noexcept { ::umask(static_cast<::mode_t>(mask)); }

inline void read_directory(std::string& to) {
  to.resize(4096);
  to.resize(::getcwd(to.data(), to.size()) ? std::strlen(to.c_str()) : 0);
}
inline void set_directory(const std::string& directory) noexcept {
  [[maybe_unused]] const int moved = ::chdir(directory.c_str());
}

/// Sets an environment variable of this process. No other thread may run.
inline void set_variable(const std::string& name, const std::string& value) noexcept {
  ::setenv(name.c_str(), value.c_str(), 1);
}

/// The environment variables, each in a line.
inline void read_environment(std::string& to) {
  to.clear();
  for (char** entry = environ; entry && *entry; ++entry) {
    to += *entry;
    to += '\n';
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
