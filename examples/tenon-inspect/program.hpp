// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::inspect {

/// All that `main` does: gives what it returns.
int run_program(int argc, char** argv);

}  // namespace tenon::inspect
