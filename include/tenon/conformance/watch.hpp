// SPDX-License-Identifier: MIT
#pragma once

#include <cxxabi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/status.h"
#include "tenon/conformance/breadcrumbs.hpp"
#include "tenon/conformance/interposition.hpp"
#include "tenon/conformance/process_state.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/status.hpp"

namespace tenon::conformance {

/// Receives what was found. Called from any thread.
using OnFinding = std::function<void(Finding)>;

/// What the plugin said last on this thread through `tenon_host.set_last_error`, since its last
/// call began.
struct SaidError {
  bool said = false;
  tenon_status status = TENON_STATUS_OK;
  std::string text;
};
inline SaidError& said_error() noexcept {
  thread_local SaidError error;
  return error;
}

/// Surrounds each call into the plugin with what every call must keep: it leaves a crumb, compares
/// the process before and after, holds back exceptions, and looks at how failures are told.
class Watch {
 public:
  /// Both must outlive the watch; `crumbs` may be null.
  Watch(Breadcrumbs* crumbs, OnFinding on_finding)
      : crumbs_(crumbs), on_finding_(std::move(on_finding)) {}

  /// Whether the process is compared around each call. Not while several threads call: they would
  /// see each other.
  void watch_process(bool on) noexcept { process_ = on; }
  /// Whether what comes out on the standard streams is a finding. Only where they are files that
  /// nobody else writes to.
  void watch_streams(bool on) noexcept { streams_ = on; }

  template <class... Parts>
  void broke(std::string_view rule, const Parts&... parts) const {
    on_finding_({std::string(rule), concat(parts...)});
  }

  /// Calls `call`, which returns a status.
  template <class Call>
  tenon_status status_of(const char* function, std::uint32_t delegate, const Call& call) {
    said_error().said = false;
    tenon_status status = TENON_STATUS_INTERNAL;
    bool threw = false;
    around(
        function, delegate, [&] { return status = call(); }, threw);
    if (status != TENON_STATUS_OK && !threw) judge_failure(function, status);
    return status;
  }

  /// Calls `call`, which cannot fail.
  template <class Call>
  void nothing_of(const char* function, std::uint32_t delegate, const Call& call) {
    bool threw = false;
    around(
        function, delegate,
        [&] {
          call();
          return tenon_status{TENON_STATUS_OK};
        },
        threw);
  }

 private:
  template <class Call>
  void around(const char* function, std::uint32_t delegate, const Call& call, bool& threw) {
    std::optional<ProcessState> before;
    if (process_) before.emplace();
    const std::int64_t written = streams_ ? stream_bytes() : 0;
    Crumb* crumb = crumbs_ ? crumbs_->enter(function, delegate) : nullptr;
    tenon_status status = TENON_STATUS_INTERNAL;
    try {
      const InsidePlugin inside;
      status = call();
#if defined(__GLIBCXX__)
    } catch (const abi::__forced_unwind&) {  // pthread_exit; it cannot be held back.
      broke("TN-BCK-7", function, " ended the thread that called it");
      throw;
#endif
    } catch (const std::exception& thrown) {
      threw = true;
      broke("TN-BCK-1", function, " let an exception out: ", std::string_view(thrown.what()));
    } catch (...) {
      threw = true;
      broke("TN-BCK-1", function, " let an exception out that is no std::exception");
    }
    if (crumb) crumbs_->leave(crumb, status);
    if (before) {
      const ProcessState after;
      const std::vector<Finding> differences = before->differences(after);
      for (const Finding& finding : differences) {
        on_finding_({finding.rule, concat(function, ": ", finding.text)});
      }
      if (!differences.empty()) before->restore();
    }
    if (streams_ && stream_bytes() != written) {
      broke("TN-PRC-5", function, " wrote ", stream_bytes() - written,
            " bytes to standard output or standard error");
    }
  }

  /// Bytes in the files behind the two standard streams.
  static std::int64_t stream_bytes() noexcept {
    std::int64_t sum = 0;
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      struct stat status {};
      if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) sum += status.st_size;
    }
    return sum;
  }

  void judge_failure(const char* function, tenon_status status) const {
    const std::string_view name = error_name(static_cast<Error>(status));
    if (name.empty()) {
      broke("TN-ERR-1", function, " returned ", status, ", which is no status number");
      return;
    }
    const SaidError& said = said_error();
    if (!said.said) {
      broke("TN-ERR-2", function, " returned ", name, " without calling set_last_error");
    } else if (said.status != status) {
      broke("TN-ERR-2", function, " returned ", name, " and gave set_last_error the status ",
            error_name(static_cast<Error>(said.status)), ": ", said.text);
    } else if (count_words(said.text) < 3) {
      broke("TN-ERR-2", function, " returned ", name, " with the text '", said.text,
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
};

}  // namespace tenon::conformance
