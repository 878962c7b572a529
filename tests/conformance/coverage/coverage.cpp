// SPDX-License-Identifier: MIT
#include "coverage/coverage.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "arguments.hpp"
#include "coverage/answers.hpp"
#include "coverage/programs.hpp"
#include "run.hpp"
#include "temporary_directory.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_file.hpp"
#include "test_process.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// Processes that a backend may end before it is not asked any more.
constexpr std::size_t most_crashes = 20;

Status ask_backend(const Arguments& arguments, const Subject& subject,
                   const std::vector<RecordedCall>& calls, CoverageMatrix& matrix) {
  TENON_TRY(const TemporaryDirectory directory, TemporaryDirectory::make());
  std::vector<std::string> words = server_command(arguments, subject);
  words.push_back(concat("--coverage-of=", matrix.backend));
  platform::TestServer server(std::move(words));
  std::size_t from = 0;
  for (std::size_t crashes = 0; from < calls.size() && crashes < most_crashes; ++crashes) {
    const TestCommand command{"--coverage-from=", std::to_string(from),
                              std::chrono::duration<double>(arguments.timeout), *subject.plugin,
                              directory.path() / std::to_string(from)};
    TestResult result;
    TENON_RETURN_IF_ERROR(run_in_process_of_its_own(server, command, result));
    const Answers answers = read_answers(result, calls, from, matrix);
    if (answers.next != from) matrix.asked = true;
    // An end without an answer: no compiler, no device, or a plugin that cannot be opened.
    if (answers.is_complete || answers.next == from) return ok();
    from = answers.next;
  }
  return ok();
}

/// The operators that a case recorded, with their dtypes: `made_by.operators` of its case.json.
std::map<std::string, std::vector<std::string>> operators_of(const Case& of_case) {
  std::map<std::string, std::vector<std::string>> out;
  const auto text = host::read_file(of_case.directory / "case.json");
  if (!text.ok()) return out;
  const auto json = parse_json(*text);
  if (!json.ok()) return out;
  const auto made_by = JsonAt(*json, "", Error::InvalidArgument).find("made_by");
  const auto operators = made_by ? made_by->find("operators") : std::nullopt;
  if (!operators || !operators->json().is_object()) return out;
  for (const auto& [name, dtypes] : operators->json().items()) {
    if (!dtypes.is_array()) continue;
    for (const auto& dtype : dtypes) {
      if (dtype.is_string()) out[name].push_back(dtype.get<std::string>());
    }
  }
  return out;
}

/// How the numbers of a case were judged; nothing when they were not.
std::optional<Coverage> judged_numbers(const SubjectReport& judged, const std::string& backend,
                                       const Case& of_case) {
  for (const TestResult& test : judged.tests) {
    if (test.id != "numerics/expected-outputs" || test.backend != backend ||
        test.of_case != of_case.name) {
      continue;
    }
    if (test.outcome == Outcome::passed) return Coverage::in_cases;
    if (test.outcome == Outcome::failed) return Coverage::wrong;
  }
  return std::nullopt;
}

void add_cases(const SubjectBackend& backend, const SubjectReport& judged, CoverageMatrix& matrix) {
  for (const Case& of_case : backend.cases) {
    const auto coverage = judged_numbers(judged, backend.id, of_case);
    if (!coverage) continue;
    for (const auto& [name, dtypes] : operators_of(of_case)) {
      for (const std::string& dtype : dtypes) {
        Coverage& cell = matrix.cells[name].try_emplace(dtype, *coverage).first->second;
        // A case that fails names no operator, so an operator that passes elsewhere is right.
        const bool better = *coverage == Coverage::in_cases &&
                            (cell == Coverage::wrong || cell == Coverage::not_taken);
        if (better && !matrix.asked) cell = *coverage;
        if (better && matrix.asked && cell == Coverage::not_taken) cell = *coverage;
      }
    }
  }
}

}  // namespace

const std::vector<std::string>& coverage_dtypes() {
  static const std::vector<std::string> names = {"float32", "float64", "float16", "bfloat16",
                                                 "int64",   "int32",   "int16",   "int8",
                                                 "uint8",   "bool"};
  return names;
}

Result<std::vector<CoverageMatrix>> cover(const Arguments& arguments, const Subject& subject,
                                          const SubjectReport& judged) {
  TENON_TRY(const std::vector<RecordedCall> calls, recorded_calls());
  std::vector<CoverageMatrix> out;
  for (const SubjectBackend& backend : subject.backends) {
    CoverageMatrix& matrix = out.emplace_back();
    matrix.plugin = judged.path;
    matrix.sha256 = judged.sha256;
    matrix.backend = backend.id;
    matrix.dtypes = coverage_dtypes();
    TENON_RETURN_IF_ERROR(ask_backend(arguments, subject, calls, matrix));
    add_cases(backend, judged, matrix);
    for (const RecordedCall& call : calls) {
      if (call.core) matrix.core.insert(call.name);
    }
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
