// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/conformance/case_method.hpp"
#include "tenon/conformance/context.hpp"
#include "tenon/conformance/guarded_arguments.hpp"
#include "tenon/conformance/loaded_plugin.hpp"
#include "tenon/conformance/need_device.hpp"

namespace tenon::conformance {

/// The case that a test is about, loaded, with guarded arguments.
class GuardedCase {
 public:
  /// Ends the test where there is nothing to judge: without the device, and when the case cannot be
  /// loaded, which other tests judge.
  explicit GuardedCase(Context& kit) : kit_(kit), opened_(kit) {
    need_device(kit, opened_);
    program_ = std::make_unique<CaseProgram>(
        kit.need(CaseProgram::open(kit.of_case()), "the case cannot be read"));
    plan_ = kit.need(program_->program()->plan(kit.of_case().method), "the method of the case");
    guards_ = std::make_unique<GuardedArguments>(opened_.boundary(),
                                                 find_roles(*plan_, kit.backend().id));
    method_ = kit.need(CaseMethod::load(*program_, opened_, kit.backend()),
                       "the method of the case cannot be loaded");
  }

  [[nodiscard]] OpenedBackend& opened() noexcept { return opened_; }
  [[nodiscard]] Boundary& boundary() noexcept { return opened_.boundary(); }
  [[nodiscard]] const CaseProgram& program() const noexcept { return *program_; }
  [[nodiscard]] const schema::ExecutionPlan& plan() const noexcept { return *plan_; }
  [[nodiscard]] GuardedArguments& guards() noexcept { return *guards_; }
  [[nodiscard]] GuardSettings& settings() noexcept { return guards_->settings; }
  [[nodiscard]] CaseMethod& method() noexcept { return *method_; }

  /// The runs of the case that go on from one another.
  [[nodiscard]] std::vector<const CaseRun*> runs() const {
    std::vector<const CaseRun*> out;
    for (const CaseRun& run : kit_.of_case().runs) {
      if (run.fresh && !out.empty()) break;
      out.push_back(&run);
    }
    return out;
  }

  /// Executes one run of the case. Inputs that do not fit the method end the test as `blocked`.
  [[nodiscard]] Status execute(const CaseRun& run) {
    kit_.need(method_->set_inputs(run), "the inputs of the case");
    return execute();
  }
  /// The same with the inputs that the method has.
  [[nodiscard]] Status execute() {
    guards_->begin_run();
    return method_->execute();
  }
  /// The same; a failure, which the numerics suite judges, ends the test as `blocked`.
  void need_execute(const CaseRun& run) { kit_.need(execute(run), "a run of the case failed"); }

 private:
  Context& kit_;
  OpenedBackend opened_;
  std::unique_ptr<CaseProgram> program_;
  const schema::ExecutionPlan* plan_ = nullptr;
  std::unique_ptr<GuardedArguments> guards_;
  std::unique_ptr<CaseMethod> method_;  // Goes first: its delegates may use the rest.
};

}  // namespace tenon::conformance
