// SPDX-License-Identifier: MIT
//
// The count of changes that plugins get (tenon.private.changes/1), seen by kernels of the
// application.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/abi/private/changes.h"
#include "unit/host/layers/async/async_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::Kernel;
using host::KernelTable;

namespace changes_test {

/// Kernels that note the count at each call, and write or not.
struct Observer {
  std::vector<std::uint64_t> counts;
  KernelTable kernels;

  Observer() {
    REQUIRE(kernels.add("test::look", Kernel{&look<false>, this}).ok());
    REQUIRE(kernels.add("test::look_and_count", Kernel{&look<true>, this}).ok());
  }

  /// Takes the first note as 0.
  [[nodiscard]] std::vector<std::uint64_t> take() {
    std::vector<std::uint64_t> out;
    for (const std::uint64_t count : counts) out.push_back(count - counts.front());
    counts.clear();
    return out;
  }

  [[nodiscard]] host::MethodOptions options() const {
    auto out = with_registry();
    out.kernels = &kernels;
    return out;
  }

 private:
  /// `counts_itself`: as a plugin that would increase the count for each change.
  template <bool counts_itself>
  static tenon_status look(void* self, const tenon_execution_context* context, tenon_value* const*,
                           std::uint32_t) {
    const auto* const table = static_cast<const tenon_changes_v1*>(
        context->host->get_extension(context->host, TENON_EXTENSION_CHANGES));
    tenon_changes* const changes = table->get_changes(context);
    static_cast<Observer*>(self)->counts.push_back(changes->count);
    if (counts_itself) changes->counted = 1;
    return TENON_STATUS_OK;
  }
};

/// A program of kernels alone: operators 0 and 1 are Observer's, value 0 is a number, and value 1 a
/// tensor.
struct KernelProgram {
  KernelProgram() : plan(builder.plan("forward")) {
    const auto memory = plan.buffer(16);
    number = plan.value(int_value(1));
    tensor = plan.value(planned_tensor(ScalarType::Float, {4}, memory, 0));
    plan.op("test::look", "");
    plan.op("test::look_and_count", "");
  }

  ProgramBuilder builder;
  PlanBuilder plan;
  std::int32_t number = 0, tensor = 0;
};

constexpr std::int32_t look = 0, look_and_count = 1;

using Counts = std::vector<std::uint64_t>;

}  // namespace changes_test
using namespace changes_test;

TEST_CASE("a call after which nothing is counted may have changed something", "[method]") {
  Observer observer;
  KernelProgram program;
  for (const std::int32_t op : {look, look, look_and_count, look_and_count, look}) {
    program.plan.instruction(kernel_call(op, {program.number}));
  }
  auto method = load_ok(program.builder, observer.options());
  REQUIRE(method->execute().ok());
  CHECK(observer.take() == Counts{0, 1, 2, 2, 2});
  REQUIRE(method->execute().ok());
  CHECK(observer.take() == Counts{0, 1, 2, 2, 2});
}

TEST_CASE("moves, frees, inputs and outputs are counted", "[method]") {
  Observer observer;
  KernelProgram program;
  const auto other = program.plan.value(int_value(2));
  const auto in = program.plan.input(planned_tensor(ScalarType::Float, {4}, 1, 0));
  const auto observe = [&] {
    program.plan.instruction(kernel_call(look_and_count, {program.number}));
  };
  observe();
  program.plan.instruction(move_call(other, program.number));
  observe();
  program.plan.instruction(free_call(program.tensor));
  observe();
  static_cast<void>(in);
  auto unplanned = planned_tensor(ScalarType::Float, {4}, 1, 0);
  unplanned.allocation_info.reset();
  static_cast<void>(program.plan.output(std::move(unplanned)));
  auto method = load_ok(program.builder, observer.options());
  const std::array<float, 4> x{};
  std::array<std::byte, 16> bytes{};
  REQUIRE(method->set_output(0, bytes).ok());
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  REQUIRE(method->execute().ok());
  REQUIRE(set_floats(*method, 0, x, {4}).ok());
  REQUIRE(method->execute().ok());
  CHECK(observer.take() == Counts{0, 1, 2, 3, 4, 5});
  REQUIRE(method->execute().ok());
  REQUIRE(method->set_output(0, bytes).ok());
  REQUIRE(method->execute().ok());
  // A move and a free in each run, and the output between them.
  CHECK(observer.take() == Counts{0, 1, 2, 3, 4, 5});
}

