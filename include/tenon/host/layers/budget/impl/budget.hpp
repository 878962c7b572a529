// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/budget/budget.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/budget_part.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::unique_ptr<detail::MethodPart>> Budget::attach(detail::LoadRequest&) const {
  if (limits_.empty()) return nullptr;
  return std::make_unique<detail::BudgetPart>(limits_);
}

namespace detail {

Status BudgetPart::before_load(Loading& loading) {
  observe(loading.method, *this, {});
  return ok();
}

Status BudgetPart::limit_memory(Loading& loading) {
  MethodState& method = loading.method;
  if (find_part<BudgetPart>(method) != this) {
    return error(Error::InvalidArgument, "budget: expected one for a method, found two");
  }
  TENON_RETURN_IF_ERROR(budget.set_limits(limits_));
  TENON_RETURN_IF_ERROR(budget.take_host(estimate_host(method.plan)));
  const auto [in_arena, aligning] = PlannedBuffers::bytes_in_arena(method.plan);
  method.arena.reserve(static_cast<std::size_t>(budget.estimate().tables - aligning + in_arena));
  method.arena.set_limit(budget.cpu());
  method.temp_arena.set_limit(budget.cpu());
  loading.lent = &budget.lent();
  std::vector<DelegateEstimate> delegates;
  for (flatbuffers::uoffset_t i = 0; i < method.plan.delegates()->size(); ++i) {
    const schema::BackendDelegate& delegate = *method.plan.delegates()->Get(i);
    const std::string_view id = delegate.id()->string_view();
    auto estimate = [&]() -> Result<DelegateEstimate> {
      TENON_TRY(const BackendUse* const use, loading.backend_of(delegate));
      return estimate_delegate(*use->backend, *method.program, method.name.data(), delegate,
                               method.named_data, use->runtime_specs);
    }();
    if (!estimate.ok()) {
      loading.failed_delegate = i;
      return std::move(estimate).status().with_context(concat("delegate ", i, " (", id, ")"));
    }
    delegates.push_back(*std::move(estimate));
  }
  return budget.take_delegates(std::move(delegates));
}

Status BudgetPart::init_context(Loading&, DelegateLoad& delegate) {
  budget.begin_delegate(delegate.index);
  return ok();
}

Status BudgetPart::after_init(Loading&, DelegateLoad&, Status outcome) {
  budget.end_delegate();
  return outcome;
}

Status BudgetPart::after_load(Loading&, Status outcome) {
  return budget.explain(std::move(outcome));
}

Status BudgetPart::end_run(MethodState&, Status outcome) {
  return budget.explain(std::move(outcome));
}

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::host
