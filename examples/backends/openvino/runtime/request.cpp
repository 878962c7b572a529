// SPDX-License-Identifier: MIT
#include "runtime/request.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace openvino_backend {
namespace {

using tenon::Error;
using tenon::TensorView;

/// The address of tensors without elements, which OpenVINO must have.
alignas(64) constinit std::byte nothing[64] = {};

tenon::Status wrong_sizes(const Port& port, std::size_t index,
                          std::span<const std::int64_t> sizes) {
  return tenon::error(Error::InvalidArgument, "argument ", index, ": expected sizes ",
                      text_of(port), ", found ", tenon::shape_text(sizes));
}

bool same(std::span<const std::int64_t> a, const std::int64_t* b) noexcept {
  return std::equal(a.begin(), a.end(), b);
}

}  // namespace

tenon::Result<Request> Request::create(std::shared_ptr<const Model> model) {
  Request out;
  const Api& api = model->api();
  out.object_ = OwnedRequest(api);
  TENON_RETURN_IF_ERROR(
      check(api, api.compiled_model_create_infer_request(model->compiled(), out.object_.out()),
            "create an infer request"));
  out.bindings_.resize(model->inputs().size() + model->outputs().size());
  out.model_ = std::move(model);
  return out;
}

void Request::cancel() noexcept {
  static_cast<void>(model_->api().infer_request_cancel(object_.get()));
}

ov_status Request::infer(tenon::CancelFlag cancelled) noexcept {
  const Api& api = model_->api();
  if (!cancelled.exists()) return api.infer_request_infer(object_.get());
  // OpenVINO forgets a `cancel` that comes before the request has started.
  const ov_status started = api.infer_request_start_async(object_.get());
  if (started != ov_ok) return started;
  if (cancelled.is_set()) cancel();
  return api.infer_request_wait(object_.get());
}

tenon::Status Request::execute(tenon::ExecutionContext& context, tenon::Args args,
                               tenon::CancelFlag cancelled) {
  TENON_RETURN_IF_ERROR(args.expect(bindings_.size()));
  const std::size_t inputs = model_->inputs().size();
  for (std::size_t i = 0; i < inputs; ++i) TENON_RETURN_IF_ERROR(bind_input(args, i));
  for (std::size_t i = inputs; i < bindings_.size(); ++i) {
    TENON_RETURN_IF_ERROR(bind_output(args, i));
  }
  const tenon::Tracer tracer = context.tracer();
  const std::uint64_t start_ns = tracer.now();
  const ov_status status = infer(cancelled);
  if (status != ov_ok) [[unlikely]] {
    // A request that failed may have bound other tensors.
    for (Binding& binding : bindings_) binding.argument = nullptr;
    return check(model_->api(), status, "run the model",
                 status == ov_infer_cancelled ? tenon::Error::Cancelled : tenon::Error::Internal);
  }
  for (std::size_t i = inputs; i < bindings_.size(); ++i) {
    if (!model_->outputs()[i - inputs].is_static) TENON_RETURN_IF_ERROR(resize_output(args, i));
  }
  if (tracer.enabled() && model_->has_profiling()) log_layers(tracer, start_ns);
  return tenon::ok();
}

tenon::Status Request::bind_input(tenon::Args args, std::size_t index) {
  if (args.kind(index) == TENON_VALUE_INT) {
    TENON_TRY(const std::int64_t value, args.integer(index));
    return bind_integer(value, index);
  }
  TENON_TRY(const TensorView tensor, args.tensor(index));
  const Port& port = model_->inputs()[index];
  Binding& binding = bindings_[index];
  const auto sizes = tensor.sizes();
  if (binding.argument == &tensor.raw() && binding.data == tensor.data() &&
      same(sizes, binding.sizes.data()) && sizes.size() == port.dims.size()) [[likely]] {
    return tenon::ok();
  }
  TENON_TRY(const auto checked, args.tensor(index, port.scalar_type, tenon::Access::Read));
  if (!port.accepts(sizes)) return wrong_sizes(port, index, sizes);
  TENON_RETURN_IF_ERROR(bind(index, checked.data(), sizes));
  binding.argument = &tensor.raw();
  return tenon::ok();
}

tenon::Status Request::bind_integer(std::int64_t value, std::size_t index) {
  const Port& port = model_->inputs()[index];
  Binding& binding = bindings_[index];
  constexpr std::int64_t one = 1;
  const std::span<const std::int64_t> sizes(&one, std::min<std::size_t>(port.dims.size(), 1));
  if (port.element_type != ElementType::i64 || !port.accepts(sizes)) {
    return tenon::error(Error::InvalidType, "argument ", index, ": expected a tensor of dtype ",
                        tenon::name_of(port.scalar_type), " and sizes ", text_of(port),
                        ", found Int");
  }
  if (!binding.integer) binding.integer = std::make_unique<std::int64_t>();
  *binding.integer = value;
  if (binding.data == binding.integer.get()) return tenon::ok();
  return bind(index, binding.integer.get(), sizes);
}

