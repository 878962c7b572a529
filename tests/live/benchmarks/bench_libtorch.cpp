// SPDX-License-Identifier: MIT
//
// The rival: libtorch's own loader on the package of the same compiled model. Prints the fewest
// nanoseconds of one run; "clock" or "processor" says which time, as for bench-tenon. Built by
// bench_aoti.py, since it needs libtorch.

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Tensor of a file written by torch.save on one tensor.
at::Tensor read_tensor(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return torch::pickle_load(bytes).toTensor();
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

/// The fewest nanoseconds of one run.
template <class Clock>
double bench(torch::inductor::AOTIModelPackageLoader& loader, const std::vector<at::Tensor>& inputs,
             double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  // Several runs between two looks at the clock, so that the clock itself does not count.
  double best = 0;
  for (int runs = 1; best == 0 || Clock::now() < end;) {
    const auto before = Clock::now();
    for (int i = 0; i < runs; ++i) const auto outputs = loader.run(inputs);
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
  if (argc < 5) {
    std::fputs("usage: bench-libtorch MODEL.pt2 SECONDS THREADS clock|processor INPUT.pt...\n",
               stderr);
    return 2;
  }
  at::set_num_threads(std::atoi(argv[3]));
  const c10::InferenceMode guard;
  const bool one_thread = true;  // Its faster mode: no locks around the model.
  torch::inductor::AOTIModelPackageLoader loader(argv[1], "model", one_thread);
  std::vector<at::Tensor> inputs;
  for (int i = 5; i < argc; ++i) inputs.push_back(read_tensor(argv[i]));
  const double seconds = std::atof(argv[2]);
  const double best = std::string_view(argv[4]) == "processor"
                          ? bench<ProcessorClock>(loader, inputs, seconds)
                          : bench<std::chrono::steady_clock>(loader, inputs, seconds);
  std::printf("%.1f\n", best);
  // Without destructors: libtorch's are not part of the comparison.
  std::fflush(stdout);
  std::_Exit(0);
}
