// SPDX-License-Identifier: MIT
//
// What a method refuses although its program is valid: each limit is reached with a small program,
// and what ran until then is counted.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "method_support.hpp"
#include "tenon/host/loader/files/shortened.hpp"

using namespace tenon;
using namespace tenon::test;
using host::HostLimits;
using host::Kernel;
using host::KernelTable;

namespace method_limits_test {

int num_calls = 0;

tenon_status count_call(void*, const tenon_execution_context*, tenon_value* const*, std::uint32_t) {
  ++num_calls;
  return TENON_STATUS_OK;
}

tenon_status report_much(void*, const tenon_execution_context* context, tenon_value* const*,
                         std::uint32_t) {
  const std::string text = "the first words " + std::string(1'000'000, 'x') + " the last words";
  context->host->set_last_error(context->host, TENON_STATUS_INVALID_ARGUMENT, text.data(),
                                text.size());
  return TENON_STATUS_INVALID_ARGUMENT;
}

const KernelTable& kernels() {
  static KernelTable table;
  static const bool added = table.add("test::count", Kernel{&count_call, nullptr}).ok() &&
                            table.add("test::report", Kernel{&report_much, nullptr}).ok();
  REQUIRE(added);
  return table;
}

host::MethodOptions with(const HostLimits& limits) {
  host::MethodOptions options = with_registry();
  options.kernels = &kernels();
  options.limits = limits;
  return options;
}

/// A program that calls the counting kernel, looks at `booleans`, and begins again, for ever.
ProgramBuilder looping(const std::string& booleans) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  builder.constants({booleans});
  const auto all = plan.value(
      constant_tensor(ScalarType::Bool, {static_cast<std::int32_t>(booleans.size())}, 1));
  const auto never = plan.value(bool_value(false));
  plan.instruction(kernel_call(plan.op("test::count", ""), {}));
  plan.instruction(jump_false_call(all, 2));
  plan.instruction(jump_false_call(never, 0));
  return builder;
}
ProgramBuilder looping(std::size_t num_true) { return looping(std::string(num_true, '\1')); }

/// The failure of running `builder` with `limits`.
std::string refusal(const ProgramBuilder& builder, const HostLimits& limits, Error code) {
  num_calls = 0;
  auto method = load_ok(builder, with(limits));
  const Status status = method->execute();
  CHECK(status.error() == code);
  return std::string(status.text());
}

}  // namespace method_limits_test

using namespace method_limits_test;

TEST_CASE("planned memory above its limit is refused before any of it is allocated",
          "[method][limits]") {
  ProgramBuilder builder = chain_of({"a"});
  PlanBuilder plan(*builder.program.execution_plan[0]);
  plan.buffer(100);
  HostLimits limits;
  limits.planned_bytes = 132;
  CHECK(load(builder, with(limits)).ok());
  limits.planned_bytes = 131;
  const auto refused = load(builder, with(limits));
  CHECK(refused.error() == Error::OutOfResources);
  CHECK(refused.text() ==
        "test.pte: method forward: bytes of planned memory: found 132, the limit planned_bytes is "
        "131");
}

TEST_CASE("sizes of planned buffers whose sum does not fit in 64 bits are refused",
          "[method][limits]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  for (int i = 0; i < 3; ++i) plan.buffer(INT64_MAX);
  HostLimits limits;
  limits.planned_bytes = HostLimits::none - 1;
  CHECK_THAT(std::string(load(builder, with(limits)).text()),
             ContainsSubstring("found 18446744073709551615, the limit planned_bytes"));
  // Without a limit the system refuses.
  limits.planned_bytes = HostLimits::none;
  CHECK(load(builder, with(limits)).error() == Error::MemoryAllocationFailed);
}

TEST_CASE("no program is given more planned memory than any model has", "[method][limits]") {
  ProgramBuilder builder;
  builder.plan("forward").buffer(std::int64_t{1} << 50);
  CHECK(load(builder).error() == Error::OutOfResources);
}

TEST_CASE("a run ends after as many instructions as the application permits", "[method][limits]") {
  HostLimits limits;
  limits.instructions = 3 * 5 + 1;
  const std::string text = refusal(looping(1), limits, Error::InvalidProgram);
  CHECK_THAT(text, ContainsSubstring("instruction 0:1: more than 16 instructions were run, the "
                                     "limit instructions"));
  CHECK(num_calls == 6);
  limits.instructions = 0;
  CHECK_THAT(refusal(looping(1), limits, Error::InvalidProgram), ContainsSubstring("0:0"));
  CHECK(num_calls == 0);
}

