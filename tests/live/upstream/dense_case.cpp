// SPDX-License-Identifier: MIT
//
// Writes a case for DenseBackend (docs/snippets/dense.cpp) into a directory: dense-case DIRECTORY
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <tenon/aot/compiler/emit/method_memory.hpp>
#include <tenon/aot/compiler/write/pte_writer.hpp>
#include <tenon/aot/named_data_store.hpp>
#include <tenon/host/layers/arrays/npy.hpp>

namespace {

namespace aot = tenon::aot;

template <class Values>
aot::SharedBytes bytes_of(const Values& values) {
  return aot::SharedBytes::copy_of(std::as_bytes(std::span(values)));
}

/// A method that is one call of DenseBackend: rows of three numbers become rows of two.
tenon::Result<aot::ProgramData> describe() {
  constexpr std::array<std::uint16_t, 2> blob{3, 2};
  constexpr std::array<float, 6> weights{1, 2, 3, 4, 5, -6};
  constexpr std::string_view key = "dense weights";
  aot::ProgramData program;
  aot::MethodData& method = program.methods.emplace_back();
  aot::TensorValue tensor;
  tensor.data = aot::storage::Planned();
  tensor.layout = {tenon::ScalarType::Float, {2, 3}};
  const auto x = method.add(tensor);
  tensor.layout = {tenon::ScalarType::Float, {2, 2}};
  const auto y = method.add(tensor);
  const auto dense =
      method.add_delegate({"DenseBackend", bytes_of(blob), {{"weights", bytes_of(key)}}});
  method.instructions.push_back(aot::DelegateCall{dense, {x, y}});
  method.inputs = {x};
  method.outputs = {y};
  TENON_RETURN_IF_ERROR(aot::plan_method_memory(method));
  aot::NamedDataStore store;
  TENON_RETURN_IF_ERROR(store.add_named_data(std::string(key), bytes_of(weights)));
  program.named_data = store.get_named_data_store_output();
  return program;
}

tenon::Status write_case(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  TENON_TRY(const aot::ProgramData program, describe());
  TENON_RETURN_IF_ERROR(aot::write_pte(program, directory / "model.pte"));
  std::ofstream(directory / "case.json") << R"({
  "description": "two rows through a dense layer",
  "runs": [{"inputs": ["x.npy"], "expected": ["y.npy"]}]
}
)";
  constexpr std::array<float, 6> x{1, 0, 2, -1, 0.5F, 1};
  constexpr std::array<std::int64_t, 2> x_sizes{2, 3}, y_sizes{2, 2};
  constexpr std::array<float, 4> y{11, -10, 5.5F, -6};
  TENON_RETURN_IF_ERROR(tenon::host::write_npy(directory / "x.npy", tenon::ScalarType::Float,
                                               x_sizes, std::as_bytes(std::span(x))));
  return tenon::host::write_npy(directory / "y.npy", tenon::ScalarType::Float, y_sizes,
                                std::as_bytes(std::span(y)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const tenon::Status status = write_case(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "dense-case: %s\n", tenon::describe(status).c_str());
  return status.ok() ? 0 : 1;
}
