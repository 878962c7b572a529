// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "driver/device.hpp"
#include "tenon/aoti/instance.hpp"

namespace tenon::cuda_aoti {

/// Runs an instance by replaying a CUDA graph of it.
///
/// The first runs are ordinary, so that the model's memory and constants exist; then one run is
/// captured, and later runs launch the graph. Inputs on the device are part of the graph as long as
/// their addresses stay the same; other inputs, and inputs in the host's memory, are copied to
/// tensors that are part of it. An input whose address changed once is copied from then on, so that
/// no address of it invalidates a graph again. Its first change after the capture does, as does
/// another shape, dtype or device of any input: one ordinary run follows, then the next is
/// captured.
///
/// A model that cannot be captured (it waits for the device in its run, or a call of CUDA fails)
/// always runs in the ordinary way from then on, and `failure` has the reason. The stream remains
/// usable.
///
/// The legacy default stream must not wait for the instance's stream; each run waits for what the
/// application enqueued there before.
///
/// Threads: as `aoti::Instance`. The instance must outlive it and have its own stream.
class CudaGraph {
 public:
  CudaGraph(aoti::Instance& instance, const CudaDevice& device) noexcept
      : instance_(&instance), device_(&device) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph();

  [[nodiscard]] Status run(const Args& args);

  /// The reason why the model is no longer captured; empty while it can be.
  [[nodiscard]] std::string_view failure() const noexcept { return failure_; }

 private:
  /// An input at the time of the capture.
  struct Input {
    aoti::ModelTensor*
        tensor;  ///< In the pool; on the argument's own memory when it is on the device.
    const std::byte*
        address;  ///< Of an argument that is a part of the graph; null for a copied one.
    ScalarType scalar_type;
    std::size_t rank;
    std::array<std::int64_t, max_rank> sizes;
    std::array<std::int64_t, max_rank> strides;
  };

  Status run_model(const Args& args);
  Status wait_for_default_stream();
  /// Finds the inputs on the device whose addresses have changed since the run before.
  void note_addresses(const Args& args);
  [[nodiscard]] bool fits(const Args& args) const;
  Status capture(const Args& args);
  Status add_input(const Args& args, std::size_t index);
  Status record();
  Status replay(const Args& args);
  void drop() noexcept;

  aoti::Instance* instance_;
  const CudaDevice* device_;
  int plain_runs_left_ = 3;  // The number of ExecuTorch's CudaBackend.
  CUgraphExec executable_ = nullptr;
  CUevent default_stream_ = nullptr;  ///< Recorded there before each run.
  struct Place {
    const std::byte* address = nullptr;  ///< In the run before; null of the host.
    bool changes = false;                ///< It was another one in an earlier run.
  };
  std::vector<Place> places_;  ///< Of the inputs.
  std::vector<Input> inputs_;
  std::vector<aoti::ModelTensor*> outputs_;
  std::string failure_;
};

}  // namespace tenon::cuda_aoti
