// SPDX-License-Identifier: MIT
#pragma once

#include "templates.hpp"

namespace tenon::make_new {

/// The body of `main`: returns the exit code.
int run_program(int argc, char** argv, const TemplatePlaces& places);

}  // namespace tenon::make_new
