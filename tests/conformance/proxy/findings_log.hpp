// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kit/boundary/watch.hpp"
#include "kit/verdict/rule.hpp"
#include "tenon/abi/host.h"
#include "tenon/conformance/result.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Reports findings: each broken rule with its sentence in the host's log, and as a line of JSON in
/// a file. Reports the same finding once, and at most `max_reported` different ones; counts all.
/// Any thread.
class FindingsLog {
 public:
  static constexpr std::size_t max_reported = 1000;

  /// `report` may be empty. `host` must outlive this.
  FindingsLog(const tenon_host* host, std::string backend, std::string plugin,
              const std::string& report)
      : host_(host), backend_(std::move(backend)), plugin_(std::move(plugin)) {
    if (report.empty()) return;
    file_ = host::FileDescriptor(
        ::open(report.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file_.valid()) {
      log(TENON_LOG_ERROR, concat("TENON_PROXY_REPORT: ", report, ": cannot be written"));
    }
  }

  void log(std::int32_t level, std::string_view text) const {
    host_->log(host_, level, text.data(), text.size());
  }

  void add(const Finding& finding) {
    const CurrentCall& call = current_call().function ? current_call() : last_call();
    const Rule* rule = find_rule(finding.rule);
    const std::string sentence(rule ? rule->sentence : "");
    const std::string line =
        concat(finding.rule, " (", sentence, "): ", finding.text, " [backend ", backend_, "]");
    {
      const std::lock_guard lock(mutex_);
      ++count_;
      last_ = concat(finding.rule, ": ", finding.text, " (", sentence, ")");
      if (reported_.size() >= max_reported || !reported_.insert(finding.rule + finding.text).second)
        return;
    }
    log(TENON_LOG_ERROR, line);
    if (file_.valid()) append(finding, sentence, call);
  }

  [[nodiscard]] std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// The last finding, as the error text of a failure.
  [[nodiscard]] std::string last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  void append(const Finding& finding, const std::string& sentence, const CurrentCall& call) const {
    std::string at = concat("call ", call.number, ": ",
                            std::string_view(call.function ? call.function : "none"));
    if (call.delegate != 0) at += concat(" (delegate ", call.delegate, ")");
    const nlohmann::ordered_json object = {{"rule", finding.rule}, {"sentence", sentence},
                                           {"text", finding.text}, {"call", at},
                                           {"backend", backend_},  {"plugin", plugin_}};
    const std::string line =
        object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    // In one piece, so that lines of several processes do not mix.
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), line.data(), line.size());
  }

  const tenon_host* host_;
  std::string backend_, plugin_;
  host::FileDescriptor file_;
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::set<std::string> reported_;
  std::string last_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
