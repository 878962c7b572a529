// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::isolate {

/// The body of `main`: returns the exit code.
int run_program(int argc, char** argv);

}  // namespace tenon::isolate
