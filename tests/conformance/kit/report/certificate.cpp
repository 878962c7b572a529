// SPDX-License-Identifier: MIT
#include "kit/report/certificate.hpp"

#include "kit/report/view.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// The part of `report` about the plugin with that hash; no subject when there is none.
Report report_about(const Report& report, const std::string& sha256) {
  Report out;
  out.level = report.level;
  out.all_tests = report.all_tests;
  for (const SubjectReport& subject : report.subjects) {
    if (subject.sha256 == sha256) out.subjects.push_back(subject);
  }
  return out;
}

}  // namespace

Result<Certificate> certificate_of(const Report& report, const CertificateTerms& terms) {
  if (report.kit_version != terms.kit_version) {
    return error(Error::NotSupported, "the report is of kit ", host::quoted(report.kit_version),
                 ", expected version ", terms.kit_version,
                 ": other versions have other rules; judge the plugin again");
  }
  const Report about = report_about(report, terms.sha256);
  if (about.subjects.empty()) {
    const std::string found =
        report.subjects.empty() ? "no plugin" : host::quoted(report.subjects.front().sha256);
    return error(Error::NotFound, "the report is not about this plugin: expected SHA-256 ",
                 terms.sha256, ", found ", found,
                 report.subjects.size() > 1 ? concat(" and ", report.subjects.size() - 1, " more")
                                            : std::string());
  }
  if (report.level < terms.level) {
    return error(Error::InvalidArgument, "the report is of level ", report.level,
                 ", expected level ", terms.level, " or above");
  }
  if (report.level > highest_level) {
    return error(Error::InvalidArgument, "the report is of level ", report.level,
                 ", expected level ", highest_level, " or below");
  }
  if (!report.all_tests) {
    return error(Error::InvalidArgument,
                 "the report has some tests of its level only, expected all: it was made with "
                 "--only, --rule, --test or --shard");
  }
  for (const SubjectReport& subject : about.subjects) {
    TENON_RETURN_IF_ERROR(check_complete(subject, report.level, terms.backends, terms.tests));
  }
  const ReportView view = view_of(about);
  if (!view.good) {
    return error(Error::InvalidState, "the report does not vouch for the plugin: ", view.verdict);
  }
  if (view.num_idle != 0) {
    return error(Error::InvalidState,
                 "the report does not vouch for the plugin: no delegate was executed");
  }
  Certificate out{about.subjects.front().path,
                  report.abi_version,
                  report.started,
                  report.level,
                  report.seed,
                  view.num_tests,
                  view.num_judged,
                  {},
                  {},
                  {}};
  for (const JudgedRule& rule : view.rules) {
    if (rule.state == RuleState::kept) out.kept.push_back(rule.id);
    if (rule.state == RuleState::expected) out.expected.push_back(rule.id);
    if (rule.state == RuleState::not_judged) out.not_judged.push_back(rule.id);
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
