// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>

#include <memory>
#include <utility>
#include <vector>

#include "long_work.hpp"
#include "method.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/c/impl/written_inputs.hpp"
#include "tenon/host/layers/arrays/output_memory.hpp"
#include "tenon/host/layers/cancel/cancel.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/progress/load_progress.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

Status read_inputs(std::string_view name, MethodState& state) {
  host::Method& method = *state.method;
  state.inputs.resize(method.num_inputs());
  state.arrays.reset(new InputArray[method.num_inputs()]);
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    MethodState::Input& input = state.inputs[i];
    const tenon_value& value = method.input(i);
    input.kind = value.kind;
    input.where = concat("method ", name, ": input ", i, ": ");
    if (value.kind != TENON_VALUE_TENSOR) continue;
    input.rank = static_cast<std::size_t>(value.as.tensor->dl.ndim);
    input.dim_order = value.as.tensor->dim_order;
    if (input.rank <= max_rank) continue;
    return error(Error::NotSupported, input.where, "expected at most ", max_rank,
                 " dimensions, found ", input.rank);
  }
  TENON_TRY(const std::vector<bool> written, host::detail::find_written_inputs(method));
  for (std::size_t i = 0; i < written.size(); ++i) state.inputs[i].is_written = written[i];
  return ok();
}

Result<std::shared_ptr<MethodState>> load_state(LoadArguments arguments,
                                                const host::LoadProgress& progress) {
  auto state = std::make_shared<MethodState>();
  state->registry = arguments.registry;
  state->trace = arguments.trace;
  state->threads = arguments.threads;
  if (state->threads) arguments.options.layers.add(*state->threads);
  state->prepared = arguments.prepared;
  if (state->prepared) arguments.options.layers.add(*state->prepared);
  arguments.options.registry = state->registry.get();
  if (state->trace) arguments.options.layers.add(*state->trace);
  arguments.options.layers.add(progress);
  arguments.options.layers.add(host::Cancellation());  // Ctrl-C
  TENON_TRY(state->method,
            host::Method::load(arguments.program, arguments.name, std::move(arguments.options)));
  TENON_RETURN_IF_ERROR(read_inputs(arguments.name, *state));
  const auto allocate = [&memory = state->output_memory](std::size_t nbytes) {
    return memory.emplace_back(new std::byte[nbytes]).get();
  };
  TENON_RETURN_IF_ERROR(host::set_outputs(*state->method, arguments.output_bytes, allocate));
  state->copies.resize(state->method->num_outputs());
  return state;
}

}  // namespace

std::unique_ptr<MethodObject> load_method(LoadArguments arguments, nb::object progress) {
  auto object = std::make_unique<MethodObject>();
  object->name = arguments.name;
  const auto loaded = std::make_shared<const host::LoadProgress>();
  std::function<void()> report;
  if (!progress.is_none()) {
    const auto total =
        take(host::MethodMeta::of(*arguments.program, arguments.name)).num_delegates();
    report = [progress, loaded, total] { progress(loaded->num_loaded(), total); };
  }
  object->state =
      take_interruptibly([arguments = std::move(arguments),
                          loaded]() mutable { return load_state(std::move(arguments), *loaded); },
                         report);
  const std::string_view variant = object->state->method->variant();
  if (!variant.empty()) object->variant = std::string(variant);
  return object;
}

}  // namespace tenon::python
