// SPDX-License-Identifier: MIT
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/boundary/standard_streams.hpp"
#include "kit/process/breadcrumbs.hpp"
#include "kit/process/interposition.hpp"
#include "kit/process/process_state.hpp"
#include "tenon/abi/status.h"
#include "tenon/conformance/boundary.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

// Thread-local objects here have no destructor: it would keep a plugin that watches another one in
// memory until the thread ends.

/// The first bytes of a text, stored in place.
class ShortText {
 public:
  ShortText() = default;
  ShortText(std::string_view text) noexcept : size_(text.copy(bytes_.data(), bytes_.size())) {}
  ShortText(const char* text) noexcept : ShortText(std::string_view(text)) {}

  operator std::string_view() const noexcept { return {bytes_.data(), size_}; }
  operator std::string() const { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

 private:
  std::array<char, 512> bytes_{};
  std::size_t size_ = 0;
};

/// The plugin's last `tenon_host.set_last_error` on this thread since its last call began.
struct SaidError {
  bool said = false;
  tenon_status status = TENON_STATUS_OK;
  ShortText text;
};
inline SaidError& said_error() noexcept {
  thread_local SaidError error;
  return error;
}

/// The call into the plugin that this thread is in.
struct CurrentCall {
  const char* function = nullptr;  ///< Null outside of calls.
  std::uint32_t delegate = 0;      ///< From 1; 0 when there is none.
  std::uint64_t number = 0;        ///< From 1, in the order in which calls of the watch began.
  std::uint32_t findings = 0;      ///< Findings in it.
  std::int64_t host_wrote = 0;     ///< Bytes that the host wrote to the standard streams in it.
};
inline CurrentCall& current_call() noexcept {
  thread_local CurrentCall call;
  return call;
}
/// The last call that returned on this thread.
inline CurrentCall& last_call() noexcept {
  thread_local CurrentCall call;
  return call;
}

/// Whether a delegate or a kernel of a plugin ran with success in this process.
inline std::atomic<bool>& has_executed() noexcept {
  static std::atomic<bool> executed = false;
  return executed;
}

/// The running calls into one plugin, of all its backends. threads: any; hooks are set before the
/// first call.
class CallsAtOnce {
 public:
  std::function<void()> on_first;  ///< Called before a call while no other runs.
  std::function<void()> on_last;   ///< Called after the last running call.
  /// Returns a finding that was detected outside of `Watch`, each once.
  std::function<std::optional<Finding>()> next_finding;

  /// Returns the number of a call that begins.
  std::uint64_t begin() {
    const std::lock_guard lock(mutex_);
    if (running_++ == 0 && on_first) on_first();
    return ++begun_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0 && on_last) on_last();
  }
  /// Whether the call with `number` has been alone so far. Called between `begin` and `end`.
  [[nodiscard]] bool is_alone(std::uint64_t number) const noexcept {
    return running_ == 1 && begun_ == number;
  }

 private:
  std::mutex mutex_;
  std::atomic<std::uint32_t> running_ = 0;
  std::atomic<std::uint64_t> begun_ = 0;
};

/// Judges the rules for every call into the plugin: it leaves a crumb, compares the process before
/// and after, catches exceptions, and checks the texts of failures.
class Watch {
 public:
  /// Both must outlive the watch; `crumbs` may be null.
  Watch(Breadcrumbs* crumbs, OnFinding on_finding)
      : crumbs_(crumbs), on_finding_(std::move(on_finding)) {}

  /// Whether the process is compared around each call. Not while several threads call: they would
  /// disturb each other.
  void watch_process(bool on) noexcept { process_ = on; }
  /// Whether output on the standard streams is a finding. Only where they are files without another
  /// writer. Lines that are `declared`, which must outlive the watch, do not count.
  void watch_streams(bool on, std::span<const PrintedLines> declared = {}) noexcept {
    streams_ = on;
    declared_lines_ = declared;
  }

  /// The process belongs to an application with other threads: a call during which another one of
  /// `calls` ran is not compared, nothing is restored, and the mask for new files is not read,
  /// because that needs to set it. `calls` must outlive the watch.
  void share_process(CallsAtOnce* calls) noexcept { calls_ = calls; }

  /// Calls so far.
  [[nodiscard]] std::uint64_t num_calls() const noexcept { return count_; }

  template <class... Parts>
  void violated(std::string_view rule, const Parts&... parts) const {
    found({std::string(rule), concat(parts...)});
  }

  /// Calls `call`, which returns a status.
  template <class Call>
  tenon_status status_of(const char* function, std::uint32_t delegate, const Call& call) {
    said_error().said = false;
    return around(function, delegate, call);
  }

  /// Calls `call`, which cannot fail.
  template <class Call>
  void nothing_of(const char* function, std::uint32_t delegate, const Call& call) {
    around(function, delegate, [&] {
      call();
      return tenon_status{TENON_STATUS_OK};
    });
  }

 private:
  void found(Finding finding) const {
    ++current_call().findings;
    const std::int64_t written = streams_ ? bytes_in_standard_streams() : 0;
    on_finding_(std::move(finding));
    if (streams_) current_call().host_wrote += bytes_in_standard_streams() - written;
  }

