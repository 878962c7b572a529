// SPDX-License-Identifier: MIT
#include "shims/shim_list.hpp"

#include "shims/cuda_shims.hpp"
#include "shims/kernel_shims.hpp"
#include "tenon/aoti/shims/device_shims.hpp"

namespace tenon::cuda_aoti {

const aoti::ShimTable& shim_table() {
  static const aoti::Shim own[] = {TENON_CUDA_AOTI_SHIMS(TENON_AOTI_ENTRY)};
  static const aoti::ShimTable table{aoti::shims::base(),
                                     aoti::shims::host(),
                                     aoti::shims::on_device::list(),
                                     runtime_shims(),
                                     runtime_memory_shims(),
                                     kernel_shims(),
                                     own};
  return table;
}

}  // namespace tenon::cuda_aoti
