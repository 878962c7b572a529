// SPDX-License-Identifier: MIT
//
// tenon-run --compare-layers on a transformer that GraphBackend compiled: finds the layer in which
// a fault was planted.
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../../graph_backend/transformer.hpp"
#include "process.hpp"
#include "support/environment.hpp"
#include "tenon/host/layers/arrays/npy.hpp"

using namespace tenon;
using namespace tenon::test;

namespace compare_layers_test {
namespace {

using Words = std::vector<std::string>;

::test::Outcome run(Words arguments) {
  const ::test::ScopedEnvironment environment(::test::Variables{{"TENON_DISABLE", "*"}});
  return ::test::run_program(TENON_RUN, std::move(arguments));
}

/// Programs and an input in a folder.
struct Files {
  TemporaryDirectory directory;
  std::string input = directory.file("x.npy");

  Files() {
    std::vector<float> x(32);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5) - 1.5F;
    const std::vector<std::int64_t> shape = {4, 8};
    REQUIRE(host::write_npy(input, ScalarType::Float, shape, std::as_bytes(std::span(x))).ok());
  }

  [[nodiscard]] std::string write(const std::string& name, const aot::ProgramData& data) const {
    const auto image = aot::make_pte(data);
    REQUIRE(image.ok());
    const auto bytes = image->bytes();
    const std::string path = directory.file(name);
    ::test::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return path;
  }
  [[nodiscard]] std::string transformer(const std::string& name, WeightFault fault = {},
                                        bool debug_handles = true) const {
    const auto program = Transformer(3, std::move(fault)).build();
    return write(name, compile_whole(program, debug_handles));
  }
  [[nodiscard]] Words with(const std::string& model, const std::string& reference,
                           Words more = {}) const {
    Words out = {model,     "--plugin", TENON_GRAPH_BACKEND_PLUGIN,
                 "--input", input,      "--compare-layers",
                 reference};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
};

}  // namespace

TEST_CASE("a fault in one layer of a delegated transformer is found", "[run][layers]") {
  const Files files;
  const std::string good = files.transformer("good.pte");
  const std::string faulty = files.transformer("faulty.pte", {"layers.1.k.weight", 1.02F});
  const std::string plot = files.directory.file("layers.svg");
  const auto text = run(files.with(faulty, good, {"--plot", plot}));
  INFO(text.err << text.out);
  CHECK(text.exit_code == 1);
  CHECK_THAT(text.out, ContainsSubstring("first layer that differs: layers_1_k ("));
  CHECK_THAT(text.out, ContainsSubstring("drawn in " + plot));
  const std::string svg = ::test::read_file(plot);
  CHECK_THAT(svg, ContainsSubstring("first layer that differs: layers_1_k"));

  const auto json = run(files.with(faulty, good, {"--json"}));
  CHECK(json.exit_code == 1);
  const auto report = nlohmann::json::parse(json.out);
  CHECK(report.at("status") == "differs");
  const auto& layers = report.at("layers");
  CHECK(layers.at("matched_by") == "debug_handle");
  CHECK(layers.at("only_here") == 0);
  CHECK(layers.at("only_in_reference") == 0);
  const std::size_t first = layers.at("first");
  for (std::size_t i = 0; i < first; ++i) {
    CHECK(layers.at("layers").at(i).at("peak").get<double>() == 0);
  }
  const auto& found = layers.at("layers").at(first);
  CHECK(found.at("node") == "layers_1_k");
  CHECK(found.at("shape") == std::vector<int>{4, 8});
  CHECK(found.at("peak").get<double>() > 1e-3);
}

TEST_CASE("each parameter of a transformer is found when it is wrong", "[run][layers]") {
  const Files files;
  const std::string good = files.transformer("good.pte");
  for (const char* name : {"layers.0.norm1.weight", "layers.1.v.weight", "layers.2.up.bias",
                           "layers.2.down.weight", "norm.bias"}) {
    const std::string parameter = name;
    CAPTURE(parameter);
    const auto outcome =
        run(files.with(files.transformer("faulty.pte", {parameter, 1.5F}), good, {"--json"}));
    CHECK(outcome.exit_code == 1);
    const auto layers = nlohmann::json::parse(outcome.out).at("layers");
    std::string node = layers.at("layers").at(layers.at("first").get<std::size_t>()).at("node");
    std::string expected = parameter.substr(0, parameter.rfind('.'));
    for (char& c : expected) c = c == '.' ? '_' : c;
    CHECK(node == expected);
  }
}

TEST_CASE("equal programs, and one program with two plugins, agree", "[run][layers]") {
  const Files files;
  const std::string good = files.transformer("good.pte");
  const auto same = run(files.with(good, good));
  INFO(same.err << same.out);
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.out, ContainsSubstring("by debug handle, 0 only here, 0 only in the reference"));
  CHECK_THAT(same.out, ContainsSubstring("all layers agree"));

  // Without debug handles the steps of the backend are compared.
  const std::string plain = files.transformer("plain.pte", {}, false);
  const auto steps = run(files.with(plain, TENON_GRAPH_BACKEND_PLUGIN));
  INFO(steps.err << steps.out);
  CHECK(steps.exit_code == 0);
  CHECK_THAT(steps.out, ContainsSubstring("by step, 0 only here"));
}

TEST_CASE("what cannot be compared is wrong usage", "[run][layers]") {
  const Files files;
  const std::string good = files.transformer("good.pte");
  const std::string plain = files.transformer("plain.pte", {}, false);
  const auto refused = run(files.with(good, plain));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("the reference has none"));
  CHECK_THAT(refused.err, ContainsSubstring("--debug-handles"));
  const auto missing = run(files.with(good, files.directory.file("none.pte")));
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.err, ContainsSubstring("--compare-layers"));
  const auto plot = run({good, "--plugin", TENON_GRAPH_BACKEND_PLUGIN, "--plot", "x.svg"});
  CHECK(plot.exit_code == 2);
}

TEST_CASE("a delegate is compared with kernels", "[run][layers]") {
  const Files files;
  const auto program = [] {
    aot::EdgeProgramBuilder graph;
    const aot::EdgeTensor f32{ScalarType::Float, {4, 8}};
    const auto x = graph.user_input("x", f32);
    const auto square =
        graph.node("aten.mul.Tensor", {{"self", aot::EdgeRef{x}}, {"other", aot::EdgeRef{x}}}, f32);
    graph.user_output(graph.node(
        "aten.add.Tensor", {{"self", aot::EdgeRef{square}}, {"other", aot::EdgeRef{x}}}, f32));
    return build_ok(std::move(graph));
  }();
  const std::string delegated = files.write("delegated.pte", compile_whole(program, true));
  const std::string kernels = files.write("kernels.pte", compile_whole(program, true, false));
  const auto outcome =
      run(files.with(delegated, kernels, {"--plugin", TENON_ARITHMETIC_PLUGIN, "--json"}));
  INFO(outcome.err << outcome.out);
  CHECK(outcome.exit_code == 0);
  const auto layers = nlohmann::json::parse(outcome.out).at("layers");
  CHECK(layers.at("matched_by") == "debug_handle");
  CHECK(layers.at("layers").size() == 3);  // With the output.
}

}  // namespace compare_layers_test
