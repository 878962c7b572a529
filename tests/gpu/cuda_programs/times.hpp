// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "driver.hpp"
#include "kit/fixtures/case_method.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/core/result.hpp"

namespace gpu_programs {

/// Times a run of `method`, whose delegates run on `stream`, by events on that stream: plain, and
/// as a graph that the application captures. Returns members of a JSON object: the least and the
/// median seconds of each, or why a run cannot be captured. Inputs are set before each plain run,
/// which is not timed. The method is left with the run's outputs, which were compared with what the
/// case expects where `compares`.
///
/// errors: of a run and of the driver; Internal for a result that differs.
tenon::Result<std::string> time_run(const Driver& driver, void* stream,
                                    tenon::conformance::CaseMethod& method,
                                    const tenon::conformance::CaseRun& run,
                                    const tenon::conformance::Tolerances& tolerances,
                                    bool compares);

}  // namespace gpu_programs
