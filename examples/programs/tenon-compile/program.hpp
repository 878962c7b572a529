// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tenon::compile {

/// The body of `main`; returns the exit code. `installed` is the directory of installed plugins.
int run_program(int argc, char** argv, const std::string& installed);

}  // namespace tenon::compile
