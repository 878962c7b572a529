// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tenon/conformance/result.hpp"
#include "tenon/core/concat.hpp"

extern "C" char** environ;

namespace tenon::conformance {

/// What a process shares among all its parts, and a plugin must leave alone (TN-PRC-1 to 4). Taken
/// before a call and compared after it. Takes some microseconds; not while other threads run, which
/// a mask for new files that is read, and so is set for a moment, would disturb.
class ProcessState {
 public:
  /// Without the mask for new files where setting it for a moment could disturb others.
  explicit ProcessState(bool with_mask = true) : with_mask_(with_mask) { take(); }

  /// Takes the state anew. Allocates only when texts grew.
  void take() {
    locale_ = std::setlocale(LC_ALL, nullptr);
    for (int number = 1; number < num_signals; ++number) {
      struct sigaction& action = actions_[static_cast<std::size_t>(number)];
      std::memset(&action, 0, sizeof action);
      ::sigaction(number, nullptr, &action);
    }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    control_ = floating_point_control();
    folder_.resize(4096);
    folder_.resize(::getcwd(folder_.data(), folder_.size()) ? std::strlen(folder_.c_str()) : 0);
    if (with_mask_) {
      new_file_mask_ = ::umask(0);
      ::umask(new_file_mask_);
    }
    environment_.clear();
    for (char** entry = environ; entry && *entry; ++entry) {
      environment_ += *entry;
      environment_ += '\n';
    }
  }

  /// What `later` has otherwise, each with its rule.
  [[nodiscard]] std::vector<Finding> differences(const ProcessState& later) const {
    std::vector<Finding> out;
    if (later.locale_ != locale_) {
      out.push_back({"TN-PRC-1", concat("the locale was ", locale_, " and is ", later.locale_)});
    }
    for (int number = 1; number < num_signals; ++number) {
      const auto index = static_cast<std::size_t>(number);
      if (same_handler(actions_[index], later.actions_[index])) continue;
      out.push_back({"TN-PRC-2", concat("signal ", number, " (", name_of_signal(number),
                                        ") has another handler")});
    }
    for (int number = 1; number < num_signals; ++number) {
      const int before = sigismember(&mask_, number);
      const int after = sigismember(&later.mask_, number);
      if (before == after) continue;
      out.push_back({"TN-PRC-2", concat("signal ", number, " (", name_of_signal(number), ") is ",
                                        after == 1 ? "blocked" : "not blocked any more")});
    }
    if (later.control_ != control_) {
      out.push_back({"TN-PRC-3", concat("the floating-point control was ", control_, " and is ",
                                        later.control_, how_it_differs(later.control_))});
    }
    if (later.folder_ != folder_) {
      out.push_back(
          {"TN-PRC-4", concat("the current folder was ", folder_, " and is ", later.folder_)});
    }
    if (later.new_file_mask_ != new_file_mask_) {
      out.push_back({"TN-PRC-4", concat("the mask for new files was ", new_file_mask_, " and is ",
                                        later.new_file_mask_)});
    }
    if (later.environment_ != environment_) {
      out.push_back({"TN-PRC-4", "the environment's variables are not those from before: " +
                                     first_difference(environment_, later.environment_)});
    }
    return out;
  }

  /// Makes locale, signals, floating point, folder and mask what they were when this was taken, so
  /// that one broken rule does not look like others.
  void restore() const {
    std::setlocale(LC_ALL, locale_.c_str());
    for (int number = 1; number < num_signals; ++number) {
      ::sigaction(number, &actions_[static_cast<std::size_t>(number)], nullptr);
    }
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    set_floating_point_control(control_);
    [[maybe_unused]] const int moved = ::chdir(folder_.c_str());
    if (with_mask_) ::umask(new_file_mask_);
  }

 private:
  static constexpr int num_signals = 65;

  /// Rounding, traps and how subnormal numbers are treated, without the flags that were raised.
  static std::uint32_t floating_point_control() noexcept {
#if defined(__x86_64__)
    return _mm_getcsr() & ~0x3Fu;
#elif defined(__aarch64__)
    std::uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return static_cast<std::uint32_t>(control);
#else
    return static_cast<std::uint32_t>(std::fegetround());
#endif
  }
  static void set_floating_point_control(std::uint32_t control) noexcept {
#if defined(__x86_64__)
    _mm_setcsr(control | (_mm_getcsr() & 0x3Fu));
#elif defined(__aarch64__)
    const std::uint64_t wide = control;
    __asm__ volatile("msr fpcr, %0" : : "r"(wide));
#else
    std::fesetround(static_cast<int>(control));
#endif
  }
  [[nodiscard]] std::string how_it_differs([[maybe_unused]] std::uint32_t later) const {
#if defined(__x86_64__)
    const std::uint32_t changed = control_ ^ later;
    std::string out;
    if (changed & 0x8000) out += "; results that are subnormal become 0, or do not any more";
    if (changed & 0x0040) out += "; subnormal inputs count as 0, or do not any more";
    if (changed & 0x6000) out += "; it rounds otherwise";
    if (changed & 0x1F80) out += "; other exceptions trap";
    return out;
#else
    return {};
#endif
  }

  static bool same_handler(const struct sigaction& a, const struct sigaction& b) noexcept {
    return a.sa_flags == b.sa_flags &&
           ((a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                           : a.sa_handler == b.sa_handler);
  }
  static std::string name_of_signal(int number) {
    const char* text = ::strsignal(number);
    return text ? text : "unknown";
  }

  /// The first line that one text has and the other has not.
  static std::string first_difference(std::string_view before, std::string_view after) {
    const auto lacks = [](std::string_view text, std::string_view line) {
      return concat("\n", text).find(concat("\n", line, "\n")) == std::string::npos;
    };
    for (const auto& [from, other, word] :
         {std::tuple{after, before, "new: "}, std::tuple{before, after, "gone: "}}) {
      for (std::size_t begin = 0; begin < from.size();) {
        const std::size_t end = std::min(from.find('\n', begin), from.size());
        const std::string_view line = from.substr(begin, end - begin);
        if (lacks(other, line)) return concat(word, line);
        begin = end + 1;
      }
    }
    return "their order";
  }

  std::string locale_, folder_, environment_;
  std::array<struct sigaction, num_signals> actions_;
  sigset_t mask_;
  std::uint32_t control_ = 0;
  mode_t new_file_mask_ = 0;
  bool with_mask_;
};

}  // namespace tenon::conformance
