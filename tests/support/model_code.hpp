// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "support/aligned_bytes.hpp"
#include "support/catch.hpp"
#include "tenon/aoti/library/model_requirements.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/elf/elf_image.hpp"

/// The code of compiled models inside of programs, and whether this processor can run it.
namespace tenon::test {

/// The ELF files of 64 bits in a file, each with all that follows it.
inline std::vector<Bytes> elf_files_in(Bytes file) {
  std::vector<Bytes> out;
  const std::string_view text = as_text(file);
  constexpr std::string_view magic =
      "\x7f"
      "ELF";
  for (std::size_t at = text.find(magic); at != text.npos; at = text.find(magic, at + 1)) {
    if (elf64_machine(file.subspan(at))) out.push_back(file.subspan(at));
  }
  return out;
}

/// CPU features that the code for x86-64 in a program needs and this processor lacks. Without a
/// decoder none is known.
inline std::vector<std::string> missing_features(const std::string& program) {
  std::vector<std::string> out;
  const AlignedBytes file = read_file(program);
  for (const Bytes library : elf_files_in(file.bytes())) {
    const auto features = aoti::decode_library(library, aoti_common::instruction_decoder());
    for (const std::string& name : features.names) {
      if (!aoti::cpu_supports(name)) out.push_back(name);
    }
  }
  return out;
}

/// Checks what loading a program gave: an error that names all that its code needs and this
/// processor lacks, or, when that is nothing, success.
inline void check_loaded_or_refused(const std::string& program, bool loaded,
                                    std::string_view text) {
  const std::vector<std::string> missing = missing_features(program);
  INFO(program << ": " << text);
  REQUIRE(loaded == missing.empty());
  for (const std::string& name : missing) {
    CHECK_THAT(std::string(text), ContainsSubstring(" CPU feature"));
    CHECK_THAT(std::string(text), ContainsSubstring(name));
  }
}

}  // namespace tenon::test
