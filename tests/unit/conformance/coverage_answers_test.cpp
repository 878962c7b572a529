// SPDX-License-Identifier: MIT
#include "coverage/answers.hpp"

#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::conformance;

namespace coverage_answers_test {

std::vector<RecordedCall> three_calls() {
  std::vector<RecordedCall> out(3);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].name = "aten.op" + std::to_string(i);
    out[i].dtype = "float32";
  }
  return out;
}

TEST_CASE("an answer is the coverage of the call that was announced before it") {
  TestResult result;
  result.measurements = {{"answer", 0, {}},       {"begin", 0, {}},          {"answer", 5, {}},
                         {"begin", 2, {}},        {"answer", 0, {}},  // Not the next one.
                         {"begin", 1, "ignored"}, {"answer", 3, "no device"}};
  CoverageMatrix matrix;
  const Answers answers = read_answers(result, three_calls(), 0, matrix);
  CHECK(answers.next == 2);
  CHECK(answers.is_complete);
  CHECK(matrix.cells.size() == 2);
  CHECK(matrix.cells["aten.op0"]["float32"] == Coverage::not_taken);
  CHECK(matrix.cells["aten.op1"]["float32"] == Coverage::refused);
  CHECK(matrix.reasons["aten.op1"] == "float32: no device");
}

TEST_CASE("an answer out of range is never right") {
  for (const double number : {-1.0, 0.5, 6.0, 1e300, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    INFO(number);
    TestResult result;
    result.measurements = {
        {"begin", 0, {}}, {"answer", number, "right"}, {"begin", 1, {}}, {"answer", 0, {}}};
    CoverageMatrix matrix;
    CHECK(read_answers(result, three_calls(), 0, matrix).next == 2);
    CHECK(matrix.cells["aten.op0"]["float32"] == Coverage::wrong);
    CHECK(matrix.reasons["aten.op0"] ==
          "float32: the process answered with a number of no meaning");
    CHECK(matrix.cells["aten.op1"]["float32"] == Coverage::right);
  }
}

TEST_CASE("the call that was announced when the process ended is the one that ended it") {
  TestResult result;
  result.measurements = {{"begin", 1, {}}};
  result.crashes.emplace_back();
  result.crashes[0].what = "SIGSEGV";
  result.crashes[0].in = "execute";
  CoverageMatrix matrix;
  const Answers answers = read_answers(result, three_calls(), 1, matrix);
  CHECK(answers.next == 2);
  CHECK_FALSE(answers.is_complete);
  CHECK(matrix.cells["aten.op1"]["float32"] == Coverage::crashed);
  CHECK(matrix.reasons["aten.op1"] == "float32: SIGSEGV in execute");
}

}  // namespace coverage_answers_test
