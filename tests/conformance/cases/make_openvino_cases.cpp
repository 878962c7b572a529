// SPDX-License-Identifier: MIT
//
// Writes cases of the OpenVINO plugin into a directory: make-openvino-cases DIR [--exported].
//
// The cases of TenonOpenvino are OpenVINO IR, which any version of OpenVINO on any processor
// compiles; they are next to this file. With --exported it writes the cases of OpenvinoBackend
// instead: what OpenVINO exports of the same IR, as ExecuTorch's exporter has it do. They are for
// the processor and the version that made them, so the tests make them where they run.

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/core.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "unit/openvino_runtime/linear_program.hpp"

namespace {

namespace fs = std::filesystem;
using openvino_backend::test::columns;
using openvino_backend::test::LinearProgram;
using openvino_backend::test::results;
using tenon::Status;

Status write_array(const fs::path& path, std::size_t width, const std::vector<float>& values) {
  const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(values.size() / width),
                                           static_cast<std::int64_t>(width)};
  return tenon::host::write_npy(path.string(), tenon::ScalarType::Float, sizes,
                                std::as_bytes(std::span(values)));
}

Status write_case(const fs::path& directory, std::string_view description,
                  const LinearProgram& program, const std::vector<std::size_t>& rows) {
  fs::create_directories(directory);
  const auto file = program.build();
  std::ofstream(directory / "model.pte", std::ios::binary)
      .write(reinterpret_cast<const char*>(file.bytes().data()),
             static_cast<std::streamsize>(file.bytes().size()));
  std::string runs;
  for (std::size_t run = 0; run < rows.size(); ++run) {
    std::vector<float> x;
    for (std::size_t i = 0; i < rows[run] * columns; ++i) {
      x.push_back(0.5F * static_cast<float>(i % 13) - 2.0F);
    }
    const std::string number = std::to_string(run);
    TENON_RETURN_IF_ERROR(write_array(directory / ("x" + number + ".npy"), columns, x));
    TENON_RETURN_IF_ERROR(write_array(directory / ("expected" + number + ".npy"), results,
                                      openvino_backend::test::expected(x)));
    runs += tenon::concat(run == 0 ? "" : ",", "\n    {\"inputs\": [\"x", number,
                          ".npy\"], \"expected\": [\"expected", number, ".npy\"]}");
  }
  std::ofstream(directory / "case.json")
      << "{\n  \"description\": \"" << description << "\",\n  \"runs\": [" << runs
      << "\n  ],\n  \"made_by\": {\"program\": "
         "\"tests/conformance/cases/make_openvino_cases.cpp\"}\n}\n";
  return tenon::ok();
}

tenon::Result<std::string> exported(const LinearProgram& program, const fs::path& directory) {
  using namespace openvino_backend;
  fs::create_directories(directory);
  Cores cores;
  Settings settings;
  settings.device = "CPU";
  TENON_TRY(const auto core, cores.find(settings));
  const Api& api = core->api();
  const auto need = [&](ov_status status) { return check(api, status, "make the case"); };
  std::vector<float> weights = openvino_backend::test::weights();
  std::int64_t size = static_cast<std::int64_t>(weights.size() * sizeof(float));
  OwnedTensor tensor(api);
  TENON_RETURN_IF_ERROR(need(api.tensor_create_from_host_ptr(ElementType::u8, ov_shape{1, &size},
                                                             weights.data(), tensor.out())));
  const std::string ir = openvino_backend::test::ir_of(
      program.is_dynamic ? ".." + std::to_string(program.rows) : std::to_string(program.rows));
  OwnedModel model(api);
  TENON_RETURN_IF_ERROR(need(api.core_read_model_from_memory_buffer(
      core->object.get(), ir.data(), ir.size(), tensor.get(), model.out())));
  OwnedCompiledModel compiled(api);
  TENON_RETURN_IF_ERROR(
      need(api.core_compile_model(core->object.get(), model.get(), "CPU", 0, compiled.out())));
  const fs::path path = directory / "exported.blob";
  TENON_RETURN_IF_ERROR(need(api.compiled_model_export_model(compiled.get(), path.c_str())));
  std::ifstream file(path, std::ios::binary);
  std::string out((std::istreambuf_iterator<char>(file)), {});
  fs::remove(path);
  return out;
}

Status write_cases(const fs::path& directory, bool is_exported) {
  LinearProgram fixed;
  fixed.rows = 2;
  LinearProgram dynamic;
  dynamic.rows = 8;
  dynamic.is_dynamic = true;
  const fs::path place = directory / (is_exported ? "openvino_exported" : "openvino");
  for (LinearProgram* program : {&fixed, &dynamic}) {
    const fs::path of_case = place / (program->is_dynamic ? "dynamic_linear" : "linear");
    if (is_exported) {
      program->id = "OpenvinoBackend";
      TENON_TRY(program->blob, exported(*program, of_case));
      program->specs = {{"device", "CPU"}};
    }
    TENON_RETURN_IF_ERROR(
        program->is_dynamic
            ? write_case(of_case, "a layer for none to eight rows", *program, {8, 1, 0, 3})
            : write_case(of_case, "a layer for two rows", *program, {2, 2}));
  }
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_exported = argc == 3 && std::strcmp(argv[2], "--exported") == 0;
  if (argc != 2 && !is_exported) {
    std::fprintf(stderr, "usage: make-openvino-cases DIR [--exported]\n");
    return 2;
  }
  const Status status = write_cases(argv[1], is_exported);
  if (status.ok()) return 0;
  std::fprintf(stderr, "make-openvino-cases: %s\n", tenon::describe(status).c_str());
  return 1;
}
