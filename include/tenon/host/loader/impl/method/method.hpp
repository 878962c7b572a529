// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/method/method.hpp"

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/interpret.hpp"
#include "tenon/host/loader/impl/method/load.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

[[nodiscard]] inline Status attach(const Layers& layers, LoadRequest& request, MethodParts& parts) {
  for (const auto& layer : layers) {
    TENON_TRY(auto part, layer->attach(request));
    if (part) parts.push_back(std::move(part));
  }
  return ok();
}

}  // namespace detail

Result<std::unique_ptr<Method>> Method::load(std::shared_ptr<const Program> program,
                                             std::string_view name, MethodOptions options) {
  try {
    detail::MethodParts parts;
    detail::LoadRequest request{program, name, nullptr, options};
    for (const auto& layer : options.layers) {
      if (Status added = layer->add_backends(request); !added.ok()) {
        return shortened(std::move(added).with_context(concat(program->name(), ": method ", name)));
      }
    }
    TENON_TRY(request.plan, program->plan(name));
    request.name = request.plan->name()->string_view();  // With a NUL behind it.
    TENON_RETURN_IF_ERROR(detail::attach(options.layers, request, parts));
    if (options.registry) {
      TENON_RETURN_IF_ERROR(detail::attach(options.registry->layers(), request, parts));
    }
    auto method = std::make_unique<detail::MethodState>(
        std::move(program), *request.plan, request.name, std::move(options), std::move(parts));
    if (Status built = detail::load_into(*method); !built.ok()) {
      return shortened(
          std::move(built).with_context(concat(method->program->name(), ": method ", name)));
    }
    return std::unique_ptr<Method>(std::move(method));
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "method ", name, ": out of memory");
  }
}

std::string_view Method::name() const noexcept { return detail::state_of(*this).name; }

const Program& Method::program() const noexcept { return *detail::state_of(*this).program; }

std::size_t Method::num_inputs() const noexcept { return detail::state_of(*this).inputs.size(); }

std::size_t Method::num_outputs() const noexcept {
  return detail::state_of(*this).plan.outputs()->size();
}

namespace detail {

template <class Input>
[[nodiscard]] Status set_input(MethodState& method, std::size_t index, const Input& from) {
  TENON_RETURN_IF_ERROR(check_idle(method));
  if (index >= method.inputs.size()) {
    return error(Error::InvalidArgument, "method ", method.name, ": input ", index,
                 ": the method has ", method.inputs.size());
  }
  method.changes.count();
  if (Status outcome = method.inputs[index].set(from); !outcome.ok()) {
    return std::move(outcome).with_context(concat("method ", method.name, ": input ", index));
  }
  if (!std::exchange(method.inputs[index].is_set, true)) {
    method.blocked.fetch_sub(1, std::memory_order_relaxed);
  }
  return ok();
}

[[nodiscard]] inline Status check_output(const MethodState& method, std::size_t index) {
  if (index < method.plan.outputs()->size()) return ok();
  return error(Error::InvalidArgument, "output ", index, ": the method has ",
               method.plan.outputs()->size());
}

}  // namespace detail

Status Method::set_input(std::size_t index, const InputTensor& tensor) {
  return detail::set_input(detail::state_of(*this), index, tensor);
}

Status Method::set_input(std::size_t index, const InputScalar& scalar) {
  return detail::set_input(detail::state_of(*this), index, scalar);
}

Status Method::set_output(std::size_t index, std::span<std::byte> bytes, tenon_dl_device device) {
  detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_idle(method));
  TENON_RETURN_IF_ERROR(detail::check_output(method, index));
  method.changes.count();
  return detail::set_output_bytes(detail::value_at(method, *method.plan.outputs(), index), bytes,
                                  device)
      .with_context(concat("output ", index));
}

Status Method::read_output(std::size_t index, std::span<std::byte> to) const {
  const detail::MethodState& method = detail::state_of(*this);
  TENON_RETURN_IF_ERROR(detail::check_output(method, index));
  Status outcome = detail::read_bytes(detail::value_at(method, *method.plan.outputs(), index),
                                      method.devices, to);
  return outcome.ok() ? ok() : std::move(outcome).with_context(concat("output ", index));
}

const tenon_value& Method::output(std::size_t index) const noexcept {
  const detail::MethodState& method = detail::state_of(*this);
  return detail::value_at(method, *method.plan.outputs(), index);
}

Result<TensorView> Method::output(std::size_t index, ScalarType dtype, Layout layout) const {
  if (index >= num_outputs()) {
    return error(Error::InvalidArgument, "output ", index, ": expected Tensor, found only ",
                 num_outputs(), " outputs");
  }
  const tenon_value& value = output(index);
  if (value.kind != TENON_VALUE_TENSOR) {
    return error(Error::InvalidArgument, "output ", index, ": expected Tensor, found ",
                 value_kind_name(value.kind));
  }
  const TensorView tensor(*value.as.tensor);
  if (!tenon::detail::is_accessible(tensor.raw(), dtype, Access::Read)) {
    return tenon::detail::refuse_tensor("output", index, tensor.raw(), dtype);
  }
  if (layout == Layout::Contiguous && !tensor.is_contiguous()) {
    return tenon::detail::refuse_layout("output", index, tensor);
  }
  return tensor;
}

const tenon_value& Method::input(std::size_t index) const noexcept {
  const detail::MethodState& method = detail::state_of(*this);
  return detail::value_at(method, *method.plan.inputs(), index);
}

Status Method::execute() {
  detail::MethodState& method = detail::state_of(*this);
  if (method.blocked.load(std::memory_order_acquire) != 0) [[unlikely]]
    return detail::refuse_run(method);
  Status outcome = method.run ? method.run(method) : detail::run_all<detail::CompleteCalls>(method);
  if (!outcome.ok()) [[unlikely]]
    return shortened(std::move(outcome));
  return outcome;
}

}}}  // namespace tenon::TENON_RELEASE::host
