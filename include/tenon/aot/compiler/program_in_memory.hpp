// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/aot/compiler/emit/emit.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/program/data_file.hpp"
#include "tenon/host/program/program.hpp"

namespace tenon::aot {

/// A compiled program that is in no file.
struct ProgramInMemory {
  std::shared_ptr<const host::Program> program;
  std::vector<std::shared_ptr<const host::DataFile>> data_files;  ///< In place of `.ptd` files.
};

/// Makes a program of compiled methods (`compile_methods`). `name` is its path in errors.
///
/// errors: those of `emit`, `make_pte` and `make_ptd`.
[[nodiscard]] TENON_API Result<ProgramInMemory> make_program(
    const std::vector<CompiledMethod>& methods, std::string name);

}  // namespace tenon::aot

#if TENON_COMPILER_DEFINITIONS

#include <cstddef>
#include <utility>

#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"

namespace tenon::aot {

TENON_API Result<ProgramInMemory> make_program(const std::vector<CompiledMethod>& methods,
                                               std::string name) {
  const auto keep = [](const FileImage& image) {
    return std::make_shared<const std::vector<std::byte>>(image.bytes());
  };
  TENON_TRY(const ProgramData data, emit(methods));
  TENON_TRY(const FileImage image, make_pte(data));
  ProgramInMemory out;
  const auto bytes = keep(image);
  TENON_TRY(out.program, host::Program::from_bytes(*bytes, bytes, std::move(name)));
  for (const ExternalData& external : data.named_data.external_data) {
    TENON_TRY(const FileImage file, make_ptd(data.named_data.buffers, external.entries));
    const auto content = keep(file);
    TENON_TRY(auto opened, host::DataFile::from_bytes(*content, content, external.tag));
    out.data_files.push_back(std::move(opened));
  }
  return out;
}

}  // namespace tenon::aot

#endif  // TENON_COMPILER_DEFINITIONS
