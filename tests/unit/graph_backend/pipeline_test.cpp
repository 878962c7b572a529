// SPDX-License-Identifier: MIT
//
// From PyTorch's archives to its numbers, without Python in between: every step as tenon-compile
// takes it, and the plugin from its file.
#include "pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compiled.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/host/layers/arrays/npy.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_pipeline_test {
namespace {

namespace fs = std::filesystem;

aot::Pt2Program read_archive(const std::string& name) {
  auto archive = aot::read_pt2(fs::path(TENON_TEST_FIXTURES) / "pt2" / name / "model.pt2");
  INFO(archive.text());
  REQUIRE(archive.ok());
  return *std::move(archive);
}

std::vector<aot::CompileSpecData> specs_of(const Specs& specs) {
  std::vector<aot::CompileSpecData> out;
  for (const auto& [key, value] : specs) {
    out.push_back({key, aot::SharedBytes::copy_of(std::string_view(value))});
  }
  return out;
}

host::NpyArray array(const fs::path& path) {
  auto found = host::read_npy(path.string());
  INFO(found.text());
  REQUIRE(found.ok());
  return *std::move(found);
}

/// Runs all runs of the fixture; checks that all nodes are in one partition.
void check_fixture(const std::string& name, const Specs& specs) {
  INFO(name);
  const auto archive = read_archive(name);
  const auto compiled =
      compile_archive(archive, graph_registry(), specs_of(specs), TENON_GRAPH_BACKEND_ID);
  INFO(compiled.text());
  REQUIRE(compiled.ok());
  CHECK(compiled->partitions == 1);
  CHECK(compiled->left_over == 0);
  const auto method = load(compiled->program);
  INFO(method.text());
  REQUIRE(method.ok());
  const fs::path directory = fs::path(TENON_TEST_FIXTURES) / "pt2" / name;
  for (const std::string run : {"", "run1_", "run2_"}) {
    if (!fs::exists(directory / (run + "input_0.npy"))) continue;
    const auto input = array(directory / (run + "input_0.npy"));
    REQUIRE((*method)
                ->set_input(0, host::InputTensor{ScalarType::Float, input.shape, input.data.span()})
                .ok());
    const Status ran = (*method)->execute();
    INFO(ran.text());
    REQUIRE(ran.ok());
    const auto expected = array(directory / (run + "expected_0.npy"));
    const auto found = floats((*method)->output(0));
    const TensorView out(*(*method)->output(0).as.tensor);
    CHECK(std::ranges::equal(out.sizes(), expected.shape));
    const auto* wanted = reinterpret_cast<const float*>(expected.data.span().data());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(run, i, found[i], wanted[i]);
      CHECK(std::abs(found[i] - wanted[i]) <= 2e-6F + 1e-5F * std::abs(wanted[i]));
    }
  }
}

}  // namespace

TEST_CASE("an MLP that PyTorch exported runs as a whole in the plugin", "[graph_backend][pt2]") {
  for (const char* name : {"mlp", "mlp_decomposed"}) {
    check_fixture(name, {});
    check_fixture(name, {{"fold", "0"}});
    check_fixture(name, {{"weights", "named"}});
  }
}

TEST_CASE("a vision model that PyTorch exported runs as a whole in the plugin, for each batch",
          "[graph_backend][pt2]") {
  for (const char* name : {"vision", "vision_decomposed", "in_place_results"}) {
    check_fixture(name, {});
    check_fixture(name, {{"fold", "0"}});
    check_fixture(name, {{"weights", "named"}});
  }
}

TEST_CASE(
    "a layer of a transformer that PyTorch exported runs as a whole in the plugin, for each "
    "number of tokens",
    "[graph_backend][pt2]") {
  for (const char* name : {"transformer", "transformer_dynamic"}) {
    check_fixture(name, {});
    check_fixture(name, {{"fold", "0"}});
    check_fixture(name, {{"weights", "named"}});
  }
}

TEST_CASE("the plugin compiles all that it takes of every archive",
          "[graph_backend][pt2][TN-AOT-5]") {
  const auto plugin = aot::PluginPreprocess::find(graph_registry(), TENON_GRAPH_BACKEND_ID);
  REQUIRE(plugin.ok());
  std::size_t partitions = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(TENON_TEST_FIXTURES) / "pt2")) {
    const auto archive = aot::read_pt2(entry.path() / "model.pt2");
    if (!archive.ok()) continue;  // Some are refused by the reader on purpose.
    INFO(entry.path().string());
    for (const aot::Pt2Method& method : archive->methods) {
      const auto program = method.program.view();
      const auto chosen = plugin->partition(program, {});
      INFO(chosen.text());
      REQUIRE(chosen.ok());
      const auto lowered = aot::lower(program, *chosen);
      INFO(lowered.text());
      REQUIRE(lowered.ok());
      for (const auto& part : lowered->partitions) {
        const std::vector<aot::PartitionToCompile> one = {{part.program.view(), {}}};
        const auto compiled = plugin->preprocess(one);
        INFO(compiled.text());
        CHECK(compiled.ok());
        ++partitions;
      }
    }
  }
  CHECK(partitions >= 8);
}

}  // namespace graph_pipeline_test
