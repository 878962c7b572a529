// SPDX-License-Identifier: MIT
#include "run/launcher.hpp"

#include <algorithm>
#include <utility>

namespace opencl_backend {

tenon::Result<Owned<cl_kernel_of>> Launcher::create(Kernel which) const {
  const char* name = kernel_names[static_cast<std::size_t>(which)];
  cl_int code = CL_SUCCESS;
  Owned<cl_kernel_of> out(device_->api().CreateKernel(program_, name, &code),
                          {device_->api().ReleaseKernel});
  TENON_RETURN_IF_ERROR(check(code, tenon::concat("create kernel ", name)));
  return out;
}

tenon::Result<cl_kernel> Launcher::find(const Target& target, Kernel which) {
  if (target.recording) {
    TENON_TRY(auto kernel, create(which));
    return target.recording->kernels.emplace_back(std::move(kernel)).get();
  }
  auto& kernel = kernels_[static_cast<std::size_t>(which)];
  if (!kernel) {
    TENON_TRY(kernel, create(which));
  }
  return kernel.get();
}

tenon::Status Launcher::enqueue(const Target& target, cl_kernel kernel, Kernel which,
                                std::int64_t count) const {
  constexpr std::size_t preferred = 64;
  const std::size_t local = std::min(preferred, device_->record().most_items);
  const std::size_t global = (static_cast<std::size_t>(count) + local - 1) / local * local;
  const cl_int code =
      target.recording ? device_->command_buffers()->api.CommandNDRangeKernelKHR(
                             target.recording->commands.get(), nullptr, nullptr, kernel, 1, nullptr,
                             &global, &local, 0, nullptr, nullptr, nullptr)
                       : device_->api().EnqueueNDRangeKernel(target.queue, kernel, 1, nullptr,
                                                             &global, &local, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) [[likely]]
    return tenon::ok();
  return check(code, tenon::concat("run kernel ", kernel_names[static_cast<std::size_t>(which)]));
}

}  // namespace opencl_backend