  /// Records the current call of this thread during its lifetime.
  class Entered {
   public:
    Entered(const char* function, std::uint32_t delegate, std::uint64_t number, CallsAtOnce* calls)
        : outer_(current_call()), calls_(calls), ticket_(calls ? calls->begin() : 0) {
      current_call() = {function, delegate, number, 0, 0};
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    ~Entered() {
      if (calls_) calls_->end();
      // Code after the call reads what was found in it.
      last_call() = current_call();
      outer_.findings += last_call().findings;
      current_call() = outer_;
    }
    [[nodiscard]] bool is_alone() const noexcept { return !calls_ || calls_->is_alone(ticket_); }

   private:
    CurrentCall outer_;
    CallsAtOnce* calls_;
    std::uint64_t ticket_;
  };

  [[nodiscard]] static bool is_execution(std::string_view function) noexcept {
    return function == "execute" || function == "start" || function == "run_kernel";
  }

  template <class Call>
  tenon_status around(const char* function, std::uint32_t delegate, const Call& call) {
    const Entered entered(function, delegate, count_.fetch_add(1) + 1, calls_);
    const bool compares = entered.is_alone();
    std::optional<ProcessState> before;
    if (process_ && compares) before.emplace(!calls_);
    const std::int64_t written = streams_ ? bytes_in_standard_streams() : 0;
    Crumb* crumb = crumbs_ ? crumbs_->enter(function, delegate) : nullptr;
    tenon_status status = TENON_STATUS_INTERNAL;
    bool threw = false;
    try {
      const InsidePlugin inside;
      status = call();
#if defined(__GLIBCXX__)
    } catch (const abi::__forced_unwind&) {  // pthread_exit; it cannot be caught.
      violated("TN-BCK-7", function, " ended the thread that called it");
      throw;
#endif
    } catch (const std::exception& thrown) {
      threw = true;
      violated("TN-BCK-1", function, " let an exception out: ", std::string_view(thrown.what()));
    } catch (...) {
      threw = true;
      violated("TN-BCK-1", function, " let an exception out that is not a std::exception");
    }
    if (crumb) crumbs_->leave(crumb, status);
    if (status == TENON_STATUS_OK && is_execution(function)) has_executed() = true;
    if (status != TENON_STATUS_OK && !threw) judge_failure(function, status);
    if (const std::uint32_t freed = interposition.lent_and_freed.exchange(0); freed != 0) {
      violated("TN-BCK-2", function, " gave ", freed, " blocks of the host's allocators to free");
    }
    const EnvironmentChanges changes = std::exchange(environment_changes, {});
    if (calls_ && calls_->next_finding) {
      while (const auto finding = calls_->next_finding()) {
        found({finding->rule, concat(function, ": ", finding->text)});
      }
    }
    if (!entered.is_alone()) return status;
    if (before) {
      const ProcessState after(!calls_);
      const std::vector<Finding> differences = before->differences(after);
      for (const Finding& finding : differences) {
        found({finding.rule, concat(function, ": ", finding.text)});
      }
      if (changes.count != 0 && !before->has_other_environment(after)) {
        violated("TN-PRC-4", function, " changed the environment variable ", changes.first.data(),
                 ", and undid it before it returned: other "
                 "threads can read it at any time");
      }
      if (!differences.empty() && !calls_) before->restore();
    }
    if (!streams_ || !compares) return status;
    judge_output(function, written);
    return status;
  }

  /// `written`: the bytes in the standard streams before the call.
  void judge_output(const char* function, std::int64_t written) const {
    std::int64_t more = bytes_in_standard_streams() - written - current_call().host_wrote;
    if (more == 0) return;
    const UndeclaredText text = undeclared_text(text_in_standard_streams(written), declared_lines_);
    more -= text.declared_bytes;
    if (more == 0) return;
    // The host's lines may be among the plugin's: they would be quoted as the plugin's.
    const bool is_known = !text.first_line.empty() && current_call().host_wrote == 0;
    violated("TN-PRC-5", function, " wrote ", more, " bytes to standard output or standard error",
             is_known ? concat(": ", host::quoted(text.first_line)) : std::string());
  }

  void judge_failure(const char* function, tenon_status status) const {
    const std::string_view name = error_name(static_cast<Error>(status));
    if (name.empty()) {
      violated("TN-ERR-1", function, " returned ", status, ", which is not a status number");
      return;
    }
    const SaidError& said = said_error();
    if (!said.said) {
      violated("TN-ERR-2", function, " returned ", name, " without calling set_last_error");
    } else if (said.status != status) {
      violated("TN-ERR-2", function, " returned ", name, " and gave set_last_error the status ",
               error_name(static_cast<Error>(said.status)), ": ", said.text);
    } else if (count_words(said.text) < 3) {
      violated("TN-ERR-2", function, " returned ", name, " with the text '", said.text,
               "', which does not say what was expected and what was found");
    }
  }

  static std::size_t count_words(std::string_view text) noexcept {
    std::size_t words = 0;
    bool inside = false;
    for (const char letter : text) {
      const bool space = letter == ' ' || letter == '\n' || letter == '\t';
      if (!space && !inside) ++words;
      inside = !space;
    }
    return words;
  }

  Breadcrumbs* crumbs_;
  OnFinding on_finding_;
  std::atomic<bool> process_ = true;
  std::atomic<bool> streams_ = false;
  std::span<const PrintedLines> declared_lines_;
  std::atomic<std::uint64_t> count_ = 0;
  CallsAtOnce* calls_ = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
