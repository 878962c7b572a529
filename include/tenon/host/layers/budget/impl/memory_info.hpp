// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/impl/budget_part.hpp"
#include "tenon/host/layers/budget/impl/method_memory.hpp"
#include "tenon/host/layers/budget/impl/planned_bytes.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/impl/method/planned_buffers.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<MethodMemory> Method::memory_info() const {
  const detail::MethodState& method = detail::state_of(*this);

  MethodMemory out;
  out.planned = detail::planned_bytes(method.plan);
  out.temp = method.temp_arena.nbytes();
  TENON_RETURN_IF_ERROR(detail::add_delegates(method.delegates, out));
  const auto* const budget = detail::find_part<detail::BudgetPart>(method);
  std::uint64_t lent = 0;  // Of the method's arena.
  for (const DelegateMemory& each : out.delegates) lent += budget ? 0 : each.lent;
  const std::uint64_t in_arena = detail::PlannedBuffers::bytes_in_arena(method.plan).first;
  out.tables = method.arena.nbytes() - std::min(method.arena.nbytes(), lent + in_arena) +
               method.planned.padding();
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
