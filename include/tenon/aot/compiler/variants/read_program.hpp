// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/aot/compiler/link/needs_implementation.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The description of a program that was opened, as `make_pte` takes it: to write it again with a
/// change. Blobs, constants, states and named data stay where they are: what is returned keeps
/// `program` alive and reads them when it is written.
///
/// Methods have the numbers of the file, constants and initial states are numbered by their first
/// use. Not in the description, and so lost, are the stack traces of instructions, which no runtime
/// reads.
///
/// errors: NotSupported: a method of several chains, of which writers make one.
[[nodiscard]] Result<ProgramData> read_program(std::shared_ptr<const host::Program> program);

}}}  // namespace tenon::TENON_RELEASE::aot
