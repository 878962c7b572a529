// SPDX-License-Identifier: MIT
//
// One program with each of several plugins, turn by turn: isolated-benchmark PROGRAM CALLS
// [KEY=NUMBER...] [imported:]PLUGIN... The inputs are zeros, of which one number changes with each
// call; with "imported:" all are, in memory that the plugin imports. KEY is an option of the
// program's first backend, and pause_us the sleep before each call.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/external_memory/external_memory.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/schema/program_generated.h"

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(text.size()), text.data());
  std::exit(EXIT_FAILURE);
}

using Option = std::pair<std::string, std::int64_t>;

/// A method with the backend of one plugin.
struct Loaded {
  explicit Loaded(std::string argument) : name(std::move(argument)) {
    constexpr std::string_view mark = "imported:";
    imports = name.starts_with(mark);
    const std::string plugin = imports ? name.substr(mark.size()) : name;
    if (const auto known = registry.register_backend(plugin); !known.ok()) {
      fail(name, known.text());
    }
  }

  void load(const char* path, std::span<const Option> backend_options) {
    const auto begin = Clock::now();
    auto program = tenon::host::Program::open(path);
    if (!program.ok()) fail(path, program.text());
    tenon::host::MethodOptions options;
    options.registry = &registry;
    const auto plan = (*program)->plan("forward");
    if (!plan.ok()) fail(path, plan.text());
    id = (*plan)->delegates()->Get(0)->id()->str();
    for (const auto& [key, number] : backend_options) {
      options.backend_options.push_back({id, key, number});
    }
    auto loaded = tenon::host::Method::load(*program, "forward", std::move(options));
    if (!loaded.ok()) fail(name, loaded.text());
    method = *std::move(loaded);
    load_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    for (std::size_t i = 0; i < method->num_inputs(); ++i) {
      const tenon_tensor& tensor = *method->input(i).as.tensor;
      const auto zeros = memory(static_cast<std::size_t>(tensor.nbytes));
      const std::vector<std::int64_t> sizes(tensor.dl.shape, tensor.dl.shape + tensor.dl.ndim);
      const auto set =
          method->set_input(i, {static_cast<tenon::ScalarType>(tensor.scalar_type), sizes, zeros});
      if (!set.ok()) fail(name, set.text());
    }
  }
  std::span<const std::byte> memory(std::size_t nbytes) {
    if (!imports) return inputs.emplace_back(nbytes);
    tenon::host::FileDescriptor file(::memfd_create("inputs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (::ftruncate(file.get(), static_cast<off_t>(nbytes)) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
      fail(name, "no file in memory");
    }
    tenon::ExternalMemory frame;
    frame.descriptor = file.get();
    frame.nbytes = nbytes;
    auto backend = registry.lookup_backend(id);
    if (!backend.ok()) fail(name, backend.text());
    auto made = tenon::host::ImportedMemory::import(*std::move(backend), frame);
    if (!made.ok()) fail(name, made.text());
    return imported.emplace_back(*std::move(made)).bytes();
  }
  void call() {
    // With an input that differs the outputs do, so that the application writes them.
    if (!inputs.empty() && inputs.front().size() > 3) inputs.front()[3] ^= std::byte{0x40};
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
  std::string id;
  bool imports = false;
  std::vector<std::vector<std::byte>> inputs;
  std::deque<tenon::host::ImportedMemory> imported;
  std::vector<double> times;
  double load_ms = 0;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* usage = "expected PROGRAM CALLS [KEY=NUMBER...] [imported:]PLUGIN...";
  if (argc < 4) fail(argv[0], usage);
  const int num_calls = std::atoi(argv[2]);
  std::chrono::microseconds pause{0};
  std::vector<Option> options;
  std::deque<Loaded> all;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    if (const std::size_t end = argument.find('='); end != std::string::npos) {
      const std::string key = argument.substr(0, end);
      const long long number = std::atoll(argument.c_str() + end + 1);
      if (key == "pause_us") {
        pause = std::chrono::microseconds(number);
      } else {
        options.emplace_back(key, number);
      }
    } else {
      all.emplace_back(argument);
    }
  }
  for (Loaded& each : all) each.load(argv[1], options);
  for (int i = 0; i < num_calls; ++i) {
    for (Loaded& each : all) {
      if (pause.count() != 0) std::this_thread::sleep_for(pause);
      each.call();
    }
  }
  for (Loaded& each : all) {
    std::printf(
        "%-60s load %8.2f ms  call min %8.2f us  p10 %8.2f us  p50 %8.2f us  p99 %8.2f us\n",
        each.name.c_str(), each.load_ms, each.at(0), each.at(0.1), each.at(0.5), each.at(0.99));
  }
}
