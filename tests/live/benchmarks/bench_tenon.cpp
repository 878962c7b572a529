// SPDX-License-Identifier: MIT
//
// Prints the fewest nanoseconds of one run of an exported case through a plugin, or what a process
// that holds several copies of it has in memory. With "processor" the nanoseconds are the time that
// the process was on a processor, which other work on the machine disturbs less; for one thread
// only.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

#include "best_run.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/layers/data/data_file.hpp"

namespace {

namespace fs = std::filesystem;

/// A method that is loaded with inputs, and what these refer to.
struct Loaded {
  std::unique_ptr<tenon::host::Method> method;
  std::vector<tenon::host::ArrayBytes> inputs;
};

tenon::Result<Loaded> load(const tenon::host::BackendRegistry& registry, const fs::path& directory,
                           std::int64_t threads) {
  TENON_TRY(auto program, tenon::host::Program::open(directory / "model.pte"));
  tenon::host::MethodOptions options;
  options.registry = &registry;
  options.backend_options.push_back({"CpuAotiBackend", "threads", threads});
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() != ".ptd") continue;
    TENON_TRY(auto data, tenon::host::DataFile::open(entry.path()));
    options.layers.add(tenon::host::DataFiles({std::move(data)}));
  }
  Loaded out;
  TENON_TRY(out.method, tenon::host::Method::load(program, "forward", options));
  for (std::size_t i = 0; i < out.method->num_inputs(); ++i) {
    const auto& tensor = *out.method->input(i).as.tensor;
    const auto type = static_cast<tenon::ScalarType>(tensor.scalar_type);
    TENON_TRY(auto raw, tenon::host::read_npy(directory / tenon::concat("in0_", i, ".npy")));
    TENON_TRY(auto array, tenon::host::to_scalar_type(std::move(raw), type));
    const std::vector<std::int64_t> shape = array.shape;
    out.inputs.push_back(tenon::host::to_layout(
        std::move(array), {tensor.dim_order, static_cast<std::size_t>(tensor.dl.ndim)}));
    TENON_RETURN_IF_ERROR(out.method->set_input(i, {type, shape, out.inputs.back().span()}));
  }
  return out;
}

/// Kilobytes of this process in memory: anonymous, and of files.
void print_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon") || line.starts_with("RssFile")) std::puts(line.c_str());
  }
}

/// Loads the case `copies` times, runs each, and prints the fewest nanoseconds of one run, or what
/// the process holds when `seconds` is 0.
tenon::Status run(const char* plugin, const fs::path& directory, double seconds, int copies,
                  int threads, std::string_view clock) {
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(fs::path(plugin)));
  std::vector<Loaded> loaded;
  for (int i = 0; i < copies; ++i) {
    TENON_TRY(Loaded one, load(registry, directory, threads));
    TENON_RETURN_IF_ERROR(one.method->execute());
    loaded.push_back(std::move(one));
  }
  if (seconds > 0) {
    tenon::host::Method& method = *loaded.front().method;
    tenon::Status status = tenon::ok();
    const double best = best_run::nanoseconds(clock, seconds, [&] {
      status = method.execute();
      return status.ok();
    });
    TENON_RETURN_IF_ERROR(std::move(status));
    std::printf("%.1f\n", best);
  } else {
    print_memory();
  }
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 7) {
    std::fputs("usage: bench-tenon PLUGIN.so CASE SECONDS [COPIES [THREADS [processor]]]\n",
               stderr);
    return 2;
  }
  const tenon::Status status =
      run(argv[1], argv[2], std::atof(argv[3]), argc > 4 ? std::atoi(argv[4]) : 1,
          argc > 5 ? std::atoi(argv[5]) : 1, argc > 6 ? argv[6] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench-tenon: %s\n", tenon::describe(status).c_str());
  return 1;
}
