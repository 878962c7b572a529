// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device.hpp"
#include "tenon/aoti/instance.hpp"

namespace tenon::cuda_aoti {

/// Runs an instance by replaying a CUDA graph of it.
///
/// The first runs are plain, so that the model's memory and its constants are there; then one run
/// is captured, and from then on the graph is launched. Arguments on the device are part of the
/// graph; those of the host are copied to tensors that are. Another shape, dtype, place or address
/// of an input makes the graph invalid: one plain run follows, then it is captured anew.
///
/// A model that cannot be captured (it waits for the device in its run, or a call of CUDA fails)
/// runs plainly from then on; `failure` tells why. The stream is usable in any case.
///
/// Threads: as `aoti::Instance`. The instance must outlive it and have its own stream.
class Graph {
 public:
  Graph(aoti::Instance& instance, const Device& device) noexcept
      : instance_(&instance), device_(&device) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { drop(); }

  [[nodiscard]] Status run(const Args& args);

  /// Why the model is not captured any more; empty while it may be.
  [[nodiscard]] std::string_view failure() const noexcept { return failure_; }

 private:
  /// What an input looked like when the graph was captured.
  struct Input {
    aoti::Tensor* tensor;  ///< In the pool; on the argument's own memory when it is on the device.
    const std::byte* address;  ///< Of an argument on the device; null for one of the host.
    ScalarType scalar_type;
    std::size_t rank;
    std::array<std::int64_t, max_rank> sizes;
    std::array<std::int64_t, max_rank> strides;
  };

  [[nodiscard]] bool fits(const Args& args) const;
  Status capture(const Args& args);
  Status add_input(const Args& args, std::size_t index);
  Status record();
  Status replay(const Args& args);
  void drop() noexcept;

  aoti::Instance* instance_;
  const Device* device_;
  int plain_runs_left_ = 3;  // As many as ExecuTorch's CudaBackend makes.
  CUgraphExec executable_ = nullptr;
  std::vector<Input> inputs_;
  std::vector<aoti::Tensor*> outputs_;
  std::string failure_;
};

}  // namespace tenon::cuda_aoti
