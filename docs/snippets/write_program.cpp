// SPDX-License-Identifier: MIT
// Code of docs/aot/writing-programs.md: write_program HELLO_PLUGIN DIRECTORY
//
// Writes a program and a data file, and runs the program.
#include <array>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <tenon/aot/compiler/emit/method_memory.hpp>
#include <tenon/aot/compiler/write/ptd_writer.hpp>
#include <tenon/aot/compiler/write/pte_writer.hpp>
#include <tenon/aot/named_data_store.hpp>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

namespace {

namespace aot = tenon::aot;

/// The numbers 0 to 11.
aot::SharedBytes twelve_floats() {
  std::array<float, 12> numbers;
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return aot::SharedBytes::copy_of(std::as_bytes(std::span(numbers)));
}

// [method]
// y = Add(x, bias), where Add is a delegate.
tenon::Result<aot::ProgramData> describe() {
  aot::ProgramData program;
  aot::MethodData& method = program.methods.emplace_back();  // "forward"

  aot::TensorValue tensor;
  tensor.layout = {tenon::ScalarType::Float, {4, 3}};
  tensor.data = aot::storage::Planned();  // in planned memory; where is decided below
  const auto x = method.add(tensor);
  const auto y = method.add(tensor);
  tensor.data = aot::storage::Constant{program.add_constant(twelve_floats())};
  const auto bias = method.add(tensor);

  const std::uint32_t rank = 2;
  const auto blob = aot::SharedBytes::copy_of(std::as_bytes(std::span(&rank, 1)));
  const auto add = method.add_delegate({"Add", blob, {{"precision", {}}}});
  method.instructions.push_back(aot::DelegateCall{add, {x, bias, y}});
  method.inputs = {x};
  method.outputs = {y};
  TENON_RETURN_IF_ERROR(aot::plan_method_memory(method));
  return program;
}
// [method]

// [write]
tenon::Status write(aot::ProgramData program, const std::filesystem::path& directory) {
  aot::NamedDataStore store;
  TENON_RETURN_IF_ERROR(store.add_named_data("acme.scale", twelve_floats()));
  TENON_RETURN_IF_ERROR(store.add_named_data("acme.weights", twelve_floats(),
                                             {.alignment = 64, .external_tag = "weights"}));
  program.named_data = store.get_named_data_store_output();

  TENON_RETURN_IF_ERROR(aot::write_pte(program, directory / "model.pte"));
  TENON_TRY(auto files, aot::write_external_data(program.named_data, directory));  // weights.ptd
  std::printf("model.pte and %zu data file\n", files.size());
  return tenon::ok();
}
// [write]

tenon::Status run(const char* plugin, const std::filesystem::path& directory) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  TENON_TRY(auto program, tenon::host::Program::open(directory / "model.pte"));
  TENON_TRY(auto data, tenon::host::DataFile::open(directory / "weights.ptd"));
  if (data->key(0) != "acme.weights" || program->key(0) != "acme.scale") {
    return tenon::error(tenon::Error::Internal, "the keys are not where they were put");
  }
  TENON_TRY(auto method,
            tenon::host::Method::load(
                program, "forward",
                {.registry = &registry, .layers = {tenon::host::DataFiles({std::move(data)})}}));
  std::array<float, 12> values;
  values.fill(0.5f);
  const std::array<std::int64_t, 2> sizes{4, 3};
  TENON_RETURN_IF_ERROR(method->set_input(
      0, {tenon::ScalarType::Float, sizes, std::as_bytes(std::span(std::as_const(values)))}));
  TENON_RETURN_IF_ERROR(method->execute());
  TENON_RETURN_IF_ERROR(method->read_output(0, std::as_writable_bytes(std::span(values))));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<float>(i) + 0.5f) {
      return tenon::error(tenon::Error::Internal, "element ", i, " is ", values[i]);
    }
  }
  return tenon::ok();
}

tenon::Status write_and_run(const char* plugin, const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  TENON_TRY(auto program, describe());
  TENON_RETURN_IF_ERROR(write(std::move(program), directory));
  return run(plugin, directory);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto status = write_and_run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", tenon::describe(status).c_str());
  return 1;
}
