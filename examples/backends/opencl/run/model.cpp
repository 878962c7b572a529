// SPDX-License-Identifier: MIT
#include "run/model.hpp"

#include <algorithm>
#include <utility>

#include "common/check_graph.hpp"

namespace opencl_backend {

namespace blob = graph_backend::blob;
using graph_backend::Graph;
using graph_backend::TensorId;
using tenon::Error;
using tenon::Result;
using tenon::Status;

namespace {

constexpr std::size_t bytes_of_failure = sizeof(Run::failure);

/// Largest bytes of the tensor of an argument; 0 for an argument that is not read.
std::uint64_t largest_bytes(const Graph& graph, TensorId id) {
  return id == graph_backend::no_tensor ? 0 : graph_backend::largest(graph.tensors[id]).nbytes();
}

/// The tensor of argument `index`: inputs, then outputs.
TensorId tensor_of(const Graph& graph, std::size_t index) {
  const std::size_t inputs = graph.inputs.size();
  return index < inputs ? graph.inputs[index] : graph.outputs[index - inputs];
}

}  // namespace

std::uint64_t Model::constant_bytes(const Graph& graph) noexcept {
  std::uint64_t out = 0;
  for (const graph_backend::Constant& constant : graph.constants) out += constant.nbytes;
  return out;
}

std::uint64_t Model::session_bytes(const Graph& graph) noexcept {
  std::uint64_t out = graph.scratch_bytes;
  for (std::size_t i = 0; i < graph.inputs.size() + graph.outputs.size(); ++i) {
    out += largest_bytes(graph, tensor_of(graph, i));
  }
  return out;
}

Result<std::shared_ptr<Model>> Model::load(std::shared_ptr<Device> device, Graph graph,
                                           const tenon::InitContext& context,
                                           const tenon::Prepared& prepared) {
  TENON_TRY(const auto named_data, graph_backend::find_constants(graph, context));
  auto out = std::make_shared<Model>();
  TENON_TRY(out->program, device->program(prepared));
  for (graph_backend::Constant& constant : graph.constants) {
    TENON_TRY(auto buffer, device->create_buffer(constant.nbytes, constant.data.bytes().data()));
    out->constants.push_back(std::move(buffer));
    constant.data = {};
  }
  for (const blob::NodeT& node : graph.nodes) {
    out->has_embedding = out->has_embedding || node.op.type == blob::Operator::Embedding;
  }
  out->device = std::move(device);
  out->graph = std::make_shared<const Graph>(std::move(graph));
  return out;
}

Status Run::wait() const {
  const cl_event event = done.get();
  TENON_RETURN_IF_ERROR(check(model->device->api().WaitForEvents(1, &event), "run the graph"));
  if (failure[0] == 0) return tenon::ok();
  return tenon::error(Error::InvalidArgument, "node ", failure[0] - 1, " (Embedding): index ",
                      failure[1], " is ", failure[2], ", expected 0 to ", failure[3] - 1);
}

Result<Session> Session::create(std::shared_ptr<const Model> model) {
  Session out(std::move(model));
  const Graph& graph = *out.model_->graph;
  const Device& device = *out.model_->device;
  TENON_TRY(out.own_, device.create_queue());
  TENON_TRY(out.scratch_, device.create_buffer(graph.scratch_bytes));
  if (out.model_->has_embedding) {
    TENON_TRY(out.failure_, device.create_buffer(bytes_of_failure));
  }
  out.arguments_.resize(graph.inputs.size() + graph.outputs.size());
  for (std::size_t i = 0; i < out.arguments_.size(); ++i) {
    TENON_TRY(auto buffer, device.create_buffer(largest_bytes(graph, tensor_of(graph, i))));
    out.staging_.push_back(std::move(buffer));
  }
  out.slices_.resize(graph.tensors.size());
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const blob::TensorT& tensor = graph.tensors[id];
    if (tensor.place == blob::Place::Constant) {
      out.slices_[id] = {out.model_->constants[tensor.index].get(), 0};
    } else if (tensor.place == blob::Place::Scratch) {
      out.slices_[id] = {out.scratch_.get(), tensor.offset};
    } else {
      out.moving_.push_back(id);
    }
  }
  return out;
}

