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
#include "tenon/host/loader/impl/method/loaded_method.hpp"
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
    TENON_TRY(const Variants variants, Variants::of(*program));
    if (!variants.empty() || !options.variant.empty()) [[unlikely]] {
      TENON_TRY(chosen, detail::choose_plan(program, name, options));
      if (chosen.variant) detail::read_variant_ahead(*program, *chosen.variant);
    } else {
      TENON_TRY(chosen.plan, program->plan(name));
    }
    auto method = detail::LoadedMethod::create(std::move(program), *chosen.plan, chosen.variant,
                                               std::move(options));
    if (Status built = method->build_in_budget(); !built.ok()) {
      return shortened(
          std::move(built).with_context(concat(method->the_program().name(), ": method ", name)));
    }
    return std::unique_ptr<Method>(std::move(method));
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "method ", name, ": out of memory");
  }
}

std::string_view Method::name() const noexcept { return detail::loaded(*this).public_name(); }

std::string_view Method::variant() const noexcept {
  const ProgramVariant* const chosen = detail::loaded(*this).chosen_variant();
  return chosen ? chosen->name : std::string_view();
}

const Program& Method::program() const noexcept { return detail::loaded(*this).the_program(); }

std::size_t Method::num_inputs() const noexcept { return detail::loaded(*this).count_inputs(); }

std::size_t Method::num_outputs() const noexcept {
  return detail::loaded(*this).plan().outputs()->size();
}

Status Method::set_input(std::size_t index, const InputTensor& tensor) {
  return detail::loaded(*this).set(index, tensor);
}

Status Method::set_input(std::size_t index, const InputScalar& scalar) {
  return detail::loaded(*this).set(index, scalar);
}

Status Method::set_output(std::size_t index, std::span<std::byte> bytes, tenon_dl_device device) {
  return detail::loaded(*this).set_bytes(index, bytes, device);
}

Status Method::read_output(std::size_t index, std::span<std::byte> to) const {
  return detail::loaded(*this).read(index, to);
}

const tenon_value& Method::output(std::size_t index) const noexcept {
  const detail::LoadedMethod& self = detail::loaded(*this);
  return self.value(*self.plan().outputs(), index);
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
  const detail::LoadedMethod& self = detail::loaded(*this);
  return self.value(*self.plan().inputs(), index);
}

Status Method::execute() { return detail::loaded(*this).run(); }

Status Method::cancel() { return detail::loaded(*this).cancel_run(); }

Result<std::vector<Intermediate>> Method::intermediates() {
  try {
    TENON_TRY(const detail::MethodRecorder* const recorder, detail::loaded(*this).recorder());
    return recorder->all();
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory for the names of intermediates");
  }
}

Status Method::record_intermediates(std::span<const std::size_t> numbers) {
  try {
    return detail::loaded(*this).record(numbers);
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory for what to record");
  }
}

std::span<const IntermediateTensor> Method::recorded_intermediates() const noexcept {
  return detail::loaded(*this).recorded();
}
Result<MethodMemory> Method::memory_info() const { return detail::loaded(*this).memory(); }

Result<std::unique_ptr<Session>> Method::create_session(const SessionOptions& options) {
  TENON_RETURN_IF_ERROR(detail::loaded(*this).check_idle());
  return detail::loaded(*this).make_session(options);
}

void Method::use_session(const Session* session) noexcept { detail::loaded(*this).use(session); }

Status Method::set_stream(std::string_view backend_id, NativeStream stream) {
  TENON_RETURN_IF_ERROR(detail::loaded(*this).check_idle());
  return detail::set_stream(detail::loaded(*this).delegates(), backend_id, stream);
}

Status Method::wait_fence(std::string_view backend_id, const ExternalFence& fence) {
  TENON_RETURN_IF_ERROR(detail::loaded(*this).check_idle());
  return detail::use_fence(detail::loaded(*this).delegates(), backend_id, fence, true);
}

Status Method::signal_fence(std::string_view backend_id, const ExternalFence& fence) {
  TENON_RETURN_IF_ERROR(detail::loaded(*this).check_idle());
  return detail::use_fence(detail::loaded(*this).delegates(), backend_id, fence, false);
}

Status Method::set_scheduling(const Scheduling& scheduling) {
  TENON_RETURN_IF_ERROR(detail::loaded(*this).check_idle());
  const tenon_scheduling hints = tenon::detail::to_abi(scheduling);
  const std::span<const detail::LoadedDelegate> delegates = detail::loaded(*this).delegates();
  for (std::size_t i = 0; i < delegates.size(); ++i) {
    if (Status set = delegates[i].set_scheduling(hints); !set.ok()) {
      return std::move(set).with_context(concat("delegate ", i));
    }
  }
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host
