// SPDX-License-Identifier: MIT
//
// Small programs that ask for much: what tenon-run touches, prints and refuses.
#include <cstdint>
#include <string>
#include <vector>

#include "process.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/program_builder.hpp"

namespace run_limits_test {

using namespace tenon;
using namespace tenon::test;
using ::test::Outcome;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

/// Runs tenon-run on a program, without any plugin.
Outcome run(const ProgramBuilder& builder, std::vector<std::string> more = {}) {
  // With a pattern for malloc, which Meson sets, calloc writes zeroes to all pages.
  const ::test::Variables variables{{"TENON_DISABLE", "*"}, {"MALLOC_PERTURB_", "0"}};
  const ::test::ScopedEnvironment environment(variables);
  const TemporaryDirectory directory;
  const auto file = builder.build(ProgramBuilder::Header::none);
  CHECK(file.bytes().size() < 1000);
  const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
  ::test::write_file(directory.file("m.pte"), std::string(bytes, file.bytes().size()));
  more.insert(more.begin(), directory.file("m.pte"));
  return ::test::run_program(TENON_RUN, std::move(more));
}

/// A program whose only output has no memory of its own.
ProgramBuilder one_output(schema::objects::TensorT tensor) {
  ProgramBuilder builder;
  builder.plan("forward").output(std::move(tensor));
  return builder;
}

void check_fails(const Outcome& outcome, int exit_code, const std::string& text) {
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, ContainsSubstring(text));
}

TEST_CASE("an output of a gigabyte in a program of 300 bytes costs no memory", "[run][limits]") {
  const Outcome outcome = run(one_output(tensor(ScalarType::Float, {1 << 28})));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("output 0: Float [268435456]: 0, 0, 0, 0, 0, 0, 0, 0, "
                                            "...\n"));
  CHECK(outcome.peak_bytes < 512 * mebibyte);
}

TEST_CASE("an output in another order is not copied for its first elements", "[run][limits]") {
  auto columns_first = tensor(ScalarType::Float, {1 << 14, 1 << 14});
  columns_first.dim_order = {1, 0};
  const Outcome outcome = run(one_output(std::move(columns_first)));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("output 0: Float [16384, 16384]: 0, 0, 0"));
  CHECK(outcome.peak_bytes < 512 * mebibyte);
}

TEST_CASE("classes of a large output cost what is reported of them", "[run][limits]") {
  const Outcome outcome = run(one_output(tensor(ScalarType::Half, {1 << 27})), {"--top", "2"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("  class 0: 0\n  class 1: 0\n"));
  CHECK(outcome.peak_bytes < 640 * mebibyte);
}

TEST_CASE("outputs above their limit are refused with exit code 5", "[run][limits]") {
  check_fails(run(one_output(tensor(ScalarType::Float, {1 << 30, 1 << 20}))), 5,
              "OutOfResources (0x25): output 0: bytes of outputs without planned memory: found "
              "4503599627370496, the limit output_bytes is 68719476736");
  ProgramBuilder builder = one_output(tensor(ScalarType::Float, {2}));
  PlanBuilder(*builder.program.execution_plan[0]).output(tensor(ScalarType::Float, {3}));
  CHECK(run(builder, {"--limit", "output_bytes=20"}).exit_code == 0);
  check_fails(run(builder, {"--limit", "output_bytes=19"}), 5, "output 1: bytes of outputs");
}

TEST_CASE("planned memory and names above their limits are refused with exit code 3",
          "[run][limits]") {
  ProgramBuilder builder;
  builder.plan("forward").buffer(std::int64_t{1} << 40);
  check_fails(run(builder), 3, "the limit planned_bytes is 68719476736");
  check_fails(run(builder, {"--limit", "planned_bytes=1K"}), 3, "the limit planned_bytes is 1024");
  check_fails(run(builder, {"--limit", "name_bytes=6"}), 3, "found 7, the limit name_bytes is 6");
}

TEST_CASE("a program above its budget is refused with exit code 3, and its memory is printed",
          "[run][limits]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  plan.buffer(static_cast<std::int64_t>(mebibyte));
  check_fails(run(builder, {"--budget", "cpu=1M"}), 3, "tenon-run: OutOfResources (0x25): ");
  check_fails(run(builder, {"--budget", "cpu=1M"}), 3, "(planned memory 1048576, tables ");
  const Outcome fits = run(builder, {"--budget", "cpu=2M", "--memory"});
  CHECK(fits.exit_code == 0);
  CHECK_THAT(fits.out, ContainsSubstring("bytes on CPU (planned 1048576, tables "));
}

TEST_CASE("a loop over a large condition ends with exit code 5", "[run][limits]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(65536);
  const auto all = plan.value(planned_tensor(ScalarType::Bool, {65536}, memory, 0));
  plan.instruction(jump_false_call(all, 0));
  // All zero, so one byte is looked at by each instruction.
  check_fails(run(builder, {"--limit", "condition_bytes=1K"}), 5,
              "the limit condition_bytes is 1024");
  check_fails(run(builder, {"--limit", "instructions=1K"}), 5, "more than 1024 instructions");
  check_fails(run(builder, {"--limit", "run_milliseconds=1"}), 5, "run_milliseconds");
  check_fails(run(builder, {"--timeout", "0.001"}), 5, "run_milliseconds");
}

TEST_CASE("the values that are printed of all outputs have a limit", "[run][limits]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto flag = plan.value(int_value(7));
  const auto list = plan.output(int_list({flag, flag, flag, flag}));
  for (int i = 0; i < 3; ++i) plan.table().outputs.push_back(list);
  const Outcome outcome = run(builder, {"--limit", "printed_values=6"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("output 0: ListInt [4]: 7, 7, 7, 7\n"
                                            "output 1: ListInt [4]: 7, 7, ...\n"
                                            "output 2: ListInt [4]: ...\n"
                                            "output 3: ListInt [4]: ...\n"));
}

TEST_CASE("a wrong limit is wrong usage", "[run][limits]") {
  check_fails(run(one_output(tensor(ScalarType::Float, {1})), {"--limit", "speed=1"}), 2,
              "--limit: there is no limit 'speed'; there are: name_bytes");
  check_fails(run(one_output(tensor(ScalarType::Float, {1})), {"--limit", "values=many"}), 2,
              "--limit: limit values: expected a number");
}

}  // namespace run_limits_test