Session::~Session() {
  if (!own_) return;
  const Api& api = model_->device->api();
  host_buffers_.unmap_all(queue());
  static_cast<void>(api.Finish(queue()));
  static_cast<void>(api.Finish(own_.get()));
  model_->device->note_work(own_.get(), {});
}

Result<Session::Argument> Session::take(const tenon::Args& args, std::size_t index,
                                        const graph_backend::Operand& operand,
                                        tenon::Access access) {
  TENON_TRY(const tenon::TensorView view, args.tensor(index));
  if (view.device().device_type != dl_opencl) {
    TENON_TRY(const auto tensor, args.tensor(index, operand.scalar_type, access));
    return take_host(index, static_cast<std::byte*>(tensor.data()), tensor.nbytes());
  }
  const Device& device = *model_->device;
  if (view.device().device_id != device.number()) {
    return tenon::error(Error::InvalidArgument, "argument ", index, ": expected OpenCL device ",
                        device.number(), ", found ", view.device().device_id);
  }
  if (view.scalar_type() != operand.scalar_type) {
    return tenon::error(Error::InvalidType, "argument ", index, ": expected dtype ",
                        name_of(operand.scalar_type), ", found ", name_of(view.scalar_type()));
  }
  if (!view.is_contiguous()) return tenon::detail::refuse_layout("argument", index, view);
  const tenon::TensorBytes bytes(view.raw());
  const auto slice = device.find(bytes.data(), view.nbytes());
  if (!slice.ok() || slice->offset % tenon::size_of(operand.scalar_type) != 0) {
    return tenon::error(Error::InvalidArgument, "argument ", index,
                        ": expected an address in a block of ", "OpenCL device ", device.number(),
                        " that is a multiple of its element: ",
                        slice.ok() ? std::string_view("it is no slice") : slice.text());
  }
  return Argument{*slice, view.nbytes()};
}

Result<Session::Argument> Session::take_host(std::size_t index, std::byte* bytes,
                                             std::uint64_t nbytes) {
  if (!model_->is_in_place || !HostBuffers::fits(bytes, nbytes)) {
    return Argument{{staging_[index].get(), 0}, nbytes, bytes};
  }
  TENON_TRY(auto* const found, host_buffers_.find(index, bytes, nbytes, queue()));
  return Argument{{found->buffer.get(), 0}, nbytes, bytes, found};
}

void Session::copy_overlapping() {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (!arguments_[i].in_place) continue;
    const HostBuffer& one = *arguments_[i].in_place;
    for (std::size_t k = 0; k < i; ++k) {
      const HostBuffer* const other = arguments_[k].in_place;
      if (!other || !one.overlaps(*other)) continue;
      arguments_[i].in_place = nullptr;
      arguments_[i].slice = {staging_[i].get(), 0};
      break;
    }
  }
}

Status Session::take_arguments(const tenon::Args& args) {
  const Graph& graph = *model_->graph;
  TENON_RETURN_IF_ERROR(shapes_.take_inputs(args));
  TENON_RETURN_IF_ERROR(shapes_.resize_outputs(args));
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const TensorId id = tensor_of(graph, i);
    arguments_[i] = {};
    if (id == graph_backend::no_tensor) continue;
    const auto access = i < graph.inputs.size() ? tenon::Access::Read : tenon::Access::Write;
    TENON_TRY(arguments_[i], take(args, i, shapes_[id], access));
  }
  if (model_->is_in_place) copy_overlapping();
  return place_tensors();
}

Status Session::place_tensors() {
  const Graph& graph = *model_->graph;
  for (const TensorId id : moving_) {
    const blob::TensorT& tensor = graph.tensors[id];
    const std::size_t first = tensor.place == blob::Place::Output ? graph.inputs.size() : 0;
    const Argument& argument = arguments_[first + tensor.index];
    if (shapes_[id].nbytes() > argument.nbytes) {
      return tenon::error(Error::InvalidArgument, "argument ", first + tensor.index, ": expected ",
                          shapes_[id].nbytes(), " bytes for tensor ", id, ", found ",
                          argument.nbytes);
    }
    slices_[id] = argument.slice;
  }
  return tenon::ok();
}

