// SPDX-License-Identifier: MIT
//
// Results of kernels that runs copy: several of one kernel, in loops, in another order in memory.
// What delegates give is tested with GraphBackend, which has some.
#include <cstdint>
#include <cstring>
#include <future>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tenon/host/async.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "unit/host/loader/method/method_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::Kernel;
using host::KernelTable;

namespace intermediates_test {
namespace {

/// `test::count` writes 1, 2, ... to each tensor of its last argument, in memory order, and stops
/// being willing at `fails_at` calls. `test::again` makes a condition true until it ran 3 times.
struct Kernels {
  Kernels() {
    REQUIRE(table.add("test::count", Kernel{&count, this}).ok());
    REQUIRE(table.add("test::again", Kernel{&again, this}).ok());
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  [[nodiscard]] host::MethodOptions options() const {
    auto out = with_registry();
    out.kernels = &table;
    return out;
  }

  KernelTable table;
  float next = 1;
  int calls = 0;
  int fails_at = -1;

 private:
  static void fill(Kernels& self, tenon_tensor& tensor) {
    const std::size_t numel = TensorView(tensor).numel();
    for (std::size_t i = 0; i < numel; ++i) {
      std::memcpy(static_cast<std::byte*>(tensor.dl.data) + i * sizeof(float), &self.next,
                  sizeof(float));
      self.next += 1;
    }
  }
  static tenon_status count(void* object, const tenon_execution_context*, tenon_value* const* args,
                            std::uint32_t num_args) {
    auto& self = *static_cast<Kernels*>(object);
    if (self.calls++ == self.fails_at) return TENON_STATUS_INTERNAL;
    const tenon_value& last = *args[num_args - 1];
    if (last.kind == TENON_VALUE_TENSOR) {
      fill(self, *last.as.tensor);
    } else {
      const auto* const tensors = static_cast<const tenon_value* const*>(last.as.span.data);
      for (std::uint64_t i = 0; i < last.as.span.size; ++i) fill(self, *tensors[i]->as.tensor);
    }
    return TENON_STATUS_OK;
  }
  static tenon_status again(void* object, const tenon_execution_context*, tenon_value* const* args,
                            std::uint32_t) {
    auto& self = *static_cast<Kernels*>(object);
    args[0]->as.boolean = self.calls % 3 == 0;
    return TENON_STATUS_OK;
  }
};

std::vector<float> floats_of(const host::IntermediateTensor& tensor) {
  std::vector<float> out(tensor.data.size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), tensor.data.data(), tensor.data.size());
  return out;
}

std::vector<std::size_t> all_of(host::Method& method) {
  const auto known = method.intermediates();
  INFO(known.text());
  REQUIRE(known.ok());
  std::vector<std::size_t> out(known->size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// One call of `test::count` for a tensor [2, 2] whose first dimension is the innermost, and one
/// for a list of two tensors [2].
ProgramBuilder two_calls() {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(64);
  auto turned = planned_tensor(ScalarType::Float, {2, 2}, memory, 0);
  turned.dim_order = {1, 0};
  const auto matrix = plan.value(std::move(turned));
  const auto first = plan.value(planned_tensor(ScalarType::Float, {2}, memory, 16));
  const auto second = plan.value(planned_tensor(ScalarType::Float, {2}, memory, 32));
  const auto list = plan.value(tensor_list({first, second}));
  const auto op = plan.op("test::count", "");
  plan.instruction(kernel_call(op, {matrix, matrix}));
  plan.instruction(kernel_call(op, {first, second, list}));
  return builder;
}

}  // namespace

TEST_CASE("each result of a kernel is given, with elements in the order of the dimensions",
          "[method][intermediates]") {
  Kernels kernels;
  const auto method = load_ok(two_calls(), kernels.options());
  const auto known = method->intermediates();
  REQUIRE(known.ok());
  REQUIRE(known->size() == 3);
  CHECK((*known)[0].name == "test::count");
  CHECK_FALSE((*known)[0].delegate);
  CHECK((*known)[0].debug_handles.empty());
  CHECK((*known)[1].handle == 1);
  CHECK((*known)[2].handle == 1);
  CHECK((*known)[2].result == 1);

  REQUIRE(method->record_intermediates(all_of(*method)).ok());
  REQUIRE(method->execute().ok());
  const auto recorded = method->recorded_intermediates();
  REQUIRE(recorded.size() == 3);
  CHECK(recorded[0].shape == std::vector<std::int64_t>{2, 2});
  CHECK(floats_of(recorded[0]) == std::vector<float>{1, 3, 2, 4});
  CHECK(floats_of(recorded[1]) == std::vector<float>{5, 6});
  CHECK(floats_of(recorded[2]) == std::vector<float>{7, 8});
}

TEST_CASE("a step in a loop gives a tensor each time", "[method][intermediates]") {
  Kernels kernels;
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  const auto x = plan.value(planned_tensor(ScalarType::Float, {1}, memory, 0));
  const auto done = plan.value(bool_value(false));
  const auto count = plan.op("test::count", "");
  const auto again = plan.op("test::again", "");
  plan.instruction(kernel_call(count, {x, x}));
  plan.instruction(kernel_call(again, {done}));
  plan.instruction(jump_false_call(done, 0));
  const auto method = load_ok(builder, kernels.options());
  REQUIRE(method->record_intermediates(all_of(*method)).ok());
  REQUIRE(method->execute().ok());
  const auto recorded = method->recorded_intermediates();
  REQUIRE(recorded.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(recorded[i].intermediate == 0);
    CHECK(floats_of(recorded[i]) == std::vector<float>{static_cast<float>(i) + 1});
  }
}

TEST_CASE("after a run that failed there is what was computed before", "[method][intermediates]") {
  Kernels kernels;
  const auto method = load_ok(two_calls(), kernels.options());
  REQUIRE(method->record_intermediates(all_of(*method)).ok());
  kernels.fails_at = 1;
  CHECK(method->execute().error() == Error::Internal);
  CHECK(method->recorded_intermediates().size() == 1);
  REQUIRE(method->execute().ok());
  CHECK(method->recorded_intermediates().size() == 3);
}

TEST_CASE("a run copies no more bytes than the limit", "[method][intermediates]") {
  Kernels kernels;
  auto options = kernels.options();
  options.limits.intermediate_bytes = 24;
  const auto method = load_ok(two_calls(), std::move(options));
  const auto all = all_of(*method);
  REQUIRE(method->record_intermediates(all).ok());
  for (int run = 0; run < 2; ++run) {
    const Status status = method->execute();
    CHECK(status.error() == Error::OutOfResources);
    CHECK_THAT(std::string(status.text()),
               ContainsSubstring("method forward: intermediate 2 (test::count): bytes of recorded "
                                 "tensors: found 32, the limit intermediate_bytes is 24"));
    CHECK(method->recorded_intermediates().size() == 2);
  }
  CHECK(host::detail::state_of(*method).run != nullptr);
  REQUIRE(method->record_intermediates({}).ok());
  CHECK(host::detail::state_of(*method).run == nullptr);
  CHECK(method->execute().ok());
}

TEST_CASE("runs are recorded with a trace, when they can be cancelled, and asynchronously",
          "[method][intermediates][threads]") {
  Kernels kernels;
  host::Trace trace;
  const auto executor = host::ThreadExecutor::create(1);
  REQUIRE(executor.ok());
  auto options = kernels.options();
  options.layers.add(trace);
  options.layers.add(host::Cancellation());
  options.layers.add(host::Async((*executor)->executor()));
  const auto method = load_ok(two_calls(), std::move(options));
  REQUIRE(method->record_intermediates(std::vector<std::size_t>{1}).ok());
  REQUIRE(method->execute().ok());
  REQUIRE(method->recorded_intermediates().size() == 1);
  CHECK(trace.size() != 0);
  std::promise<Status> done;
  REQUIRE(method->execute_async([&](Status outcome) { done.set_value(std::move(outcome)); }).ok());
  CHECK(done.get_future().get().ok());
  REQUIRE(method->recorded_intermediates().size() == 1);
  CHECK(floats_of(method->recorded_intermediates()[0]) == std::vector<float>{13, 14});
}

}  // namespace intermediates_test
