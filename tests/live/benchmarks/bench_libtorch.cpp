// SPDX-License-Identifier: MIT
//
// The rival: libtorch's own loader on the package of the same compiled model. Prints the fewest
// nanoseconds of one run; "clock" or "processor" says which time, as for bench-tenon. Built by
// bench_aoti.py, since it needs libtorch.

#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "best_run.hpp"

namespace {

/// Tensor of a file written by torch.save on one tensor.
at::Tensor read_tensor(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  return torch::pickle_load(bytes).toTensor();
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
  const double best = best_run::nanoseconds(argv[4], std::atof(argv[2]), [&] {
    const auto outputs = loader.run(inputs);
    return true;
  });
  std::printf("%.1f\n", best);
  // Without destructors: libtorch's are not part of the comparison.
  std::fflush(stdout);
  std::_Exit(0);
}
