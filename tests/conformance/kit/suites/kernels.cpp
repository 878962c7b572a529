// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/growth.hpp"
#include "kit/fixtures/in_threads.hpp"
#include "kit/fixtures/kernel_trial.hpp"
#include "kit/fixtures/loaded_plugin.hpp"
#include "kit/process/resources.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "kernels": code for operators that were left in programs (extension "tenon.kernels/1").
/// The kit knows no operator: what a kernel computes is judged by cases, suite "numerics".
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(kernels)

namespace {

std::string status_text(tenon_status status) {
  return status == TENON_STATUS_OK ? std::string("success")
                                   : std::string(error_name(static_cast<Error>(status)));
}

/// Some of `operators`, evenly chosen; all of them from level 7 on.
std::vector<std::string> some_of(Context& kit, const std::vector<std::string>& operators) {
  const std::size_t most = kit.options().level >= 7 ? operators.size() + 1 : 50;
  const std::size_t step = operators.size() / most + 1;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < operators.size(); i += step) out.push_back(operators[i]);
  return out;
}

/// Names that resemble the names in `operators` and are not among them.
std::vector<std::string> other_names(const std::vector<std::string>& operators) {
  std::vector<std::string> out = {"", "x", "aten::", "tenon_conformance::unknown.out",
                                  std::string(300, 'y')};
  const std::size_t step = operators.size() / 10 + 1;
  for (std::size_t i = 0; i < operators.size(); i += step) {
    out.push_back(operators[i] + "_");
    out.push_back(operators[i].substr(0, operators[i].size() - 1));
    out.push_back(operators[i].substr(0, operators[i].find('.')) + ".no_such_overload");
  }
  std::erase_if(out, [&](const std::string& name) {
    return std::ranges::find(operators, name) != operators.end();
  });
  return out;
}

}  // namespace

TENON_CONFORMANCE_TEST("kernels/announced-in-record",
                       "the record says whether the backend offers kernels",
                       "[kernels][level-3][backend][TN-KRN-1]") {
  OpenedBackend opened(kit);
  const bool offers =
      opened.backend().extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS).has_value();
  const host::BackendRecord* record = opened.plugin().backend_record(kit.backend().id);
  const bool says_so = record && record->offers_kernels;
  kit.expect("TN-KRN-1", !offers || says_so,
             "the backend has " TENON_EXTENSION_KERNELS
             ", and its record lacks TENON_BACKEND_OFFERS_KERNELS");
  kit.expect("TN-KRN-1", offers || !says_so,
             "the record has TENON_BACKEND_OFFERS_KERNELS, and the "
             "backend does not answer " TENON_EXTENSION_KERNELS);
}

TENON_CONFORMANCE_TEST("kernels/list-is-stable",
                       "each operator is listed once, in the same order each time",
                       "[kernels][level-5][backend][TN-KRN-6]") {
  OfferedKernels kernels(kit);
  const std::vector<std::string> first = kernels.operators();
  std::set<std::string> seen;
  for (const std::string& op : first) {
    kit.expect("TN-KRN-6", !op.empty(), "list_operators passed an empty name");
    kit.expect("TN-KRN-6", seen.insert(op).second, "list_operators passed ", op, " twice");
  }
  kit.expect("TN-KRN-6", kernels.operators() == first,
             "list_operators passed other names, or another order, the second time");
  kit.measure("operators", static_cast<double>(first.size()), "");
}

TENON_CONFORMANCE_TEST("kernels/names-missing-operator",
                       "an operator that is not listed is missing, by name",
                       "[kernels][level-5][backend][TN-KRN-2][TN-ERR-1][TN-ERR-2]") {
  OfferedKernels kernels(kit);
  for (const std::string& op : other_names(kernels.operators())) {
    for (const std::string_view letters : {"", "oo", "tioo", "ttioo"}) {
      TriedKernel kernel(kernels, op, letters);
      const std::string text = said_error().text;
      if (!kit.expect("TN-KRN-2", kernel.created() == TENON_STATUS_OPERATOR_MISSING,
                      "create_kernel of '", op,
                      "', which is not listed: expected OperatorMissing, ", "found ",
                      status_text(kernel.created()))) {
        continue;
      }
      kit.expect("TN-KRN-2", text.find(op) != std::string::npos, "create_kernel of '", op,
                 "', which is not listed: expected a text that names it, found '", text, "'");
    }
  }
}

TENON_CONFORMANCE_TEST("kernels/refuses-wrong-arguments",
                       "arguments of the wrong number or kind are refused",
                       "[kernels][level-5][backend][TN-KRN-3][TN-ERR-1][TN-ERR-2]") {
  OfferedKernels kernels(kit);
  const auto refuses = [](tenon_status status) {
    return status == TENON_STATUS_INVALID_ARGUMENT || status == TENON_STATUS_INVALID_TYPE;
  };
  // None of these is right for any operator: outputs are never none, and no operator has 64
  // arguments.
  const std::string many(64, 'x');
  for (const std::string& op : some_of(kit, kernels.operators())) {
    for (const std::string_view letters :
         {std::string_view(""), std::string_view("n"), std::string_view("nn"),
          std::string_view("nnn"), std::string_view("nnnn"), std::string_view("nnnnn"),
          std::string_view("nnnnnn"), std::string_view("tttnnn"), std::string_view(many)}) {
      TriedKernel kernel(kernels, op, letters);
      tenon_status status = kernel.created();
      if (status == TENON_STATUS_OK) status = kernel.run();
      kit.expect("TN-KRN-3", refuses(status), op, " with ", letters.size(), " arguments",
                 letters.empty()     ? ""
                 : letters[0] == 'x' ? ", all integers"
                                     : ", the last one none",
                 ": expected InvalidArgument or InvalidType, found ", status_text(status));
    }
    // Numbers may be right; a kernel that takes them for tensors accesses the forbidden page that
    // they point to.
    for (std::size_t count = 1; count <= 5; ++count) {
      TriedKernel kernel(kernels, op, std::string(count, 'x'));
      if (kernel.created() == TENON_STATUS_OK) static_cast<void>(kernel.run());
    }
  }
}

