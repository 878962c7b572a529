// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/conformance/context.hpp"
#include "tenon/conformance/guarded_case.hpp"
#include "tenon/conformance/wrong_arguments.hpp"

namespace tenon::conformance {

/// How the plugin answered a wrong call.
struct WrongAnswer {
  bool accepted = false;
  tenon_status status = TENON_STATUS_OK;
  std::string text;  ///< What it said about the failure.
};

/// Makes the runs of a case go wrong in one call. Must not outlive the case.
class WrongCalls {
 public:
  /// Runs `run` as it should be. A failure ends the test as `blocked`, and a case whose runs do not
  /// call the backend as `not_applicable`.
  WrongCalls(Context& kit, GuardedCase& guarded, const CaseRun& run)
      : guarded_(guarded), run_(run) {
    guarded.boundary().on_execute = [&](ExecuteCall& call) {
      const auto args = guarded.guards().lend(call);
      right_.emplace_back(args.begin(), args.end());
      const tenon_status status = call.forward(args.data(), call.num_args);
      guarded.guards().take_back(status == TENON_STATUS_OK);
      return status;
    };
    guarded.need_execute(run);
    make_right();
    if (right_.empty()) kit.not_applicable("no run of the case calls the backend");
    const std::size_t calls = kit.options().level >= 7 ? right_.size() : 1;
    for (std::size_t i = 0; i < calls; ++i) {
      for (WrongCall& call : wrong_.make(right_[i])) all_.emplace_back(i, std::move(call));
    }
  }

  /// Number of wrong calls that there are.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] const WrongCall& operator[](std::size_t index) const noexcept {
    return all_[index].second;
  }

  /// A run in which wrong call `index` takes the place of the right one; it ends there.
  [[nodiscard]] WrongAnswer execute(std::size_t index) {
    const std::size_t number = all_[index].first;
    const WrongCall& wrong = all_[index].second;
    GuardedArguments& guards = guarded_.guards();
    WrongAnswer answer;
    guards.settings.outside_output.rule = "TN-EXE-5";
    guarded_.boundary().on_execute = [&](ExecuteCall& call) {
      const auto args = guards.lend(call);
      const bool here = guards.call() == number;
      // Other delegates of the program get what is right.
      guards.settings.outside_output.rule = here ? "TN-EXE-5" : "TN-EXE-6";
      const auto count = static_cast<std::uint32_t>(here ? wrong.args.size() : args.size());
      const tenon_status status = call.forward(here ? wrong_.list_of(wrong) : args.data(), count);
      guards.take_back(!here && status == TENON_STATUS_OK);
      if (!here) return status;
      answer = {status == TENON_STATUS_OK, status, said_error().text};
      return answer.accepted ? tenon_status{TENON_STATUS_INTERNAL} : status;
    };
    const Status ignored = guarded_.execute(run_);
    make_right();
    guards.settings.outside_output.rule = "TN-EXE-6";
    return answer;
  }

 private:
  void make_right() {
    guarded_.boundary().on_execute = [this](ExecuteCall& call) {
      return guarded_.guards().run(call);
    };
  }

  GuardedCase& guarded_;
  const CaseRun& run_;
  std::vector<std::vector<tenon_value*>> right_;
  WrongArguments wrong_;
  std::vector<std::pair<std::size_t, WrongCall>> all_;  // By number of the call.
};

}  // namespace tenon::conformance
