// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "kit/report/options.hpp"
#include "tenon/conformance/result.hpp"

/// Reports as JUnit XML, in the form that Jenkins (the schema junit-10.xsd of its xUnit plugin),
/// GitLab and GitHub's actions read. It has four outcomes:
///
///   passed                                               no element
///   failed, unexpected pass                              failure
///   error of the kit                                     error
///   expected failure, unsupported, not applicable, blocked   skipped
///
/// The verdict of the whole run is a property of each suite: JUnit has no element for tests that
/// could not be judged, and `INCOMPLETE` has no failure.
///
/// A JUnit suite is one suite of one plugin. GitLab drops a test with the name of another; names
/// of tests are their paths, which differ within one plugin, and `classname` names the plugin.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// `report` as JUnit XML.
[[nodiscard]] std::string to_junit(const Report& report, const ReportOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::conformance