TENON_CONFORMANCE_TEST("kernels/runs-repeatedly",
                       "a kernel runs again and again, also after a run that failed",
                       "[kernels][level-5][backend][TN-KRN-4][TN-KRN-7]") {
  OfferedKernels kernels(kit);
  const RightCall call = need_right_call(kit, kernels);
  TriedKernel kernel(kernels, call.op, call.letters);
  if (kernel.created() != TENON_STATUS_OK || kernel.run() != TENON_STATUS_OK) {
    kit.blocked(call.op, " runs once and then not any more with a new kernel");
  }
  const std::vector<std::byte> expected = kernel.args().outputs();
  const auto runs_well = [&](std::string_view when) {
    const tenon_status status = kernel.run();
    if (!kit.expect("TN-KRN-4", status == TENON_STATUS_OK, "a run of ", call.op, " ", when,
                    " fails: ", status == TENON_STATUS_OK ? std::string() : said_error().text)) {
      return false;
    }
    return !kit.backend().deterministic ||
           kit.expect("TN-KRN-4", kernel.args().outputs() == expected, "a run of ", call.op, " ",
                      when, " gives other outputs than the first");
  };
  for (int i = 0; i < 3; ++i) {
    if (!runs_well("after a run that succeeded")) return;
  }
  // Larger inputs need a larger output, which the host refuses once.
  kernel.args().resize_inputs(4);
  kernels.boundary().watched().faults().fail(Service::resize, 1);
  const bool fails = kernel.run() != TENON_STATUS_OK;
  kernels.boundary().watched().faults().fail(Service::resize, 0);
  kernel.args().resize_inputs(2);
  if (fails) runs_well("after a run that failed");
}

TENON_CONFORMANCE_TEST("kernels/refusal-leaves-nothing", "a kernel that was refused leaves nothing",
                       "[kernels][level-6][backend][TN-KRN-7]") {
  OfferedKernels kernels(kit);
  const std::vector<std::string> operators = kernels.operators();
  if (operators.empty()) kit.not_applicable("it lists no operator");
  for (const std::string_view letters : {"", "nn"}) {
    if (TriedKernel(kernels, operators.front(), letters).created() == TENON_STATUS_OK) continue;
    const auto growth = growth_of(kernels.opened(), stretch_of(kit), [&] {
      TriedKernel refused(kernels, operators.front(), letters);
    });
    kit.expect("TN-KRN-7", growth.empty(), "create_kernel of ", operators.front(), " with ",
               letters.size(), " arguments fails and leaves ", join_with_and(growth));
  }
}

TENON_CONFORMANCE_TEST("kernels/repeats-without-growth",
                       "making, running and destroying kernels again and again takes nothing more",
                       "[kernels][level-6][backend][TN-KRN-8]") {
  OfferedKernels kernels(kit);
  const RightCall call = need_right_call(kit, kernels);
  for (const int runs : {0, 2}) {
    const auto growth = growth_of(kernels.opened(), stretch_of(kit), [&] {
      TriedKernel kernel(kernels, call.op, call.letters);
      for (int i = 0; i < runs; ++i) static_cast<void>(kernel.run());
    });
    if (!kit.expect("TN-KRN-8", growth.empty(), "create_kernel, ", runs,
                    " runs and destroy_kernel of ", call.op, ": ", join_with_and(growth))) {
      return;
    }
  }
}

TENON_CONFORMANCE_TEST("kernels/runs-concurrently",
                       "different kernels are made, run and destroyed at the same time",
                       "[kernels][level-9][backend][TN-BCK-9]") {
  OfferedKernels kernels(kit);
  if (!kit.backend().deterministic) {
    kit.not_applicable("the backend is declared not deterministic");
  }
  const RightCall call = need_right_call(kit, kernels);
  std::vector<std::byte> expected;
  for (const bool again : {false, true}) {
    TriedKernel kernel(kernels, call.op, call.letters);
    if (kernel.created() != TENON_STATUS_OK || kernel.run() != TENON_STATUS_OK) {
      kit.blocked(call.op, " does not run with a new kernel");
    }
    if (again && kernel.args().outputs() != expected) kit.blocked("two kernels differ");
    expected = kernel.args().outputs();
  }
  kernels.boundary().watched().watch().watch_process(false);
  Complaints complaints;
  const int rounds = rounds_of(kit);
  in_threads(num_threads, [&](std::size_t) {
    for (int round = 0; round < rounds; ++round) {
      TriedKernel kernel(kernels, call.op, call.letters);
      if (kernel.created() != TENON_STATUS_OK || kernel.run() != TENON_STATUS_OK) {
        complaints.add(concat("while other threads make and run kernels, ", call.op,
                              " fails: ", std::string(said_error().text)));
        return;
      }
      if (kernel.args().outputs() == expected) continue;
      complaints.add(concat("while other threads make and run kernels, ", call.op,
                            " gives other outputs than alone"));
      return;
    }
  });
  complaints.report(kit, "TN-BCK-9");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
