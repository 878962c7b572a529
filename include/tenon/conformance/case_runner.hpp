// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tenon/conformance/case.hpp"
#include "tenon/conformance/compare.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

class CaseMethod;
class CaseProgram;

/// A case outside of the kit: its runs in their order, with any backends. Movable; refers to the
/// case, which must outlive it, and to what the options refer to. One thread at a time.
class CaseRunner {
 public:
  /// Opens the program and its data and loads the method, with the case's runtime specs after the
  /// options' own. errors: as `host::Program::open`, `DataFile::open` and `Method::load`.
  [[nodiscard]] static Result<CaseRunner> load(const Case& of_case, host::MethodOptions options);
  CaseRunner(CaseRunner&&) noexcept;
  CaseRunner& operator=(CaseRunner&&) noexcept;
  ~CaseRunner();

  [[nodiscard]] host::Method& method() noexcept;

  /// Executes run `index` of the case, on a method that is loaded anew when the run is `fresh`, and
  /// compares each output that has an expectation.
  ///
  /// errors: any of setting inputs, executing, and reading expected outputs; InvalidArgument when
  /// the case has another number of inputs or outputs than the method.
  [[nodiscard]] Result<std::vector<OutputComparison>> run(std::size_t index,
                                                          const Tolerances& tolerances);

 private:
  CaseRunner(CaseProgram program, host::MethodOptions options);

  Status check_count(std::string_view what, std::size_t found, std::size_t expected) const;
  Status load_method();

  std::unique_ptr<const CaseProgram> program_;  // Keeps its address when this is moved.
  host::MethodOptions options_;
  std::unique_ptr<CaseMethod> method_;  // Last: it refers to the members above.
};

}}}  // namespace tenon::TENON_RELEASE::conformance
