// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "compile.hpp"
#include "tenon/aot/program_data.hpp"

namespace tenon::compile {

/// The warning for a compile spec of the command line that no delegate of `program` has, with the
/// place at which it was lost; empty when one has it.
///
/// A backend's `partition` receives all specs, and decides which of them its partitions keep; only
/// these reach `preprocess` and are stored in the program.
[[nodiscard]] std::string unused_spec_warning(const Spec& spec, const aot::ProgramData& program);

}  // namespace tenon::compile
