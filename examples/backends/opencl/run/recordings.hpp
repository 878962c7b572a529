// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <tenon/core/result.hpp>
#include <vector>

#include "driver/device.hpp"

namespace opencl_backend {

/// The kernels of one run, which the driver has in advance.
struct Recording {
  std::vector<std::uint64_t> key;  ///< The sizes and places that the commands were made for.
  Owned<cl_command_buffer_of> commands;
  /// One for each command: PoCL 3.1 reads the arguments of a kernel when its recording is enqueued,
  /// so that commands which share one would all have those that were set last.
  std::vector<Owned<cl_kernel_of>> kernels;
};

/// Where commands are put.
struct Target {
  cl_command_queue queue = nullptr;
  Recording* recording = nullptr;  ///< Null: on the queue at once.
};

/// The last recordings of a session, all for one queue. Threads: one at a time.
class Recordings {
 public:
  explicit Recordings(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// The one of `key`; null when it is not here. When `drops`, a number of buffers that were freed,
  /// is another one than before, there is none: a new buffer may have the handle of an old one.
  [[nodiscard]] Recording* find(const std::vector<std::uint64_t>& key, std::uint64_t drops);
  /// Whether this was called with `key` before, as far as that is remembered.
  [[nodiscard]] bool was_asked_for(const std::vector<std::uint64_t>& key);
  /// An empty one.
  [[nodiscard]] tenon::Result<std::unique_ptr<Recording>> begin(
      const std::vector<std::uint64_t>& key, cl_command_queue queue) const;
  /// Ends `recording`, and keeps it in place of the one that was not used for longest.
  [[nodiscard]] tenon::Result<Recording*> finish(std::unique_ptr<Recording> recording,
                                                 cl_command_queue queue);
  /// Enqueues all commands of one.
  [[nodiscard]] tenon::Status enqueue(const Recording& recording, cl_command_queue queue) const;
  /// Drops all. Nothing of them may run any more.
  void clear() noexcept { all_.clear(); }

 private:
  /// Inputs and outputs that alternate between two places are four.
  static constexpr std::size_t most = 4;

  std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<Recording>> all_;        ///< The last one used is the first.
  std::vector<std::vector<std::uint64_t>> asked_for_;  ///< The last keys; a ring.
  std::size_t next_ = 0;                               ///< In the ring.
  std::uint64_t drops_ = 0;                            ///< Of the last `find`.
};

}  // namespace opencl_backend
