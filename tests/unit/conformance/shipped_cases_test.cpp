// SPDX-License-Identifier: MIT
//
// The subject files and cases of this project: all can be read, and the plugins that run on this
// machine compute the expected outputs.

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "tenon/conformance/case_runner.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/host/arrays.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace shipped_cases_test {
namespace {

Subject subject(const std::string& name) {
  auto read = read_subject(name == "cpu_aoti" ? TENON_TEST_CPU_AOTI_SUBJECT
                                              : TENON_TEST_SUBJECTS "/" + name + ".json");
  INFO(read.text());
  REQUIRE(read.ok());
  return *std::move(read);
}

void check_arrays(const std::vector<CaseValue>& values) {
  for (const CaseValue& value : values) {
    const auto* const file = std::get_if<ArrayFile>(&value);
    if (!file) continue;
    const auto array = host::read_npy(file->path.string());
    INFO(array.text());
    CHECK(array.ok());
  }
}

}  // namespace

TEST_CASE("every subject file that is shipped names cases whose files can be read", "[shipped]") {
  const std::string name = GENERATE("cpu_aoti", "cuda_aoti", "metal_aoti", "demo_backend", "hello");
  CAPTURE(name);
  if (name == "cpu_aoti" && std::string_view(TENON_CPU_AOTI_PLUGIN).empty()) return;
  const Subject read = subject(name);
  REQUIRE(read.backends.size() == 1);
  CHECK(read.backends[0].cases.size() >= 2);
  for (const Case& of : read.backends[0].cases) {
    CAPTURE(of.directory.string());
    const auto program = host::Program::open(of.program);
    INFO(program.text());
    REQUIRE(program.ok());
    const auto method = host::MethodMeta::of(**program, of.method);
    REQUIRE(method.ok());
    const auto backends = method->backends();
    CHECK(std::ranges::find(backends, read.backends[0].id) != backends.end());
    for (const auto& data : of.data_files) CHECK(host::DataFile::open(data).ok());
    for (const CaseRun& run : of.runs) {
      CHECK(run.inputs.size() == method->num_inputs());
      CHECK(run.expected.size() == method->num_outputs());
      check_arrays(run.inputs);
      check_arrays(run.expected);
    }
  }
}

TEST_CASE("plugins compute what their cases expect", "[shipped]") {
  const auto [name, plugin] = GENERATE(table<std::string, std::string>({
      {"hello", TENON_HELLO_PLUGIN},
      {"demo_backend", TENON_DEMO_PLUGIN},
      {"cpu_aoti", TENON_CPU_AOTI_PLUGIN},
  }));
  if (plugin.empty()) return;  // Is not built here.
  CAPTURE(name);
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::path(plugin)).ok());
  const Subject read = subject(name);
  const SubjectBackend& backend = read.backends.at(0);
  host::MethodOptions options;
  options.registry = &registry;
  for (const Case& of : backend.cases) {
    CAPTURE(of.directory.string());
    auto method = CaseRunner::load(of, options);
    INFO(method.text());
    REQUIRE(method.ok());
    for (std::size_t run = 0; run < of.runs.size(); ++run) {
      CAPTURE(run);
      const auto outputs = method->run(run, backend.tolerances_for(of));
      INFO(outputs.text());
      REQUIRE(outputs.ok());
      CHECK(outputs->size() == of.runs[run].expected.size());
      for (const OutputComparison& output : *outputs) {
        INFO(output.text);
        CHECK(output.equal);
      }
    }
  }
}

TEST_CASE("a case that does not fit its program is an error", "[shipped]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::path(TENON_HELLO_PLUGIN)).ok());
  host::MethodOptions options;
  options.registry = &registry;
  const Subject read = subject("hello");
  const auto& cases = read.backends.at(0).cases;
  Case add = *std::ranges::find(cases, "add", &Case::name);

  SECTION("too few inputs") {
    add.runs[0].inputs.pop_back();
    auto method = CaseRunner::load(add, options);
    REQUIRE(method.ok());
    const auto outputs = method->run(0, {});
    CHECK(outputs.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(outputs.text()),
               ContainsSubstring("the method forward has 2 inputs, the case 1"));
  }
  SECTION("too many outputs") {
    add.runs[0].expected.push_back(std::int64_t{1});
    auto method = CaseRunner::load(add, options);
    REQUIRE(method.ok());
    CHECK_THAT(std::string(method->run(0, {}).text()),
               ContainsSubstring("has 1 outputs, the case 2"));
  }
  SECTION("a number for a tensor") {
    add.runs[0].inputs[1] = std::int64_t{3};
    auto method = CaseRunner::load(add, options);
    REQUIRE(method.ok());
    CHECK_THAT(std::string(method->run(0, {}).text()), ContainsSubstring("input 1: "));
  }
  SECTION("an input of another shape") {
    add.runs[0].inputs[1] = std::ranges::find(cases, "scalar", &Case::name)->runs[0].inputs[1];
    auto method = CaseRunner::load(add, options);
    REQUIRE(method.ok());
    CHECK_THAT(std::string(method->run(0, {}).text()), ContainsSubstring("input 1: "));
  }
  SECTION("another output") {
    add.runs[0].expected[0] = add.runs[0].inputs[0];
    auto method = CaseRunner::load(add, options);
    REQUIRE(method.ok());
    const auto outputs = method->run(0, {});
    REQUIRE(outputs.ok());
    CHECK_FALSE(outputs->at(0).equal);
  }
  SECTION("a missing method") {
    add.method = "backward";
    CHECK_FALSE(CaseRunner::load(add, options).ok());
  }
  SECTION("a file that is no program") {
    add.program = std::get<ArrayFile>(add.runs[0].inputs[0]).path;
    CHECK_FALSE(CaseRunner::load(add, options).ok());
  }
}

}  // namespace shipped_cases_test