TEST_CASE("the bytes of conditions are counted, not only the jumps", "[method][limits]") {
  HostLimits limits;
  limits.condition_bytes = 5 * 4096;
  const std::string text = refusal(looping(4096), limits, Error::OutOfResources);
  CHECK(text ==
        "method forward: instruction 0:1: JumpFalseCall: bytes of conditions: found 24576, the "
        "limit condition_bytes is 20480");
  CHECK(num_calls == 6);
  // A list that is false at its end is looked at as long.
  refusal(looping(std::string(4095, '\1') + '\0'), limits, Error::OutOfResources);
  CHECK(num_calls == 6);
}

TEST_CASE("of a condition only what is looked at is counted", "[method][limits]") {
  HostLimits limits;
  limits.condition_bytes = 7;
  refusal(looping('\0' + std::string(4095, '\1')), limits, Error::OutOfResources);
  CHECK(num_calls == 8);
}

TEST_CASE("a method may run again after a limit ended it, with all of its limits",
          "[method][limits]") {
  HostLimits limits;
  limits.condition_bytes = 10;
  auto method = load_ok(looping(5), with(limits));
  for (int run = 0; run < 2; ++run) {
    num_calls = 0;
    CHECK(method->execute().error() == Error::OutOfResources);
    CHECK(num_calls == 3);
  }
}

TEST_CASE("ten million looks at a large condition end at the default limit", "[method][limits]") {
  // 64 KiB a look: without the limit 640 GB would be read.
  CHECK_THAT(refusal(looping(65536), {}, Error::OutOfResources),
             ContainsSubstring("the limit condition_bytes is 268435456"));
  CHECK(num_calls == 4097);
}

TEST_CASE("a run that takes longer than its time is ended between two instructions",
          "[method][limits]") {
  HostLimits limits;
  limits.run_milliseconds = 1;
  limits.instructions = HostLimits::none;
  limits.condition_bytes = HostLimits::none;
  CHECK_THAT(refusal(looping(1), limits, Error::OutOfResources),
             ContainsSubstring("milliseconds of the run: found ") &&
                 ContainsSubstring("the limit run_milliseconds is 1"));
  CHECK(num_calls > 0);
  // Both limits hold at the same time.
  limits.run_milliseconds = 1'000'000'000;
  limits.instructions = 4;
  refusal(looping(1), limits, Error::InvalidProgram);
  CHECK(num_calls == 2);
}

TEST_CASE("a limit in time without the layer that keeps it is refused", "[method][limits]") {
  HostLimits limits;
  limits.run_milliseconds = 1'000'000'000;
  host::MethodOptions options = with(limits);
  options.registry = nullptr;
  const auto refused = load(looping(1), options);
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK(refused.text() ==
        "test.pte: method forward: limits.run_milliseconds needs the layer TimeLimit "
        "(MethodOptions::layers)");
  options.layers.add(host::TimeLimit());
  CHECK(load(looping(1), options).ok());
  // A registry has the layer as well.
  options.registry = &test_registry();
  CHECK(load(looping(1), options).ok());
}

TEST_CASE("a run within its time is not disturbed", "[method][limits]") {
  HostLimits limits;
  limits.run_milliseconds = 1'000'000'000;
  auto method = load_ok(chain_of({"scale"}), with(limits));
  const std::array<float, 4> x{1, 2, 3, 4};
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("a long text of a plugin or a kernel keeps its beginning and its end",
          "[method][limits]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  plan.instruction(kernel_call(plan.op("test::report", ""), {}));
  const std::string text = refusal(builder, {}, Error::InvalidArgument);
  CHECK(text.size() <= host::max_error_text);
  CHECK(text.starts_with("method forward: instruction 0:0: kernel test::report: the first words"));
  CHECK(text.ends_with("xx the last words"));
  CHECK_THAT(text, ContainsSubstring(" bytes) ... "));
}

TEST_CASE("an error text is short, however many long names a program has", "[method][limits]") {
  const std::string name(4000, 'n');
  ProgramBuilder builder;
  auto plan = builder.plan(name);
  for (int i = 0; i < 100; ++i) {
    plan.instruction(kernel_call(plan.op(name + std::to_string(i), name), {}));
  }
  const auto missing = host::Method::load(open_program(builder), name, with_registry());
  CHECK(missing.error() == Error::OperatorMissing);
  CHECK(missing.text().size() <= host::max_error_text);
  CHECK(missing.text().size() > host::max_error_text / 2);

  const auto unknown = load(chain_of({"a"}, name));
  CHECK_FALSE(unknown.ok());
  CHECK(unknown.text().size() <= host::max_error_text);
}

TEST_CASE("a trace keeps as many events as the application permits, and counts the rest",
          "[method][limits]") {
  host::Trace trace(10);
  HostLimits limits;
  limits.instructions = 100;
  auto options = with(limits);
  options.layers.add(trace);
  CHECK_FALSE(load_ok(looping(1), options)->execute().ok());
  CHECK(trace.size() == 10);
  CHECK(trace.dropped() == 91);  // 100 instructions and the run itself.
  CHECK_THAT(trace.json(), ContainsSubstring("\"dropped\":\"91\""));
}
