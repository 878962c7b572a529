// SPDX-License-Identifier: MIT
//
// Prints the fewest nanoseconds of one run of an exported case through a plugin.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tenon/host.hpp>
#include <vector>

#include "npy.hpp"
#include "values.hpp"

namespace {

namespace fs = std::filesystem;

tenon::Result<double> bench(const char* plugin, const fs::path& folder, double seconds) {
  tenon::host::BackendRegistry registry;
  TENON_CHECK(registry.register_backend(fs::path(plugin)));
  TENON_TRY(auto program, tenon::host::Program::open(folder / "model.pte"));
  tenon::host::MethodOptions options;
  options.registry = &registry;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".ptd") continue;
    TENON_TRY(auto data, tenon::host::DataFile::open(entry.path()));
    options.data_files.push_back(std::move(data));
  }
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", options));
  std::vector<tenon::run::Bytes> keep;
  for (std::size_t i = 0; i < method->num_inputs(); ++i) {
    const auto& tensor = *method->input(i).as.tensor;
    const auto type = static_cast<tenon::ScalarType>(tensor.scalar_type);
    TENON_TRY(auto raw, tenon::run::read_npy(folder / tenon::concat("in0_", i, ".npy")));
    TENON_TRY(auto array, tenon::run::to_scalar_type(std::move(raw), type));
    const std::vector<std::int64_t> shape = array.shape;
    keep.push_back(tenon::run::to_layout(
        std::move(array), {tensor.dim_order, static_cast<std::size_t>(tensor.dl.ndim)}));
    TENON_CHECK(method->set_input(i, {type, shape, keep.back().span()}));
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  // Several runs between two looks at the clock, so that the clock itself does not count.
  double best = 0;
  for (int runs = 1; best == 0 || Clock::now() < end;) {
    const auto before = Clock::now();
    for (int i = 0; i < runs; ++i) TENON_CHECK(method->execute());
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: bench-tenon PLUGIN.so CASE SECONDS\n", stderr);
    return 2;
  }
  const auto best = bench(argv[1], argv[2], std::atof(argv[3]));
  if (!best.ok()) {
    std::fprintf(stderr, "bench-tenon: %s\n", std::string(best.text()).c_str());
    return 1;
  }
  std::printf("%.1f\n", *best);
}
