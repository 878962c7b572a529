// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kit/verdict/complete.hpp"
#include "tenon/abi/version.h"
#include "tenon/conformance/result.hpp"
#include "tenon/core/result.hpp"

/// Reports as certificates: whether a report vouches for a plugin's file. Who wrote the report is
/// not its subject: signatures are left to minisign or sigstore (docs/tools/certificates.md).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The conditions of a reader of a certificate.
struct CertificateTerms {
  std::string sha256;                              ///< Of the plugin's file, 64 hexadecimal digits.
  int level = 5;                                   ///< The lowest level of the run.
  std::string kit_version = TENON_VERSION_STRING;  ///< The version whose rules hold.
  std::vector<std::string> backends;               ///< Of the plugin's own record.
  std::span<const KitTest> tests = kit_tests();    ///< The tests of that version.
};

/// The statement of a report about one plugin.
struct Certificate {
  std::string path;         ///< Of the plugin when it was judged.
  std::string abi_version;  ///< "1.0".
  std::string started;      ///< When; empty in a report without times.
  int level = 0;
  std::uint64_t seed = 0;
  std::size_t num_tests = 0;            ///< All of the level.
  std::size_t num_judged = 0;           ///< Tests that came to an end.
  std::vector<std::string> kept;        ///< Rules, by id.
  std::vector<std::string> expected;    ///< Rules that are broken as the subject file declares.
  std::vector<std::string> not_judged;  ///< Rules about which the report says nothing.
};

/// The statement of `report` about the plugin of `terms`. Only the results of the tests are read;
/// the verdict of the file and its states of rules are not.
///
/// errors: NotSupported for a report of another version of the kit; NotFound when the report has no
/// plugin with that SHA-256; InvalidArgument for a lower level or a level that the kit does not
/// have, when not all tests of the level were selected, or when a test is missing, there twice or
/// not the kit's (`check_complete`); InvalidState when a rule is broken, tests could not be judged,
/// or no delegate was executed.
[[nodiscard]] Result<Certificate> certificate_of(const Report& report,
                                                 const CertificateTerms& terms);

}}}  // namespace tenon::TENON_RELEASE::conformance
