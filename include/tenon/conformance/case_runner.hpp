// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/case.hpp"
#include "tenon/conformance/case_method.hpp"
#include "tenon/conformance/compare.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/method.hpp"

namespace tenon::conformance {

/// A case outside of the kit: its runs in their order, with any backends. Movable; refers to the
/// case, which must outlive it, and to what the options refer to. One thread at a time.
class CaseRunner {
 public:
  /// Opens the program and its data and loads the method, with the case's runtime specs after the
  /// options' own. errors: those of `host::Program::open`, `DataFile::open` and `Method::load`.
  [[nodiscard]] static Result<CaseRunner> load(const Case& of_case, host::MethodOptions options) {
    TENON_TRY(CaseProgram program, CaseProgram::open(of_case));
    CaseRunner out(std::move(program), std::move(options));
    for (const host::BackendOption& option : of_case.runtime_specs) {
      out.options_.backend_options.push_back(option);
    }
    TENON_CHECK(out.load_method());
    return out;
  }

  [[nodiscard]] host::Method& method() noexcept { return method_->method(); }

  /// Executes run `index` of the case, on a method that is loaded anew where the run says so, and
  /// compares each output of which something is expected.
  ///
  /// errors: those of setting inputs, of executing and of reading expected outputs;
  /// InvalidArgument when the case has another number of inputs or outputs than the method.
  [[nodiscard]] Result<std::vector<Comparison>> run(std::size_t index,
                                                    const Tolerances& tolerances) {
    const CaseRun& run = program_->of_case().runs.at(index);
    if (run.fresh) TENON_CHECK(load_method());
    TENON_CHECK(check_count("inputs", run.inputs.size(), method().num_inputs()));
    TENON_CHECK(method_->execute(run));
    std::vector<Comparison> out;
    if (run.expected.empty()) return out;
    TENON_CHECK(check_count("outputs", run.expected.size(), method().num_outputs()));
    for (std::size_t i = 0; i < run.expected.size(); ++i) {
      TENON_TRY(const tenon_value* found, method_->output(i));
      TENON_TRY(out.emplace_back(), compare_output(i, *found, run.expected[i], tolerances));
    }
    return out;
  }

 private:
  CaseRunner(CaseProgram program, host::MethodOptions options)
      : program_(std::make_unique<const CaseProgram>(std::move(program))),
        options_(std::move(options)) {}

  Status check_count(std::string_view what, std::size_t found, std::size_t expected) const {
    if (found == expected) return ok();
    const Case& of_case = program_->of_case();
    return error(Error::InvalidArgument, of_case.folder.string(), ": the method ", of_case.method,
                 " has ", expected, " ", what, ", the case ", found);
  }

  Status load_method() {
    method_.reset();
    TENON_TRY(method_, CaseMethod::load(*program_, options_));
    return ok();
  }

  std::unique_ptr<const CaseProgram> program_;  // Its address stays when this is moved.
  host::MethodOptions options_;
  std::unique_ptr<CaseMethod> method_;  // Last: it refers to what stands above.
};

}  // namespace tenon::conformance
