// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::list {

/// All that `main` does: gives what it returns. `installed` is the folder of installed plugins.
int run_program(int argc, char** argv, const char* installed);

}  // namespace tenon::list
