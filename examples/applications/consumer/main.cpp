// SPDX-License-Identifier: MIT
// An application that runs a program through a plugin: consumer PLUGIN MODEL.pte
#include <array>
#include <cstdio>
#include <span>
#include <tenon/host.hpp>

namespace {

tenon::Status run(const char* plugin, const char* model) {
  const std::array<float, 4> values{1, 2, 3, 4};
  const std::array<std::int64_t, 1> sizes{4};
  const auto bytes = std::as_bytes(std::span(values));

  // Reads what the plugin's file says of itself; loads nothing yet.
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));

  // Maps the file and verifies all of it.
  TENON_TRY(auto program, tenon::host::Program::open(model));

  // Loads the plugin, which makes a delegate of the program's blob.
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));

  TENON_RETURN_IF_ERROR(method->set_input(0, {tenon::ScalarType::Float, sizes, bytes}));
  TENON_RETURN_IF_ERROR(method->execute());
  TENON_TRY(auto output, method->output<float>(0));
  for (const float value : output) std::printf("%g\n", static_cast<double>(value));
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: consumer PLUGIN MODEL.pte\n", stderr);
    return 2;
  }
  const tenon::Status status = run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "consumer: %s\n", tenon::describe(status).c_str());
  return 1;
}
