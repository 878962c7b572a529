// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/abi/version.h"
#include "tenon/conformance/result.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

/// Reports as certificates: whether a report vouches for a plugin's file. Who wrote the report is
/// not its subject: signatures are left to minisign or sigstore (docs/tools/certificates.md).
namespace tenon::conformance {

/// The conditions of a reader of a certificate.
struct CertificateTerms {
  std::string sha256;                              ///< Of the plugin's file, 64 hexadecimal digits.
  int level = 5;                                   ///< The lowest level of the run.
  std::string kit_version = TENON_VERSION_STRING;  ///< The rules are those of one version.
};

/// The statement of a report about one plugin.
struct Certificate {
  std::string path;         ///< Of the plugin when it was judged.
  std::string abi_version;  ///< "1.1".
  std::string started;      ///< When; empty in a report without times.
  int level = 0;
  std::uint64_t seed = 0;
  std::size_t num_tests = 0;            ///< All of the level.
  std::size_t num_judged = 0;           ///< Those that came to an end.
  std::vector<std::string> kept;        ///< Rules, by id.
  std::vector<std::string> expected;    ///< Rules that are broken as the subject file declares.
  std::vector<std::string> not_judged;  ///< Rules about which the report says nothing.
};

/// The statement of `report` about the plugin of `terms`. Only the results of the tests are read;
/// the verdict of the file and its states of rules are not.
///
/// errors: NotSupported for a report of another version of the kit; NotFound when the report has no
///         plugin with that SHA-256; InvalidArgument for a lower level, or when not all tests of
///         the level were selected; InvalidState when a rule is broken, tests could not be
///         judged, or no delegate was executed.
[[nodiscard]] TENON_API Result<Certificate> certificate_of(const Report& report,
                                                           const CertificateTerms& terms);

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include "tenon/conformance/report/view.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/files/quoted.hpp"

namespace tenon::conformance {

namespace detail {

/// The part of `report` about the plugin with that hash; no subject when there is none.
inline Report report_about(const Report& report, const std::string& sha256) {
  Report out;
  out.level = report.level;
  out.all_tests = report.all_tests;
  for (const SubjectReport& subject : report.subjects) {
    if (subject.sha256 == sha256) out.subjects.push_back(subject);
  }
  return out;
}

}  // namespace detail

TENON_API Result<Certificate> certificate_of(const Report& report, const CertificateTerms& terms) {
  if (report.kit_version != terms.kit_version) {
    return error(Error::NotSupported, "the report is of kit ", host::quoted(report.kit_version),
                 ", expected version ", terms.kit_version,
                 ": other versions have other rules; judge the plugin again");
  }
  const Report about = detail::report_about(report, terms.sha256);
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
  if (!report.all_tests) {
    return error(Error::InvalidArgument,
                 "the report has some tests of its level only, expected all: it was made with "
                 "--only, --rule, --test or --shard");
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
                  view.num_judged};
  for (const JudgedRule& rule : view.rules) {
    if (rule.state == RuleState::kept) out.kept.push_back(rule.id);
    if (rule.state == RuleState::expected) out.expected.push_back(rule.id);
    if (rule.state == RuleState::not_judged) out.not_judged.push_back(rule.id);
  }
  return out;
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
