// SPDX-License-Identifier: MIT
//
// Committed programs run on every processor of x86-64-v3 (AVX2). AOTInductor compiles for the
// exporting machine, so each library inside of a committed file is decoded.
#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "support/model_code.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

namespace fs = std::filesystem;

/// The features of all code for x86-64 in a file, and how many libraries have it.
X86FeatureSet features_in(const std::string& path, int& num_libraries) {
  X86FeatureSet out;
  const AlignedBytes file = read_file(path);
  for (const Bytes library : elf_files_in(file.bytes())) {
    const auto found = aoti::decode_library(library, aoti_common::instruction_decoder());
    num_libraries += found.is_known;
    for (const std::string& name : found.names) out.set(*find_x86_feature(name));
  }
  return out;
}

}  // namespace

TEST_CASE("committed programs have no code above x86-64-v3", "[lint]") {
  if (!aoti_common::instruction_decoder()) {
    WARN("left out: Zydis is not here");
    return;
  }
  constexpr unsigned most = 3;
  constexpr std::array extensions = {".pte", ".ptd", ".pt2", ".so", ".a", ".o"};
  int num_libraries = 0;
  std::map<unsigned, int> num_files;
  for (const char* directory : {"tests", "examples", "docs", "templates"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(TENON_TEST_SOURCE_ROOT) / directory)) {
      if (!entry.is_regular_file() ||
          std::ranges::find(extensions, entry.path().extension()) == extensions.end()) {
        continue;
      }
      const int before = num_libraries;
      const X86FeatureSet needed = features_in(entry.path().string(), num_libraries);
      if (num_libraries == before) continue;
      ++num_files[x86_level_of_code(needed)];
      std::string beyond;
      for (std::size_t i = 0; i < needed.size(); ++i) {
        if ((needed & ~x86_features_of_level(most)).test(i)) {
          beyond += " " + std::string(x86_features[i].name);
        }
      }
      INFO(entry.path().string() << " has code for " << x86_levels[x86_level_of_code(needed) - 1]
                                 << ":" << beyond);
      CHECK(beyond.empty());
    }
  }
  std::string summary = concat(num_libraries, " libraries in committed files:");
  for (const auto& [level, count] : num_files) {
    summary += concat(" ", count, " for ", x86_levels[level - 1], ";");
  }
  WARN(summary);
  CHECK(num_libraries > 20);
}
