// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/layers/trace/impl/trace_instruction.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/impl/method/errors.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loading.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Records the load and the runs of one method.
class TracePart final : public PartOf<TracePart>, public RunObserver {
 public:
  /// `trace` must outlive this.
  explicit TracePart(Trace& trace) noexcept : trace_(trace) {}

  [[nodiscard]] Status before_load(Loading& loading) override {
    if (!loading.tracer) loading.tracer = trace_.table();
    observe(loading.method, *this, {.sees_instructions = true});
    return ok();
  }
  [[nodiscard]] Status init_context(Loading&, DelegateLoad&) override {
    start_ = trace_.now_ns();
    return ok();
  }
  [[nodiscard]] Status after_init(Loading&, DelegateLoad& delegate, Status outcome) override {
    if (!outcome.ok()) return outcome;
    const std::string number = concat(delegate.index);
    trace_.add("init", "delegate", start_, trace_.now_ns(),
               {{"backend", delegate.from.id()->string_view()}, {"delegate", number}});
    return outcome;
  }

  void begin_instructions(MethodState&) noexcept override { run_start_ = trace_.now_ns(); }
  [[nodiscard]] Status end_instructions(MethodState& method, Status outcome) override {
    const std::uint64_t end = trace_.now_ns();
    trace_.add("execute", "method", run_start_, end, {{"method", method.name}});
    return outcome;
  }
  void begin(MethodState&, const Instruction&) override { start_ = trace_.now_ns(); }
  void end(MethodState& method, const Instruction& at, std::size_t chain,
           std::size_t index) override {
    trace_instruction(trace_, errors_of(method), at, chain, index, start_);
  }

 private:
  Trace& trace_;
  std::uint64_t start_ = 0;  ///< Of the `init` or the instruction that is going on.
  std::uint64_t run_start_ = 0;
};

}  // namespace detail

Result<std::unique_ptr<detail::MethodPart>> Trace::attach(detail::LoadRequest&) const {
  return std::make_unique<detail::TracePart>(*table_.trace);
}

}}}  // namespace tenon::TENON_RELEASE::host
