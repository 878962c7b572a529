// SPDX-License-Identifier: MIT
#include "run/launcher.hpp"

#include <algorithm>

namespace opencl_backend {

tenon::Result<cl_kernel> Launcher::find(Kernel which) {
  auto& kernel = kernels_[static_cast<std::size_t>(which)];
  if (!kernel) {
    const char* name = kernel_names[static_cast<std::size_t>(which)];
    cl_int code = CL_SUCCESS;
    kernel = Owned<cl_kernel_of>(device_->api().CreateKernel(program_, name, &code),
                                 {device_->api().ReleaseKernel});
    TENON_RETURN_IF_ERROR(check(code, tenon::concat("create kernel ", name)));
  }
  return kernel.get();
}

tenon::Status Launcher::enqueue(cl_command_queue queue, cl_kernel kernel, Kernel which,
                                std::int64_t count) const {
  constexpr std::size_t preferred = 64;
  const std::size_t local = std::min(preferred, device_->record().most_items);
  const std::size_t global = (static_cast<std::size_t>(count) + local - 1) / local * local;
  const cl_int code = device_->api().EnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global,
                                                          &local, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) [[likely]]
    return tenon::ok();
  return check(code, tenon::concat("run kernel ", kernel_names[static_cast<std::size_t>(which)]));
}

}  // namespace opencl_backend
