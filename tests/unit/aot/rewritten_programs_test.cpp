// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/program_difference.hpp"
#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/compiler/variants/read_program.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::test::rewritten_programs {

std::vector<std::filesystem::path> exported_programs() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TENON_TEST_FIXTURES)) {
    if (entry.path().extension() == ".pte") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST_CASE("Programs that ExecuTorch wrote come back as they were when they are written again") {
  const auto paths = exported_programs();
  REQUIRE(paths.size() >= 30);
  for (const auto& path : paths) {
    INFO(path);
    const auto original = host::Program::open(path);
    REQUIRE(original.ok());
    const auto described = aot::read_program(*original);
    INFO(described.text());
    REQUIRE(described.ok());
    REQUIRE(ProgramDifference(*described, **original).find() == "");

    const auto image = aot::make_pte(*described);
    INFO(image.text());
    REQUIRE(image.ok());
    const auto bytes = image->bytes();
    const auto written = host::Program::from_bytes(bytes, nullptr, "written");
    INFO(written.text());
    REQUIRE(written.ok());
    REQUIRE(ProgramDifference(*described, **written).find() == "");
    // Ours has no more padding than theirs, and stores nothing twice.
    REQUIRE(bytes.size() <= std::filesystem::file_size(path) + 1024);
  }
}

TEST_CASE("Our plans of its programs are right and need no more memory than ExecuTorch's") {
  std::uint64_t ours = 0;
  std::uint64_t theirs = 0;
  for (const auto& path : exported_programs()) {
    // Its et_view gives memory that is needed a second name, as no program of ours does.
    if (path.parent_path().filename() == "xnnpack_dynamic_transformer") continue;
    INFO(path);
    const auto original = host::Program::open(path);
    REQUIRE(original.ok());
    auto described = aot::read_program(*original);
    REQUIRE(described.ok());
    for (auto& method : described->methods) {
      const auto proof = aot::check_method_memory(method);
      INFO(proof.text());
      REQUIRE(proof.ok());
      std::uint64_t before = 0;
      for (const auto& memory : method.planned_memory) before += memory.nbytes;
      method.planned_memory.resize(1);
      for (auto& value : method.values) {
        auto* tensor = std::get_if<aot::TensorValue>(&value);
        if (tensor != nullptr && tensor->place() != nullptr) *tensor->place() = {};
      }
      REQUIRE(aot::plan_method_memory(method).ok());
      REQUIRE(aot::check_method_memory(method).ok());
      std::uint64_t after = 0;
      for (const auto& memory : method.planned_memory) after += memory.nbytes;
      REQUIRE(after <= before);
      ours += after;
      theirs += before;
    }
    REQUIRE(aot::make_pte(*described).ok());
  }
  REQUIRE(theirs > 10'000);
  REQUIRE(ours <= theirs);
}

}  // namespace tenon::test::rewritten_programs
