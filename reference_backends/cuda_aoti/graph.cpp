// SPDX-License-Identifier: MIT
#include "graph.hpp"

#include <algorithm>
#include <string>

namespace tenon::cuda_aoti {

CudaGraph::~CudaGraph() {
  drop();
  if (!default_stream_) return;
  const ContextScope scope(*device_);
  static_cast<void>(device_->driver().cuEventDestroy(default_stream_));
}

Status CudaGraph::wait_for_default_stream() {
  const Driver& driver = device_->driver();
  const ContextScope scope(*device_);
  TENON_RETURN_IF_ERROR(scope.status());
  if (!default_stream_) {
    TENON_RETURN_IF_ERROR(
        TENON_CUDA(driver, cuEventCreate, &default_stream_, CU_EVENT_DISABLE_TIMING));
  }
  TENON_RETURN_IF_ERROR(TENON_CUDA(driver, cuEventRecord, default_stream_, legacy_stream));
  return TENON_CUDA(driver, cuStreamWaitEvent, static_cast<CUstream>(instance_->pool().stream()),
                    default_stream_, 0u);
}

Status CudaGraph::run(const Args& args) {
  TENON_RETURN_IF_ERROR(wait_for_default_stream());
  return run_model(args);
}

Status CudaGraph::run_model(const Args& args) {
  TENON_RETURN_IF_ERROR(args.expect(instance_->num_inputs() + instance_->num_outputs()));
  if (!failure_.empty()) return instance_->run(args);
  note_addresses(args);
  if (executable_ && !fits(args)) {
    drop();
    plain_runs_left_ = 1;
  }
  if (plain_runs_left_ > 0) {
    --plain_runs_left_;
    return instance_->run(args);
  }
  if (!executable_) {
    const Status captured = capture(args);
    if (!captured.ok()) {
      drop();
      failure_ = captured.text();
      return instance_->run(args);
    }
  }
  return instance_->wait(replay(args));
}

void CudaGraph::note_addresses(const Args& args) {
  places_.resize(instance_->num_inputs());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto tensor = args.tensor(i);
    const bool is_there = tensor.ok() && instance_->is_on_device(*tensor);
    const std::byte* const address = is_there ? tensor->data() : nullptr;
    Place& place = places_[i];
    place.changes = place.changes || (address && place.address && address != place.address);
    if (address) place.address = address;
  }
}

bool CudaGraph::fits(const Args& args) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto tensor = args.tensor(i);
    const Input& input = inputs_[i];
    if (!tensor.ok() || tensor->scalar_type() != input.scalar_type ||
        (input.address && (!instance_->is_on_device(*tensor) || tensor->data() != input.address)) ||
        !std::ranges::equal(tensor->sizes(), std::span(input.sizes).first(input.rank)) ||
        !std::ranges::equal(tensor->strides(), std::span(input.strides).first(input.rank))) {
      return false;
    }
  }
  return true;
}

Status CudaGraph::add_input(const Args& args, std::size_t index) {
  TENON_TRY(const TensorView view, args.tensor(index));
  TENON_RETURN_IF_ERROR(instance_->check_place(index, view));
  aoti::TensorPool& pool = instance_->pool();
  const aoti::DeviceMemoryApi& memory = pool.memory();
  const bool in_place =
      instance_->is_on_device(view) && view.data() != nullptr && !places_[index].changes;
  Input& input = inputs_.emplace_back();
  input.address = in_place ? view.data() : nullptr;
  input.scalar_type = view.scalar_type();
  input.rank = view.rank();
  std::ranges::copy(view.sizes(), input.sizes.begin());
  std::ranges::copy(view.strides(), input.strides.begin());
  input.tensor =
      in_place
          ? pool.from_blob(const_cast<std::byte*>(view.data()), view.sizes(), view.strides().data(),
                           0, view.scalar_type(), memory.device_type, memory.device_index)
          : pool.empty_strided(view.sizes(), view.strides().data(), view.scalar_type(),
                               memory.device_type, memory.device_index);
  if (input.tensor) return ok();
  return error(Error::InvalidArgument, "argument ", index, ": ", pool.take_failure());
}

Status CudaGraph::capture(const Args& args) {
  for (std::size_t i = 0; i < instance_->num_inputs(); ++i)
    TENON_RETURN_IF_ERROR(add_input(args, i));
  outputs_.assign(instance_->num_outputs(), nullptr);
  const ContextScope scope(*device_);
  TENON_RETURN_IF_ERROR(scope.status());
  const Driver& driver = device_->driver();
  auto* const stream = static_cast<CUstream>(instance_->pool().stream());
  TENON_RETURN_IF_ERROR(
      TENON_CUDA(driver, cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  const Status recorded = record();
  // Also after a failure: a stream that remains in capture is unusable.
  CUgraph graph = nullptr;
  const Status ended = TENON_CUDA(driver, cuStreamEndCapture, stream, &graph);
  Status status = recorded.ok() && ended.ok()
                      ? TENON_CUDA(driver, cuGraphInstantiate, &executable_, graph, 0ull)
                  : recorded.ok() ? error(ended.error(), ended.text())
                                  : error(recorded.error(), recorded.text());
  if (graph) static_cast<void>(driver.cuGraphDestroy(graph));
  // The graph uses blocks that the model has released.
  instance_->pool().hold_blocks(status.ok());
  return status;
}

Status CudaGraph::record() {
  std::vector<aoti::ModelTensor*> inputs;
  Status status = ok();
  for (const Input& input : inputs_) {
    // The model takes ownership of its inputs, so it gets handles of their own.
    inputs.push_back(instance_->pool().share(*input.tensor));
  }
  status = instance_->run_model(inputs, outputs_);
  for (aoti::ModelTensor* tensor : inputs) {
    if (tensor) instance_->pool().release(tensor);
  }
  return status;
}

Status CudaGraph::replay(const Args& args) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].address) continue;
    TENON_TRY(const TensorView view, args.tensor(i));
    TENON_RETURN_IF_ERROR(instance_->check_place(i, view));
    TENON_RETURN_IF_ERROR(instance_->copy_in(inputs_[i].tensor->data, view));
  }
  {
    const ContextScope scope(*device_);
    TENON_RETURN_IF_ERROR(scope.status());
    TENON_RETURN_IF_ERROR(TENON_CUDA(device_->driver(), cuGraphLaunch, executable_,
                                     static_cast<CUstream>(instance_->pool().stream())));
  }
  return instance_->give_outputs(args, outputs_);
}

void CudaGraph::drop() noexcept {
  if (executable_) {
    // A launch may still be running.
    static_cast<void>(instance_->pool().synchronize());
    const ContextScope scope(*device_);
    static_cast<void>(device_->driver().cuGraphExecDestroy(executable_));
    executable_ = nullptr;
    instance_->pool().hold_blocks(false);
  }
  for (const Input& input : inputs_) {
    if (input.tensor) instance_->pool().release(input.tensor);
  }
  for (aoti::ModelTensor* tensor : outputs_) {
    if (tensor) instance_->pool().release(tensor);
  }
  inputs_.clear();
  outputs_.clear();
}

}  // namespace tenon::cuda_aoti
