// SPDX-License-Identifier: MIT
//
// Writes each program of tests/fixtures/cuda_* again with payloads of generations 1 and 2, which
// exporters wrote before, as cases beside the original's: OUT/NAME_generation_1, ... The exporter
// in use writes generation 3 alone.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "exported.hpp"

namespace fs = std::filesystem;

namespace {

void write_generation(const tenon::test::ExportedProgram& exported, const fs::path& from,
                      int generation, const fs::path& to) {
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    // Weights are in the program of these generations.
    const auto extension = entry.path().extension();
    if (extension != ".npy" && extension != ".json") continue;
    fs::copy_file(entry.path(), to / entry.path().filename(), fs::copy_options::overwrite_existing);
  }
  const auto packed = exported.packed(generation);
  std::ofstream file(to / "model.pte", std::ios::binary);
  file.write(reinterpret_cast<const char*>(packed.bytes().data()),
             static_cast<std::streamsize>(packed.bytes().size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + (to / "model.pte").string());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: write-older-generations OUT CASE...\n", stderr);
    return 2;
  }
  try {
    for (int i = 2; i < argc; ++i) {
      // A path that ends in "/" has no file name.
      const fs::path from = fs::canonical(argv[i]);
      const tenon::test::ExportedProgram exported(from);
      for (const int generation : {1, 2}) {
        const std::string name =
            from.filename().string() + "_generation_" + std::to_string(generation);
        write_generation(exported, from, generation, fs::path(argv[1]) / name);
      }
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "write-older-generations: %s\n", failure.what());
    return 1;
  }
  return 0;
}