TEST_CASE("a delegate changes something only if it can resize a tensor or write a number",
          "[method]") {
  Observer observer;
  const auto counts_of = [&](bool is_bounded, bool has_moves) {
    KernelProgram program;
    const auto memory = program.plan.buffer(48);
    auto x = planned_tensor(ScalarType::Float, {4}, memory, 0);
    auto y = planned_tensor(ScalarType::Float, {4}, memory, 16);
    if (is_bounded) {
      x.shape_dynamism = y.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
    }
    const auto in = program.plan.value(std::move(x));
    const auto out = program.plan.value(std::move(y));
    const auto segment = program.builder.segment(bytes_of("scale"));
    const auto delegate = program.plan.delegate("Test", schema::DataLocation::SEGMENT, segment);
    for (int i = 0; i < 2; ++i) {
      program.plan.instruction(kernel_call(look_and_count, {program.number}));
      program.plan.instruction(delegate_call(delegate, {in, out}));
    }
    program.plan.instruction(kernel_call(look_and_count, {program.number}));
    // This one moves nothing; another could put any value in the place of an argument.
    if (has_moves) program.plan.instruction(move_call(program.number, program.number));
    auto method = load_ok(program.builder, observer.options());
    const Status ran = method->execute();
    INFO(ran.text());
    REQUIRE(ran.ok());
    return observer.take();
  };
  CHECK(counts_of(false, false) == Counts{0, 0, 0});
  CHECK(counts_of(true, false) == Counts{0, 1, 2});
  CHECK(counts_of(false, true) == Counts{0, 1, 2});
}

TEST_CASE("what one call counted is not taken for the next one", "[method]") {
  // A delegate that cannot change anything comes after a kernel that counts, and before a kernel
  // that does not.
  Observer observer;
  KernelProgram program;
  const auto memory = program.plan.buffer(32);
  const auto in = program.plan.value(planned_tensor(ScalarType::Float, {4}, memory, 0));
  const auto out = program.plan.value(planned_tensor(ScalarType::Float, {4}, memory, 16));
  const auto segment = program.builder.segment(bytes_of("scale"));
  const auto delegate = program.plan.delegate("Test", schema::DataLocation::SEGMENT, segment);
  program.plan.instruction(kernel_call(look_and_count, {program.number}));
  program.plan.instruction(delegate_call(delegate, {in, out}));
  program.plan.instruction(kernel_call(look, {program.number}));
  program.plan.instruction(kernel_call(look, {program.number}));
  auto method = load_ok(program.builder, observer.options());
  REQUIRE(method->execute().ok());
  CHECK(observer.take() == Counts{0, 0, 1});
}

TEST_CASE("an asynchronous run counts its calls, moves and frees", "[async]") {
  Observer observer;
  KernelProgram program;
  const auto other = program.plan.value(int_value(2));
  const auto memory = program.plan.buffer(32);
  const auto in = program.plan.input(planned_tensor(ScalarType::Float, {4}, memory, 0));
  const auto out = program.plan.output(planned_tensor(ScalarType::Float, {4}, memory, 16));
  const auto delegate = program.plan.delegate("Later", schema::DataLocation::INLINE,
                                              program.builder.inline_blob("copy a"));
  const auto observe = [&](std::int32_t op) {
    program.plan.instruction(kernel_call(op, {program.number}));
  };
  observe(look_and_count);
  program.plan.instruction(delegate_call(delegate, {in, out}));
  observe(look_and_count);
  program.plan.instruction(move_call(other, program.number));
  observe(look_and_count);
  program.plan.instruction(free_call(program.tensor));
  observe(look);
  observe(look_and_count);
  TaskQueue queue;
  auto options = async_options(queue.executor());
  options.kernels = &observer.kernels;
  const auto method = load_ok(program.builder, std::move(options));
  REQUIRE(set_floats(*method, 0, one_to_four, four).ok());
  Outcomes outcomes;
  REQUIRE(method->execute_async(outcomes.completion()).ok());
  queue.run_all();
  REQUIRE(outcomes.all.size() == 1);
  INFO(outcomes.all[0].text());
  REQUIRE(outcomes.all[0].ok());
  CHECK(floats(method->output(0)) == std::vector<float>(one_to_four.begin(), one_to_four.end()));
  CHECK(observer.take() == Counts{0, 1, 2, 3, 4});
}
