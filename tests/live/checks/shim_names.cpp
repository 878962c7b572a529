// SPDX-License-Identifier: MIT
//
// Prints the functions that one reference backend provides to models, for shim_table.py. It is
// built once for each backend, as their headers have the same names.
#include <cstdio>

#if defined(SHIMS_OF_CUDA) || defined(SHIMS_OF_METAL)
#include "shims/shim_list.hpp"
#else
#include "kernels/kernel_list.hpp"
#include "tenon/aoti/shims/base_shims.hpp"
#include "tenon/aoti/shims/host_shims.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#endif

int main() {
#if defined(SHIMS_OF_CUDA)
  const auto names = tenon::cuda_aoti::shim_table().all();
#elif defined(SHIMS_OF_METAL)
  const auto names = tenon::metal_aoti::metal_shims();
#else
  using namespace tenon::cpu_aoti;
  using tenon::aoti::Shim;
  static const Shim kernels[] = {TENON_CPU_AOTI_KERNELS(TENON_AOTI_ENTRY)};
  static const tenon::aoti::ShimTable table{tenon::aoti::shims::base(), tenon::aoti::shims::host(),
                                            kernels};
  const auto names = table.all();
#endif
  for (const auto& shim : names) {
    std::printf("%.*s\n", static_cast<int>(shim.name.size()), shim.name.data());
  }
}
