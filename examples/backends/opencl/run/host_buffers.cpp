// SPDX-License-Identifier: MIT
#include "run/host_buffers.hpp"

#include <algorithm>
#include <utility>

namespace opencl_backend {

using tenon::Result;
using tenon::Status;

Status HostBuffer::unmap(const Api& api, cl_command_queue queue) {
  if (!is_mapped) return tenon::ok();
  TENON_RETURN_IF_ERROR(
      check(api.EnqueueUnmapMemObject(queue, buffer.get(), address, 0, nullptr, nullptr),
            "unmap an argument"));
  is_mapped = false;
  return tenon::ok();
}

Status HostBuffer::map(const Api& api, cl_command_queue queue) {
  if (is_mapped) return tenon::ok();
  cl_int code = CL_SUCCESS;
  // The address is `bytes`, as the buffer was made of them.
  static_cast<void>(api.EnqueueMapBuffer(queue, buffer.get(), CL_FALSE, CL_MAP_READ | CL_MAP_WRITE,
                                         0, nbytes, 0, nullptr, nullptr, &code));
  TENON_RETURN_IF_ERROR(check(code, "map an argument"));
  is_mapped = true;
  return tenon::ok();
}

Result<HostBuffer*> HostBuffers::find(std::size_t argument, std::byte* address,
                                      std::uint64_t nbytes, cl_command_queue queue) {
  auto& buffers = all_[argument];
  const auto found = std::ranges::find_if(
      buffers, [&](const auto& one) { return one->address == address && one->nbytes == nbytes; });
  if (found != buffers.end()) {
    std::rotate(buffers.begin(), found, found + 1);
    return buffers.front().get();
  }
  auto made = std::make_unique<HostBuffer>(HostBuffer{address, nbytes, {}});
  TENON_TRY(made->buffer, device_->share_bytes(address, nbytes));
  if (buffers.size() == most) {
    TENON_RETURN_IF_ERROR(buffers.back()->unmap(device_->api(), queue));
    TENON_RETURN_IF_ERROR(check(device_->api().Finish(queue), "finish earlier runs"));
    buffers.pop_back();
    ++drops_;
  }
  buffers.insert(buffers.begin(), std::move(made));
  return buffers.front().get();
}

void HostBuffers::unmap_all(cl_command_queue queue) noexcept {
  for (const auto& buffers : all_) {
    for (const auto& one : buffers) static_cast<void>(one->unmap(device_->api(), queue));
  }
}

}  // namespace opencl_backend
