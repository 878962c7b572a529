// SPDX-License-Identifier: MIT
//
// Prints the fewest nanoseconds of one run of an exported case through a plugin, or what a process
// that holds several copies of it has in memory. With "processor" the nanoseconds are the time that
// the process was on a processor, which other work on the machine disturbs less; for one thread
// only.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <vector>

#include "tenon/host/arrays/npy.hpp"
#include "tenon/host/arrays/value_array.hpp"
#include "tenon/host/program/data_file.hpp"

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
    options.data_files.push_back(std::move(data));
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

/// The time that this process was on a processor.
struct ProcessorClock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<ProcessorClock, duration>;
  static time_point now() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + duration(time.tv_nsec));
  }
};

template <class Clock>
tenon::Result<double> bench(tenon::host::Method& method, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  // Several runs between two looks at the clock, so that the clock itself does not count.
  double best = 0;
  for (int runs = 1; best == 0 || Clock::now() < end;) {
    const auto before = Clock::now();
    for (int i = 0; i < runs; ++i) TENON_RETURN_IF_ERROR(method.execute());
    const std::chrono::duration<double, std::nano> passed = Clock::now() - before;
    if (passed.count() < 20'000) {
      runs *= 2;
      continue;
    }
    const double now = passed.count() / runs;
    if (best == 0 || now < best) best = now;
  }
  return best;
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
                  int threads, bool processor) {
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
    TENON_TRY(const double best, processor ? bench<ProcessorClock>(method, seconds)
                                           : bench<std::chrono::steady_clock>(method, seconds));
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
          argc > 5 ? std::atoi(argv[5]) : 1, argc > 6 && std::string_view(argv[6]) == "processor");
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench-tenon: %s\n", tenon::describe(status).c_str());
  return 1;
}
