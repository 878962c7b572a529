// SPDX-License-Identifier: MIT
#include "tenon/conformance/test.hpp"

#include <algorithm>
#include <mutex>

#include "kit/process/channel.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// FNV-1a: the same on every machine, which std::hash is not.
std::uint64_t hash_of_path(std::string_view path) noexcept {
  std::uint64_t out = 0xcbf29ce484222325;
  for (const char letter : path) {
    out = (out ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return out;
}

}  // namespace

struct Context::Findings {
  std::mutex mutex;
  std::vector<Finding> all;
};

Context::Context(const Subject& subject, const SubjectBackend* backend, const Case* of_case,
                 const RunOptions& options, Channel& channel, Breadcrumbs* crumbs,
                 std::string_view path)
    : subject_(subject),
      backend_(backend),
      case_(of_case),
      options_(options),
      channel_(channel),
      crumbs_(crumbs),
      random_(options.seed ^ hash_of_path(path)),
      findings_(std::make_unique<Findings>()) {}

Context::~Context() = default;

void Context::report(Finding finding) {
  const std::lock_guard lock(findings_->mutex);
  std::vector<Finding>& all = findings_->all;
  if (all.size() >= 20 || std::find(all.begin(), all.end(), finding) != all.end()) return;
  channel_.finding(finding);
  all.push_back(std::move(finding));
}

void Context::measure(std::string_view name, double value, std::string_view unit) {
  channel_.measurement({std::string(name), value, std::string(unit)});
}

std::vector<Finding> Context::findings() const {
  const std::lock_guard lock(findings_->mutex);
  return findings_->all;
}

void Context::stop(Outcome outcome, std::string reason) { throw Stop{outcome, std::move(reason)}; }

void Context::blocked_by(const Status& status, std::string_view what) {
  stop(Outcome::blocked, concat(what, ": ", describe(status)));
}

}}}  // namespace tenon::TENON_RELEASE::conformance
