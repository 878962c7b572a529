// SPDX-License-Identifier: MIT
//
// fuzz-programs: programs, which are loaded and run, and data files.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mutate/program.hpp"
#include "fuzz/offset_verdicts.hpp"
#include "fuzz/program_walk.hpp"

namespace tenon::fuzz {
namespace {

void program(std::span<std::byte> bytes) {
  const ProgramInput parts = split_input(bytes);
  if (!test::offset_verdicts(parts.program).agree()) std::abort();
  const auto opened = host::Program::from_bytes(parts.program, nullptr, "fuzz.pte");
  use(opened);
  if (!opened.ok()) return;
  test::Walk::program(*opened);
  test::MethodWalk::DataFiles data_files;
  if (!parts.data.empty()) {
    auto data = host::DataFile::from_bytes(parts.data, nullptr, "fuzz.ptd");
    use(data);
    if (data.ok()) data_files.push_back(*std::move(data));
  }
  test::MethodWalk::program(*opened, data_files);
}

void data_file(std::span<std::byte> bytes) {
  if (!test::offset_verdicts(bytes).agree()) std::abort();
  const auto opened = host::DataFile::from_bytes(bytes, nullptr, "fuzz.ptd");
  use(opened);
  if (opened.ok()) test::Walk::data_file(*opened);
}

constexpr Target all[] = {
    {"data_file", &data_file, &mutate_data_file},
    {"program", &program, &mutate_program},
};

}  // namespace

const std::span<const Target> targets = all;

}  // namespace tenon::fuzz
