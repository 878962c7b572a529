// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/program_in_memory.hpp"

#include <cstddef>
#include <utility>

#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

Result<ProgramInMemory> make_program(const std::vector<CompiledMethod>& methods, std::string name) {
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

}}}  // namespace tenon::TENON_RELEASE::aot
