// SPDX-License-Identifier: MIT
// An application that runs a program through a plugin: embed PLUGIN.so MODEL.pte
//
// Its input is four numbers: `embed demo_backend.so MODEL.pte` with the program in
// tests/fixtures/demo_sin_inline prints their sines.
#include <array>
#include <cstdio>
#include <span>
#include <tenon/host.hpp>

namespace {

tenon::Status run(const char* plugin, const char* model) {
  const std::array<float, 4> values{0.1f, 0.2f, 0.3f, 0.4f};
  const std::array<std::int64_t, 2> sizes{1, 4};
  const auto bytes = std::as_bytes(std::span(values));

  // [run]
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));    // read, not loaded
  TENON_TRY(auto program, tenon::host::Program::open(model));  // mapped, fully verified
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
  TENON_RETURN_IF_ERROR(
      method->set_input(0, {tenon::ScalarType::Float, sizes, bytes}));  // not copied
  TENON_RETURN_IF_ERROR(method->execute());                             // allocates nothing
  TENON_TRY(auto output, method->output<float>(0));                     // checked, not copied
  // [run]

  for (const float value : output) std::printf("%g\n", static_cast<double>(value));
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: embed PLUGIN.so MODEL.pte\n", stderr);
    return 2;
  }
  const tenon::Status status = run(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "embed: %s\n", tenon::describe(status).c_str());
  return 1;
}