Status Session::give(std::size_t index) {
  const Argument& argument = arguments_[index];
  if (argument.in_place) return argument.in_place->unmap(model_->device->api(), queue());
  const std::uint64_t nbytes = read_bytes(index);
  if (!argument.host || nbytes == 0 || index >= model_->graph->inputs.size()) return tenon::ok();
  const cl_int code = model_->device->api().EnqueueWriteBuffer(
      queue(), argument.slice.buffer, CL_FALSE, 0, nbytes, argument.host, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) [[likely]]
    return tenon::ok();
  return check(code, tenon::concat("copy argument ", index));
}

Status Session::give_back(std::size_t index) {
  const Argument& argument = arguments_[index];
  if (argument.in_place) return argument.in_place->map(model_->device->api(), queue());
  const std::uint64_t nbytes = read_bytes(index);
  if (!argument.host || nbytes == 0 || index < model_->graph->inputs.size()) return tenon::ok();
  const cl_int code = model_->device->api().EnqueueReadBuffer(
      queue(), argument.slice.buffer, CL_FALSE, 0, nbytes, argument.host, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) [[likely]]
    return tenon::ok();
  return check(code, tenon::concat("copy argument ", index));
}

std::size_t Session::read_bytes(std::size_t index) const {
  const TensorId id = tensor_of(*model_->graph, index);
  return id == graph_backend::no_tensor ? 0 : static_cast<std::size_t>(shapes_[id].nbytes());
}

void Session::make_key() {
  const Graph& graph = *model_->graph;
  key_.clear();
  for (const TensorId id : moving_) {
    key_.push_back(reinterpret_cast<std::uintptr_t>(slices_[id].buffer));
    key_.push_back(slices_[id].offset);
  }
  for (const TensorId id : graph.inputs) {
    if (id == graph_backend::no_tensor) continue;
    const graph_backend::Shape& shape = shapes_[id].shape;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      key_.push_back(static_cast<std::uint64_t>(shape[i]));
    }
  }
}

Status Session::enqueue_nodes(tenon::ExecutionContext& context, tenon::CancelFlag cancelled,
                              const Target& target) {
  const Graph& graph = *model_->graph;
  const Place place{target, slices_, {failure_.get(), 0}};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    TENON_RETURN_IF_ERROR(cancelled.check());
    const tenon::TracerScope scope(context.tracer(), graph_backend::name_of(graph.nodes[i].op),
                                   static_cast<std::int64_t>(i));
    Status enqueued = enqueue_node(launch_, shapes_, i, place);
    if (enqueued.ok() && context.tracer().enabled()) {
      enqueued = check(model_->device->api().Finish(queue()), "run a kernel");
    }
    if (!enqueued.ok()) {
      return tenon::error(enqueued.error(), "node ", i, " (",
                          graph_backend::name_of(graph.nodes[i].op), "): ", enqueued.text());
    }
  }
  return tenon::ok();
}

Status Session::enqueue_recording(tenon::ExecutionContext& context, tenon::CancelFlag cancelled) {
  make_key();
  const Recording* recording =
      recordings_.find(key_, model_->device->frees() + host_buffers_.drops());
  if (!recording) {
    if (!model_->replay.at_once && !recordings_.was_asked_for(key_)) {
      return enqueue_nodes(context, cancelled, Target{queue()});
    }
    TENON_TRY(auto made, recordings_.begin(key_, queue()));
    TENON_RETURN_IF_ERROR(enqueue_nodes(context, cancelled, {queue(), made.get()}));
    TENON_TRY(recording, recordings_.finish(std::move(made), queue()));
  }
  TENON_RETURN_IF_ERROR(cancelled.check());
  return recordings_.enqueue(*recording, queue());
}

