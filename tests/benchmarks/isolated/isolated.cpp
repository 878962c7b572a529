// SPDX-License-Identifier: MIT
//
// One program with a plugin in this process and in a worker, turn by turn: isolated-benchmark
// PLUGIN ISOLATED PROGRAM [CALLS]. The inputs are zeros.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/host/method/method.hpp"
#include "tenon/host/method/options.hpp"
#include "tenon/host/program/program.hpp"
#include "tenon/host/registry/registry.hpp"

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(text.size()), text.data());
  std::exit(EXIT_FAILURE);
}

/// A method with the backend of one plugin.
struct Loaded {
  explicit Loaded(const char* plugin) : name(plugin) {
    if (const auto known = registry.register_backend(plugin); !known.ok()) {
      fail(name, known.text());
    }
  }

  void load(const char* path) {
    const auto begin = Clock::now();
    auto program = tenon::host::Program::open(path);
    if (!program.ok()) fail(path, program.text());
    tenon::host::MethodOptions options;
    options.registry = &registry;
    auto loaded = tenon::host::Method::load(*program, "forward", std::move(options));
    if (!loaded.ok()) fail(name, loaded.text());
    method = *std::move(loaded);
    load_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    for (std::size_t i = 0; i < method->num_inputs(); ++i) {
      const tenon_tensor& tensor = *method->input(i).as.tensor;
      const auto& zeros = inputs.emplace_back(static_cast<std::size_t>(tensor.nbytes));
      const std::vector<std::int64_t> sizes(tensor.dl.shape, tensor.dl.shape + tensor.dl.ndim);
      const auto set =
          method->set_input(i, {static_cast<tenon::ScalarType>(tensor.scalar_type), sizes, zeros});
      if (!set.ok()) fail(name, set.text());
    }
  }
  void call() {
    const auto begin = Clock::now();
    const auto status = method->execute();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    if (!status.ok()) fail(name, status.text());
  }
  double at(double part) {
    std::ranges::sort(times);
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
  }

  std::string name;
  tenon::host::BackendRegistry registry;
  std::unique_ptr<tenon::host::Method> method;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<double> times;
  double load_ms = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail(argv[0], "expected PLUGIN ISOLATED PROGRAM [CALLS]");
  const int num_calls = argc > 4 ? std::atoi(argv[4]) : 20000;
  Loaded all[] = {Loaded(argv[1]), Loaded(argv[2])};
  for (Loaded& each : all) each.load(argv[3]);
  for (int i = 0; i < num_calls; ++i) {
    for (Loaded& each : all) each.call();
  }
  for (Loaded& each : all) {
    std::printf(
        "%-60s load %8.2f ms  call min %8.2f us  p10 %8.2f us  p50 %8.2f us  p99 %8.2f us\n",
        each.name.c_str(), each.load_ms, each.at(0), each.at(0.1), each.at(0.5), each.at(0.99));
  }
}
