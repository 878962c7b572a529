// SPDX-License-Identifier: MIT
#pragma once

#include "templates.hpp"

namespace tenon::make_new {

/// All that `main` does: gives what it returns.
int run_program(int argc, char** argv, const TemplatePlaces& places);

}  // namespace tenon::make_new