tenon::Status Request::bind_output(tenon::Args args, std::size_t index) {
  TENON_TRY(const TensorView tensor, args.tensor(index));
  const Port& port = model_->outputs()[index - model_->inputs().size()];
  Binding& binding = bindings_[index];
  // A dynamic output is bound with its bounds, where all that OpenVINO may find has room.
  const auto sizes = port.is_static ? tensor.sizes() : tensor.bounds();
  if (binding.argument == &tensor.raw() && binding.data == tensor.data() &&
      same(sizes, binding.sizes.data()) && sizes.size() == port.dims.size()) [[likely]] {
    return tenon::ok();
  }
  TENON_TRY(const auto checked, args.tensor(index, port.scalar_type, tenon::Access::Write));
  if (sizes.size() != port.dims.size() || (port.is_static && !port.accepts(sizes))) {
    return wrong_sizes(port, index, sizes);
  }
  std::uint64_t nbytes = tenon::size_of(port.scalar_type);
  for (const std::int64_t size : sizes) nbytes *= static_cast<std::uint64_t>(size);
  if (nbytes > tensor.raw().capacity) {
    return tenon::error(Error::InvalidArgument, "argument ", index, ": expected room for ", nbytes,
                        " bytes, found ", tensor.raw().capacity);
  }
  TENON_RETURN_IF_ERROR(bind(index, checked.data(), sizes));
  binding.argument = &tensor.raw();
  return tenon::ok();
}

tenon::Status Request::bind(std::size_t port, void* data, std::span<const std::int64_t> sizes) {
  const Api& api = model_->api();
  const std::size_t inputs = model_->inputs().size();
  const bool is_input = port < inputs;
  const Port& about = is_input ? model_->inputs()[port] : model_->outputs()[port - inputs];
  Binding& binding = bindings_[port];
  // Until all is done the port counts as bound to nothing.
  binding.argument = nullptr;
  binding.data = nullptr;
  OwnedTensor tensor(api);
  const ov_shape shape{static_cast<std::int64_t>(sizes.size()),
                       const_cast<std::int64_t*>(sizes.data())};
  TENON_RETURN_IF_ERROR(check(api,
                              api.tensor_create_from_host_ptr(about.element_type, shape,
                                                              data ? data : nothing, tensor.out()),
                              tenon::concat("refer to argument ", port)));
  const ov_status status =
      is_input ? api.infer_request_set_input_tensor_by_index(object_.get(), port, tensor.get())
               : api.infer_request_set_output_tensor_by_index(object_.get(), port - inputs,
                                                              tensor.get());
  TENON_RETURN_IF_ERROR(check(api, status, tenon::concat("bind argument ", port)));
  binding.data = data;
  std::ranges::copy(sizes, binding.sizes.begin());
  binding.tensor = std::move(tensor);
  return tenon::ok();
}

tenon::Status Request::resize_output(tenon::Args args, std::size_t index) {
  const Api& api = model_->api();
  ov_shape found{};
  TENON_RETURN_IF_ERROR(check(api, api.tensor_get_shape(bindings_[index].tensor.get(), &found),
                              tenon::concat("say the sizes of argument ", index)));
  const tenon::Status resized =
      args.resize(index, {found.dims, static_cast<std::size_t>(found.rank)});
  api.shape_free(&found);
  if (resized.ok()) return tenon::ok();
  return tenon::error(resized.error(), resized.text());
}

void Request::log_layers(tenon::Tracer tracer, std::uint64_t start_ns) const {
  const Api& api = model_->api();
  ov_profiling_info_list list{};
  if (api.infer_request_get_profiling_info(object_.get(), &list) != ov_ok) return;
  constexpr std::int32_t executed = 2;
  // OpenVINO measures how long, not when: the layers are laid one after the other.
  const std::uint64_t end_ns = tracer.now();
  std::uint64_t at = start_ns;
  for (std::size_t i = 0; i < list.size; ++i) {
    const ov_profiling_info& info = list.infos[i];
    if (info.status != executed || info.real_time < 0) continue;
    const std::uint64_t next =
        std::min(end_ns, at + static_cast<std::uint64_t>(info.real_time) * 1000);
    const std::string_view how = info.exec_type ? info.exec_type : "";
    tracer.log_event(info.node_name ? info.node_name : "?", at, next, -1,
                     std::as_bytes(std::span(how)));
    at = next;
  }
  api.profiling_info_list_free(&list);
}

}  // namespace openvino_backend