Status Session::enqueue(tenon::ExecutionContext& context, tenon::CancelFlag cancelled, Run& run) {
  const Api& api = model_->device->api();
  if (model_->has_embedding) {
    const auto count = static_cast<std::int64_t>(run.failure.size());
    const ElementSlice failure{failure_.get(), 0};
    TENON_RETURN_IF_ERROR(launch_(Target{queue()}, Kernel::Clear, count, failure));
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) TENON_RETURN_IF_ERROR(give(i));
  // A trace has a time for each node.
  const bool is_recorded = model_->replay.is_used && !context.tracer().enabled();
  TENON_RETURN_IF_ERROR(is_recorded ? enqueue_recording(context, cancelled)
                                    : enqueue_nodes(context, cancelled, Target{queue()}));
  for (std::size_t i = 0; i < arguments_.size(); ++i) TENON_RETURN_IF_ERROR(give_back(i));
  if (model_->has_embedding) {
    TENON_RETURN_IF_ERROR(
        check(api.EnqueueReadBuffer(queue(), failure_.get(), CL_FALSE, 0, bytes_of_failure,
                                    run.failure.data(), 0, nullptr, nullptr),
              "read a failure"));
  }
  cl_event done = nullptr;
  TENON_RETURN_IF_ERROR(
      check(api.EnqueueMarkerWithWaitList(queue(), 0, nullptr, &done), "mark a run"));
  run.done = model_->device->own(done);
  return check(api.Flush(queue()), "begin a run");
}

void Session::forget_finished_runs() {
  const Api& api = model_->device->api();
  while (!runs_.empty()) {
    cl_int status = CL_COMPLETE;
    static_cast<void>(api.GetEventInfo(runs_.front()->done.get(), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                       sizeof status, &status, nullptr));
    if (status > CL_COMPLETE) return;
    runs_.pop_front();
  }
}

Status Session::start(tenon::ExecutionContext& context, const tenon::Args& args,
                      tenon::CancelFlag cancelled) {
  TENON_RETURN_IF_ERROR(take_arguments(args));
  forget_finished_runs();
  auto run = std::make_shared<Run>();
  run->model = model_;
  Status enqueued = enqueue(context, cancelled, *run);
  if (!enqueued.ok()) {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].in_place) static_cast<void>(give_back(i));
    }
    static_cast<void>(model_->device->api().Finish(queue()));
    return enqueued;
  }
  last_run_ = run;
  runs_.push_back(run);
  const Api& api = model_->device->api();
  static_cast<void>(api.RetainEvent(run->done.get()));
  model_->device->note_work(own_.get(), model_->device->own(run->done.get()));
  return tenon::ok();
}

Status Session::execute(tenon::ExecutionContext& context, const tenon::Args& args,
                        tenon::CancelFlag cancelled) {
  TENON_RETURN_IF_ERROR(start(context, args, cancelled));
  const bool has_host_arguments =
      std::ranges::any_of(arguments_, [](const Argument& one) { return one.host != nullptr; });
  if (caller_ && !has_host_arguments && !model_->has_embedding) return tenon::ok();
  return last_run_->wait();
}

Status Session::set_queue(cl_command_queue queue) {
  const Api& api = model_->device->api();
  Owned<cl_queue_of> wanted;
  if (queue) {
    cl_context context = nullptr;
    TENON_RETURN_IF_ERROR(check(api.GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context,
                                                        static_cast<void*>(&context), nullptr),
                                "use the application's queue", Error::NotSupported));
    if (context != model_->device->context()) {
      return tenon::error(Error::NotSupported,
                          "the queue is of another context: expected the delegate's, which "
                          "CL_EVENT_CONTEXT of an event's handle has");
    }
    cl_bitfield properties = 0;
    TENON_RETURN_IF_ERROR(check(api.GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES,
                                                        sizeof properties, &properties, nullptr),
                                "use the application's queue", Error::NotSupported));
    if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
      return tenon::error(Error::NotSupported,
                          "the queue runs commands out of order: expected an in-order queue");
    }
    TENON_RETURN_IF_ERROR(check(api.RetainCommandQueue(queue), "use the application's queue"));
    wanted = Owned<cl_queue_of>(queue, {api.ReleaseCommandQueue});
  }
  TENON_RETURN_IF_ERROR(check(api.Finish(this->queue()), "finish earlier work"));
  recordings_.clear();
  caller_ = std::move(wanted);
  return tenon::ok();
}

Status Session::wait_on(cl_event event) {
  const Api& api = model_->device->api();
  return check(api.EnqueueBarrierWithWaitList(queue(), 1, &event, nullptr), "wait for an event");
}

}  // namespace opencl_backend
