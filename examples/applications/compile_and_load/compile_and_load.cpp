// SPDX-License-Identifier: MIT
// A graph and example inputs to a function, in one call. Prints the function's outputs for another
// input: compile_and_load PLUGIN.so BACKEND MODEL.pt2 EXAMPLE.npy INPUT.npy
#include <tenon/aot/compiler/compile_and_load.hpp>
#include <tenon/aot/compiler/pt2/reader.hpp>

#include <cstdio>
#include <cstring>
#include <span>
#include <tenon/host/arrays.hpp>

namespace {

/// A file of float32.
tenon::Result<tenon::host::Array> read(const char* path) {
  TENON_TRY(auto array, tenon::host::read_npy(path));
  return tenon::host::to_scalar_type(std::move(array), tenon::ScalarType::Float);
}

tenon::Status run(const char* plugin, const char* backend, const char* model, const char* example,
                  const char* input) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  TENON_TRY(const auto archive, tenon::aot::read_pt2(model));
  TENON_TRY(const auto example_input, read(example));
  TENON_TRY(const auto other_input, read(input));

  // [call]
  const tenon::aot::EdgeProgram graph = archive.methods.at(0).program.view();
  const tenon::host::ArrayView examples[] = {example_input.view()};
  TENON_TRY(auto function,
            tenon::compile_and_load(graph, backend, examples, {.registry = &registry}));
  const tenon::host::ArrayView inputs[] = {other_input.view()};
  TENON_TRY(const auto outputs, function(inputs));
  // [call]

  for (const tenon::host::Array& output : outputs) {
    std::vector<float> elements(output.data.size() / sizeof(float));
    std::memcpy(elements.data(), output.data.data(), output.data.size());
    for (const float element : elements) std::printf("%.6g\n", static_cast<double>(element));
  }
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: compile_and_load PLUGIN.so BACKEND MODEL.pt2 EXAMPLE.npy INPUT.npy\n",
               stderr);
    return 2;
  }
  const tenon::Status status = run(argv[1], argv[2], argv[3], argv[4], argv[5]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "compile_and_load: %s\n", tenon::describe(status).c_str());
  return 1;
}
