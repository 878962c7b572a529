// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "driver.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/core/result.hpp"

namespace gpu_programs {

enum class Outcome { pass, fail, skip, not_available };

/// The outcome of one check of one case.
struct Check {
  Outcome outcome;
  std::string name;
  std::string detail;  ///< The figures, or the reason.
};

/// Receives each check when it has ended.
class Reporter {
 public:
  virtual void report(const Check& check) = 0;

 protected:
  ~Reporter() = default;
};

enum class Kind {
  results,  ///< All runs, with and without CUDA graphs, in sessions, on the application's streams,
            ///< in two threads, and with each shape that the case has.
  memory,   ///< What loads need on the device, and what they leave there.
  times,    ///< What runs cost by the device's clock.
};

/// Makes the checks of one kind for one case, through the plugin. Where the driver computes
/// nothing, results are not compared and such a check is a `skip`.
///
/// errors: of reading the case and loading the plugin; then no check was made.
tenon::Status check_case(Kind kind, const std::filesystem::path& directory,
                         const std::filesystem::path& plugin, const Driver& driver, bool compares,
                         Reporter& reporter);

}  // namespace gpu_programs
