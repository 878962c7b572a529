// SPDX-License-Identifier: MIT
//
// Writes the cases of a backend that compiles GraphBackend's graphs into a directory: archives of
// PyTorch (tests/fixtures/pt2), compiled by the plugin itself. Inputs and what eager PyTorch
// computes of them stay where they are. A test compares the directories next to this file with its
// output.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tenon/aot/compiler/write/ptd_writer.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "unit/graph_backend/pipeline.hpp"

namespace {

namespace fs = std::filesystem;
using tenon::Status;

struct GraphCase {
  std::string_view name;
  std::string_view fixture;
  std::string_view description;
  int runs = 1;
  std::string_view weights = "inline";
};

constexpr GraphCase cases[] = {
    {"mlp", "mlp", "linear layers and softmax"},
    {"named_weights", "mlp_decomposed", "weights in the program's named data", 1, "named"},
    {"external_weights", "mlp_decomposed", "weights in a .ptd file", 1, "external"},
    {"vision", "vision", "convolutions with batch norms in them, for several batches", 3},
    {"transformer", "transformer", "a layer of a transformer: attention, layer norms, gelu"},
    {"transformer_dynamic", "transformer_dynamic", "the same for several numbers of tokens", 3},
    {"special_values", "special_values", "each operator, of NaN, infinities, zeros, subnormals"},
};

std::string describe(const GraphCase& one) {
  std::string runs;
  for (int run = 0; run < one.runs; ++run) {
    const std::string prefix = tenon::concat("../../../../fixtures/pt2/", one.fixture, "/",
                                             run == 0 ? "" : tenon::concat("run", run, "_"));
    runs += tenon::concat(run == 0 ? "" : ",", "\n    {\"inputs\": [\"", prefix,
                          "input_0.npy\"], \"expected\": [\"", prefix, "expected_0.npy\"]}");
  }
  return tenon::concat("{\n  \"description\": \"", one.description, "\",\n  \"runs\": [", runs,
                       "\n  ],\n  \"made_by\": {\"program\": "
                       "\"tests/conformance/cases/make_graph_cases.cpp\"}\n}\n");
}

Status write_case(const GraphCase& one, const fs::path& fixtures, const fs::path& directory,
                  const tenon::host::BackendRegistry& registry, std::string_view backend_id) {
  TENON_TRY(const auto archive, tenon::aot::read_pt2(fixtures / one.fixture / "model.pt2"));
  TENON_TRY(const auto compiled,
            tenon::test::compile_archive(
                archive, registry, {{"weights", tenon::aot::SharedBytes::copy_of(one.weights)}},
                backend_id));
  fs::create_directories(directory / one.name);
  std::ofstream(directory / one.name / "case.json") << describe(one);
  TENON_RETURN_IF_ERROR(
      tenon::aot::write_external_data(compiled.program.named_data, directory / one.name));
  return tenon::aot::write_pte(compiled.program, directory / one.name / "model.pte");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: make-graph-cases PLUGIN BACKEND FOLDER FIXTURES DIR\n");
    return 2;
  }
  tenon::host::BackendRegistry registry;
  Status status = registry.register_backend(argv[1]);
  for (const GraphCase& one : cases) {
    if (!status.ok()) break;
    status = write_case(one, argv[4], fs::path(argv[5]) / argv[3], registry, argv[2]);
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", tenon::describe(status).c_str());
  return 1;
}
