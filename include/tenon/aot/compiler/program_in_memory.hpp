// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// A compiled program that is in no file.
struct ProgramInMemory {
  std::shared_ptr<const host::Program> program;
  std::vector<std::shared_ptr<const host::DataFile>> data_files;  ///< In place of `.ptd` files.
};

/// Makes a program of compiled methods (`compile_methods`). `name` is its path in errors.
///
/// errors: as `emit`, `make_pte` and `make_ptd`.
[[nodiscard]] Result<ProgramInMemory> make_program(const std::vector<CompiledMethod>& methods,
                                                   std::string name);

}}}  // namespace tenon::TENON_RELEASE::aot
