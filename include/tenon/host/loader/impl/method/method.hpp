// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/method/method.hpp"

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/layers/variants/impl/choose_variant.hpp"
#include "tenon/host/loader/files/shortened.hpp"
#include "tenon/host/loader/impl/method/interpret.hpp"
#include "tenon/host/loader/impl/method/load.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The plan that a load takes.
struct PlanToLoad {
  const schema::ExecutionPlan* plan = nullptr;
  const ProgramVariant* variant = nullptr;  ///< Null for a method with a single form.
  VariantChoice choice{};                   ///< Keeps the plugins loaded that were asked.
};

[[nodiscard]] inline PlanToLoad plan_of(const Program& program, const ProgramVariant& variant) {
  return {program.flatbuffer().execution_plan()->Get(variant.plan), &variant};
}

/// For a program that has variants, or a load that names one.
[[nodiscard, gnu::cold]] inline Result<PlanToLoad> choose_plan(
    const std::shared_ptr<const Program>& program, std::string_view name,
    const MethodOptions& options) {
  TENON_TRY(const schema::ExecutionPlan* const plan, program->plan(name));
  TENON_TRY(const Variants all, Variants::of(*program));
  const auto variants = all.of_method(name);
  if (!options.variant.empty()) {
    for (const ProgramVariant& one : variants) {
      if (one.name == options.variant) return plan_of(*program, one);
    }
    return no_such_variant(variants, name, options.variant);
  }
  if (variants.empty()) return PlanToLoad{plan, all.find(name)};
  TENON_TRY(VariantChoice choice, choose_variant(program, name, options));
  if (Status refused = choice.status(); !refused.ok()) {
    return std::move(refused).with_context(concat(program->name(), ": method ", name));
  }
  PlanToLoad out = plan_of(*program, *choice.answers[*choice.chosen].variant);
  out.choice = std::move(choice);
  return out;
}

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
    if (options.isolation) [[unlikely]] {
      Status isolated = detail::isolate_candidates(*program, name, options);
      if (!isolated.ok()) {
        return shortened(
            std::move(isolated).with_context(concat(program->name(), ": method ", name)));
      }
    }
    detail::PlanToLoad chosen;
    detail::MethodParts parts;
    detail::LoadRequest request{program, name, nullptr, options};
    if (options.registry) {
      TENON_RETURN_IF_ERROR(detail::attach(options.registry->layers(), request, parts));
    }
    TENON_RETURN_IF_ERROR(detail::attach(options.layers, request, parts));
    TENON_TRY(const Variants variants, Variants::of(*program));
    if (!variants.empty() || !options.variant.empty()) [[unlikely]] {
      TENON_TRY(chosen, detail::choose_plan(program, name, options));
      if (chosen.variant) detail::read_variant_ahead(*program, *chosen.variant);
    } else {
      TENON_TRY(chosen.plan, program->plan(name));
    }
    auto method = std::make_unique<detail::MethodState>(
        std::move(program), *chosen.plan, chosen.variant, std::move(options), std::move(parts));
    // With a budget not before it was checked.
    if (method->options.budget.empty()) {
      method->arena.reserve(detail::estimated_arena_bytes(method->plan));
    }
    if (Status built = detail::load_into(*method); !built.ok()) {
      return shortened(
          std::move(built).with_context(concat(method->program->name(), ": method ", name)));
    }
    return std::unique_ptr<Method>(std::move(method));
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "method ", name, ": out of memory");
  }
}

std::string_view Method::name() const noexcept { return detail::name_of(detail::state_of(*this)); }

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
    return error(Error::InvalidArgument, "method ", name_of(method), ": input ", index,
                 ": the method has ", method.inputs.size());
  }
  method.changes.count();
  if (Status outcome = method.inputs[index].set(from); !outcome.ok()) {
    return std::move(outcome).with_context(concat("method ", name_of(method), ": input ", index));
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
  return shortened(method.run ? method.run(method)
                              : detail::run_all<detail::CompleteCalls>(method));
}

}}}  // namespace tenon::TENON_RELEASE::host
