// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "tenon/conformance/result.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Writes a bundle for each finding of a failed test of `judged` to a directory of its own in
/// `arguments.repro`, which is created: `repro.json` with the plugin's hash, the subject file, the
/// case, the seed and the version of the kit, and `repro.sh`, which replays that test alone. Names
/// of directories have letters, digits and '-' alone. `number` counts the bundles of a run.
///
/// errors: AccessFailed; as `host::write_file`.
[[nodiscard]] Status write_repros(const Arguments& arguments, const Subject& subject,
                                  const SubjectReport& judged, std::size_t& number);

/// The command line that runs the test of `result` alone, as the runner would have run it: this
/// program by its absolute path, and its arguments.
[[nodiscard]] std::vector<std::string> repro_command(const Arguments& arguments,
                                                     const Subject& subject,
                                                     const TestResult& result);

/// `words` for a POSIX shell: each is quoted where it has more than plain characters.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& words);

}}}  // namespace tenon::TENON_RELEASE::conformance
