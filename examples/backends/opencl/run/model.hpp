// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/tenon.hpp>
#include <vector>

#include "common/run_shapes.hpp"
#include "driver/device.hpp"
#include "run/host_buffers.hpp"
#include "run/launcher.hpp"
#include "run/operators.hpp"
#include "run/recordings.hpp"

namespace opencl_backend {

/// A graph whose constants are on a device: what its sessions share, and never change.
struct Model {
  std::shared_ptr<Device> device;
  cl_program program = nullptr;
  std::shared_ptr<const graph_backend::Graph> graph;
  std::vector<Owned<cl_mem_of>> constants;
  bool has_embedding = false;
  Replay replay;             ///< Of runs as command buffers.
  bool is_in_place = false;  ///< Arguments in the host's memory are not copied.

  /// Uploads the constants of `graph`, which comes from `read_graph` and needs its blob no more.
  [[nodiscard]] static tenon::Result<std::shared_ptr<Model>> load(std::shared_ptr<Device> device,
                                                                  graph_backend::Graph graph,
                                                                  const tenon::InitContext& context,
                                                                  const tenon::Prepared& prepared);

  [[nodiscard]] static std::uint64_t constant_bytes(const graph_backend::Graph& graph) noexcept;
  /// Of one session: scratch memory, and a copy of each argument in the host's memory.
  [[nodiscard]] static std::uint64_t session_bytes(const graph_backend::Graph& graph) noexcept;
};

/// One run that was enqueued.
struct Run {
  std::shared_ptr<const Model> model;
  std::shared_ptr<cl_event_of> done;
  std::array<std::int64_t, 4> failure{};  ///< Written before `done` is complete.

  /// Waits for it: success, or why it failed.
  [[nodiscard]] tenon::Status wait() const;
};

/// One state over a model: a queue, memory for a run, kernels. Threads: one at a time.
class Session {
 public:
  [[nodiscard]] static tenon::Result<Session> create(std::shared_ptr<const Model> model);
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) = delete;
  /// Waits for what was enqueued.
  ~Session();

  [[nodiscard]] const std::shared_ptr<const Model>& model() const noexcept { return model_; }

  /// Enqueues a run on `args`, which get their sizes here. What it needs of the host is their bytes
  /// alone. A failure leaves no work behind. While events are recorded each node is waited for.
  ///
  /// errors: InvalidArgument, InvalidType, NotSupported for arguments that do not fit; Cancelled
  [[nodiscard]] tenon::Status start(tenon::ExecutionContext& context, const tenon::Args& args,
                                    tenon::CancelFlag cancelled);

  /// Calls `start`, and waits where the application has no queue of its own, arguments are in the
  /// host's memory, or an index may be outside of its table.
  [[nodiscard]] tenon::Status execute(tenon::ExecutionContext& context, const tenon::Args& args,
                                      tenon::CancelFlag cancelled);

  /// Made for a session of another one, whose weights it uses.
  bool is_further = false;

  /// A queue of the application, in the context of this device; null: its own.
  [[nodiscard]] tenon::Status set_queue(cl_command_queue queue);

  /// Runs from now on begin after `event`.
  [[nodiscard]] tenon::Status wait_on(cl_event event);

  /// The last run that was started; null before the first.
  [[nodiscard]] const std::shared_ptr<const Run>& last_run() const noexcept { return last_run_; }

 private:
  explicit Session(std::shared_ptr<const Model> model)
      : model_(std::move(model)),
        shapes_(model_->graph),
        launch_(model_->device, model_->program),
        recordings_(model_->device),
        host_buffers_(model_->device,
                      model_->graph->inputs.size() + model_->graph->outputs.size()) {}

  /// An argument of this run.
  struct Argument {
    Slice slice;
    std::uint64_t nbytes = 0;
    std::byte* host = nullptr;       ///< Null for one on the device.
    HostBuffer* in_place = nullptr;  ///< Null for an argument that is copied, or on the device.
  };

  [[nodiscard]] cl_command_queue queue() const noexcept {
    return caller_ ? caller_.get() : own_.get();
  }
  tenon::Status take_arguments(const tenon::Args& args);
  tenon::Result<Argument> take(const tenon::Args& args, std::size_t index,
                               const graph_backend::Operand& operand, tenon::Access access);
  tenon::Result<Argument> take_host(std::size_t index, std::byte* bytes, std::uint64_t nbytes);
  /// Arguments that share bytes are copied.
  void copy_overlapping();
  tenon::Status place_tensors();
  tenon::Status enqueue(tenon::ExecutionContext& context, tenon::CancelFlag cancelled, Run& run);
  tenon::Status enqueue_nodes(tenon::ExecutionContext& context, tenon::CancelFlag cancelled,
                              const Target& target);
  tenon::Status enqueue_recording(tenon::ExecutionContext& context, tenon::CancelFlag cancelled);
  /// Sets `key_` to what the commands of this run depend on.
  void make_key();
  /// Gives the bytes of an argument to the device; `give_back` gives them to the host.
  tenon::Status give(std::size_t index);
  tenon::Status give_back(std::size_t index);
  /// Bytes of an argument in this run; 0 for an argument that is not read.
  [[nodiscard]] std::size_t read_bytes(std::size_t index) const;
  void forget_finished_runs();

  std::shared_ptr<const Model> model_;
  graph_backend::RunShapes shapes_;
  Launcher launch_;
  Owned<cl_queue_of> own_;
  Owned<cl_queue_of> caller_;  ///< Null: `own_`.
  Owned<cl_mem_of> scratch_;
  Owned<cl_mem_of> failure_;                     ///< Of models with an Embedding.
  std::vector<Owned<cl_mem_of>> staging_;        ///< By argument.
  std::vector<Argument> arguments_;              ///< Inputs, then outputs.
  std::vector<Slice> slices_;                    ///< By tensor.
  std::vector<graph_backend::TensorId> moving_;  ///< Tensors that are stored in arguments.
  Recordings recordings_;
  std::vector<std::uint64_t> key_;
  HostBuffers host_buffers_;
  std::deque<std::shared_ptr<const Run>> runs_;  ///< Runs that may not be done.
  std::shared_ptr<const Run> last_run_;
};

}  // namespace opencl_backend
