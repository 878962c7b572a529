// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/aoti/aoti_model.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "tenon/core/aoti_names.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/host/layers/inspect/elf_library.hpp"
#include "tenon/host/loader/files/mapped_file.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

[[nodiscard]] inline Result<SharedBytes> map_whole_file(const std::filesystem::path& path) {
  TENON_TRY(host::MappedFile opened, host::MappedFile::open(path));
  auto file = std::make_shared<const host::MappedFile>(std::move(opened));
  const Bytes bytes = file->bytes();
  return SharedBytes::borrow(bytes, std::move(file));
}

}  // namespace detail

Status check_aoti_library(Bytes bytes, const std::string& name) {
  constexpr std::string_view mach_o = "\xcf\xfa\xed\xfe";
  constexpr std::string_view create = "AOTInductorModelContainerCreateWithDevice";
  const std::string_view text = as_text(bytes);
  if (text.starts_with(mach_o)) return ok();
  const auto machine = elf64_machine(bytes);
  if (!machine) {
    return error(Error::InvalidProgram, name,
                 ": is not a shared library (expected ELF or Mach-O of 64 bits, found ",
                 host::quoted(text.substr(0, 4)), ")");
  }
  auto library = host::read_elf_library(bytes, *machine);
  if (!library.ok()) {
    return error(Error::InvalidProgram, name, ": is damaged: ", library.text());
  }
  if (std::ranges::find(library->exported, create, &host::LibrarySymbol::name) ==
      library->exported.end()) {
    return error(Error::InvalidProgram, name,
                 ": is not a model of AOTInductor: it has no function ", create);
  }
  return ok();
}

Result<AotiModel> read_aoti_library(const std::filesystem::path& library,
                                    const std::optional<std::filesystem::path>& weights) {
  AotiModel out;
  TENON_TRY(out.library, detail::map_whole_file(library));
  TENON_RETURN_IF_ERROR(check_aoti_library(out.library.bytes(), host::path_text(library)));
  if (weights) {
    TENON_TRY(SharedBytes bytes, detail::map_whole_file(*weights));
    out.weights = std::move(bytes);
  }
  std::filesystem::path calls = library;
  calls.replace_extension(".json");
  std::error_code failed;
  // The name alone would also fit a file of something else.
  const bool has_calls =
      as_text(out.library.bytes()).find(aoti::proxy_executor_function) != std::string_view::npos;
  if (has_calls && std::filesystem::is_regular_file(calls, failed)) {
    TENON_TRY(SharedBytes bytes, detail::map_whole_file(calls));
    out.operator_calls = std::move(bytes);
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot
