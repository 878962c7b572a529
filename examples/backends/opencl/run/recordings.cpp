// SPDX-License-Identifier: MIT
#include "run/recordings.hpp"

#include <algorithm>
#include <utility>

namespace opencl_backend {

using tenon::Result;
using tenon::Status;

Recording* Recordings::find(const std::vector<std::uint64_t>& key, std::uint64_t drops) {
  if (std::exchange(drops_, drops) != drops) clear();
  const auto found =
      std::ranges::find(all_, key, [](const auto& one) -> const auto& { return one->key; });
  if (found == all_.end()) return nullptr;
  std::rotate(all_.begin(), found, found + 1);
  return all_.front().get();
}

bool Recordings::was_asked_for(const std::vector<std::uint64_t>& key) {
  if (std::ranges::find(asked_for_, key) != asked_for_.end()) return true;
  if (asked_for_.size() < most) {
    asked_for_.push_back(key);
  } else {
    asked_for_[next_] = key;
    next_ = (next_ + 1) % most;
  }
  return false;
}

Result<std::unique_ptr<Recording>> Recordings::begin(const std::vector<std::uint64_t>& key,
                                                     cl_command_queue queue) const {
  const CommandBuffers& buffers = *device_->command_buffers();
  constexpr cl_bitfield properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR,
                                        CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
  auto out = std::make_unique<Recording>();
  out->key = key;
  cl_int code = CL_SUCCESS;
  out->commands = Owned<cl_command_buffer_of>(
      buffers.api.CreateCommandBufferKHR(1, &queue, buffers.simultaneous ? properties : nullptr,
                                         &code),
      {buffers.api.ReleaseCommandBufferKHR});
  TENON_RETURN_IF_ERROR(check(code, "create a command buffer"));
  return out;
}

Result<Recording*> Recordings::finish(std::unique_ptr<Recording> recording,
                                      cl_command_queue queue) {
  const CommandBuffers& buffers = *device_->command_buffers();
  TENON_RETURN_IF_ERROR(check(buffers.api.FinalizeCommandBufferKHR(recording->commands.get()),
                              "end a command buffer"));
  if (all_.size() == most) {
    TENON_RETURN_IF_ERROR(check(device_->api().Finish(queue), "finish earlier runs"));
    all_.pop_back();
  }
  all_.insert(all_.begin(), std::move(recording));
  return all_.front().get();
}

Status Recordings::enqueue(const Recording& recording, cl_command_queue queue) const {
  const CommandBuffers& buffers = *device_->command_buffers();
  if (!buffers.simultaneous) {
    TENON_RETURN_IF_ERROR(check(device_->api().Finish(queue), "finish the last run"));
  }
  const cl_int code = buffers.api.EnqueueCommandBufferKHR(0, nullptr, recording.commands.get(), 0,
                                                          nullptr, nullptr);
  if (code == CL_SUCCESS) [[likely]]
    return tenon::ok();
  return check(code, "enqueue a command buffer");
}

}  // namespace opencl_backend
