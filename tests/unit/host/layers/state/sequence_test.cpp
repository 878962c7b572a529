// SPDX-License-Identifier: MIT
//
// States of methods that go back, branch and are stored. The model of most tests has a cache that
// is indexed by a position, and a sum that each run changes as a whole.
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"
#include "tenon/host/sequence.hpp"

using namespace tenon;
using namespace tenon::test;
using host::Kernel;
using host::KernelTable;
using host::Method;
using host::RewindBy;
using host::Sequence;
using host::SequenceOptions;

namespace sequence_test {
namespace {

constexpr std::int64_t num_places = 512;
constexpr std::int64_t width = 8;

template <class T>
T* data_of(const tenon_value& value) {
  return static_cast<T*>(value.as.tensor->dl.data);
}

/// `test::step` (x, position, cache, sum, y): writes x to the cache's place, adds to the sum, and
/// computes y of all places up to the position and of the sum. Fails at the call `fails_at`, after
/// it has written.
struct Kernels {
  Kernels() {
    REQUIRE(table.add("test::step.out", Kernel{&step, this}).ok());
    REQUIRE(table.add("test::forget", Kernel{&forget, this}).ok());
    REQUIRE(table.add("test::look", Kernel{&look, this}).ok());
    for (const char* name : {"aten::add.out", "aten::mul.out"}) {
      REQUIRE(table.add(name, Kernel{name[6] == 'a' ? &add : &mul, this}).ok());
    }
    REQUIRE(table.add("dim_order_ops::_to_dim_order_copy.out", Kernel{&copy_out, this}).ok());
    REQUIRE(table.add("aten::copy_", Kernel{&copy_into, this}).ok());
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  KernelTable table;
  int calls = 0;
  int fails_at = -1;

 private:
  using Args = tenon_value* const*;

  static tenon_status step(void* object, const tenon_execution_context*, Args args, std::uint32_t) {
    auto& self = *static_cast<Kernels*>(object);
    const auto* const x = data_of<float>(*args[0]);
    const std::int64_t position = *data_of<std::int64_t>(*args[1]);
    auto* const cache = data_of<float>(*args[2]);
    auto* const sum = data_of<float>(*args[3]);
    auto* const y = data_of<float>(*args[4]);
    for (std::int64_t i = 0; i < width; ++i) {
      cache[position * width + i] = x[i];
      sum[i] = sum[i] * 0.9f + x[i];
    }
    if (self.calls++ == self.fails_at) return TENON_STATUS_INTERNAL;
    for (std::int64_t i = 0; i < width; ++i) {
      y[i] = sum[i];
      for (std::int64_t place = 0; place <= position; ++place) {
        y[i] = y[i] * 0.99f + cache[place * width + i] / static_cast<float>(place + 1);
      }
    }
    return TENON_STATUS_OK;
  }
  /// Sets what it gets to 0, so that the sum is of no more than one run.
  static tenon_status forget(void*, const tenon_execution_context*, Args args, std::uint32_t) {
    std::memset(args[0]->as.tensor->dl.data, 0, args[0]->as.tensor->nbytes);
    return TENON_STATUS_OK;
  }
  static tenon_status look(void*, const tenon_execution_context*, Args, std::uint32_t) {
    return TENON_STATUS_OK;
  }
  /// The second operand may be one number.
  template <class Compute>
  static tenon_status each(Args args, std::uint32_t count, const Compute& compute) {
    const bool is_one = TensorView(*args[1]->as.tensor).numel() == 1;
    for (std::size_t i = 0; i < 4; ++i) {
      data_of<float>(*args[count - 1])[i] =
          compute(data_of<float>(*args[0])[i], data_of<float>(*args[1])[is_one ? 0 : i]);
    }
    return TENON_STATUS_OK;
  }
  static tenon_status add(void*, const tenon_execution_context*, Args args, std::uint32_t count) {
    return each(args, count, [](float a, float b) { return a + b; });
  }
  static tenon_status mul(void*, const tenon_execution_context*, Args args, std::uint32_t count) {
    return each(args, count, [](float a, float b) { return a * b; });
  }
  /// Of one number, whose type becomes Float.
  static tenon_status copy_out(void*, const tenon_execution_context*, Args args,
                               std::uint32_t count) {
    const TensorView from(*args[0]->as.tensor);
    REQUIRE(from.numel() == 1);
    data_of<float>(*args[count - 1])[0] = from.scalar_type() == ScalarType::Long
                                              ? static_cast<float>(*data_of<std::int64_t>(*args[0]))
                                          : from.scalar_type() == ScalarType::Double
                                              ? static_cast<float>(*data_of<double>(*args[0]))
                                              : *data_of<float>(*args[0]);
    return TENON_STATUS_OK;
  }
  static tenon_status copy_into(void*, const tenon_execution_context*, Args args, std::uint32_t) {
    std::memcpy(data_of<float>(*args[0]), data_of<float>(*args[1]), args[0]->as.tensor->nbytes);
    return TENON_STATUS_OK;
  }
};

/// The state is the cache and the sum, or, when it is forgotten in each run, the cache.
ProgramBuilder model(bool forgets = false) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const std::int32_t cache_bytes = num_places * width * 4;
  const auto memory = plan.buffer(cache_bytes + 256);
  const auto place = [&](ScalarType type, std::vector<std::int32_t> sizes, std::int32_t at) {
    return planned_tensor(type, std::move(sizes), memory, static_cast<std::uint32_t>(at));
  };
  const auto x = plan.input(place(ScalarType::Float, {width}, cache_bytes));
  const auto position = plan.input(place(ScalarType::Long, {1}, cache_bytes + 64));
  const auto cache = plan.value(place(ScalarType::Float, {num_places, width}, 0));
  const auto sum = plan.value(place(ScalarType::Float, {width}, cache_bytes + 128));
  const auto y = plan.output(place(ScalarType::Float, {width}, cache_bytes + 192));
  // A view of the input, which therefore is copied into the plan's memory when it is set.
  const auto view = plan.value(place(ScalarType::Float, {2, width / 2}, cache_bytes));
  plan.instruction(kernel_call(plan.op("test::look", ""), {view}));
  if (forgets) plan.instruction(kernel_call(plan.op("test::forget", ""), {sum}));
  plan.instruction(kernel_call(plan.op("test::step", "out"), {x, position, cache, sum, y, y}));
  return builder;
}

std::unique_ptr<Method> load_ok(const ProgramBuilder& builder, const Kernels& kernels) {
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  auto program = host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
  REQUIRE(program.ok());
  auto method = Method::load(*std::move(program), "forward", {.kernels = &kernels.table});
  INFO(method.text());
  REQUIRE(method.ok());
  return *std::move(method);
}

std::unique_ptr<Sequence> sequence_of(Method& method, SequenceOptions options = {}) {
  options.position_input = 1;
  auto sequence = Sequence::create(method, options);
  INFO(sequence.text());
  REQUIRE(sequence.ok());
  return *std::move(sequence);
}

Status run(Method& method, Sequence& sequence, int token, std::vector<float>& y) {
  std::array<float, width> x{};
  for (std::size_t i = 0; i < width; ++i) {
    x[i] = static_cast<float>(token) / 7 + static_cast<float>(i);
  }
  static const std::vector<std::int64_t> sizes{width};
  TENON_RETURN_IF_ERROR(method.set_input(
      0, host::InputTensor{ScalarType::Float, sizes, std::as_bytes(std::span(x))}));
  TENON_RETURN_IF_ERROR(sequence.execute());
  TENON_TRY(const auto output, method.output<float>(0));
  y.assign(output.begin(), output.end());
  return ok();
}

/// The outputs of runs with these tokens, one after the other.
std::vector<float> decode(Method& method, Sequence& sequence, int first, int end) {
  std::vector<float> all, y;
  for (int token = first; token < end; ++token) {
    const Status outcome = run(method, sequence, token, y);
    INFO(outcome.text());
    REQUIRE(outcome.ok());
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}

std::vector<float> last(const std::vector<float>& of, int tokens) {
  return {of.end() - tokens * width, of.end()};
}

}  // namespace

TEST_CASE("256 tokens, back by 100, and again: equal bits", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  const auto sequence = sequence_of(*method);
  const auto all = decode(*method, *sequence, 0, 256);
  CHECK(sequence->position() == 256);
  REQUIRE(sequence->rewind(100).ok());
  CHECK(sequence->position() == 156);
  CHECK(decode(*method, *sequence, 156, 256) == last(all, 100));
  // Another way, and back to the first one.
  REQUIRE(sequence->rewind(100).ok());
  CHECK(decode(*method, *sequence, 1156, 1256) != last(all, 100));
  REQUIRE(sequence->rewind(256).ok());
  CHECK(decode(*method, *sequence, 0, 256) == all);
}

TEST_CASE("the state is what a run reads before it writes it", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  // The cache and the sum; neither inputs nor the output.
  const auto sequence = sequence_of(*method);
  CHECK(sequence->num_bytes() == num_places * width * 4 + width * 4);
}

TEST_CASE("a fork goes its own way and disturbs nothing", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  for (const RewindBy by : {RewindBy::Journal, RewindBy::Position}) {
    const auto one = sequence_of(*method, {.rewind_by = by});
    REQUIRE(one->clear().ok());
    const auto expected = decode(*method, *one, 0, 60);
    REQUIRE(one->clear().ok());
    CHECK(decode(*method, *one, 0, 30) ==
          std::vector<float>(expected.begin(), expected.begin() + 30 * width));
    const auto forked = one->fork();
    REQUIRE(forked.ok());
    CHECK((*forked)->position() == 30);
    // In turns, each time from the other's memory to its own.
    std::vector<float> of_one, of_other, y;
    for (int i = 30; i < 60; ++i) {
      REQUIRE(run(*method, *one, i, y).ok());
      of_one.insert(of_one.end(), y.begin(), y.end());
      REQUIRE(run(*method, **forked, i + 500, y).ok());
      of_other.insert(of_other.end(), y.begin(), y.end());
    }
    CHECK(of_one == last(expected, 30));
    CHECK(of_other != of_one);
    if (by == RewindBy::Journal) {
      REQUIRE((*forked)->rewind(60).ok());
      CHECK(decode(*method, **forked, 0, 60) == expected);
    }
    REQUIRE((*forked)->clear().ok());
    CHECK(decode(*method, **forked, 0, 60) == expected);
  }
}

TEST_CASE("a state is taken up by another method of the same program", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  const auto sequence = sequence_of(*method);
  static_cast<void>(decode(*method, *sequence, 0, 40));
  const auto saved = sequence->save();
  REQUIRE(saved.ok());
  const auto expected = decode(*method, *sequence, 40, 80);

  const auto other_method = load_ok(model(), kernels);
  const auto other = sequence_of(*other_method);
  static_cast<void>(decode(*other_method, *other, 7, 9));
  REQUIRE(other->restore(*saved).ok());
  CHECK(other->position() == 40);
  CHECK(decode(*other_method, *other, 40, 80) == expected);
  CHECK(other->rewind(41).error() == Error::NotFound);

  const auto different = load_ok(model(true), kernels);
  const auto refused = sequence_of(*different)->restore(*saved);
  CHECK(refused.error() == Error::InvalidState);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("another program"));
  auto damaged = *saved;
  damaged[damaged.size() / 2] ^= std::byte{1};
  CHECK(other->restore(damaged).error() == Error::InvalidExternalData);
  CHECK(other->restore(std::span(damaged).first(50)).error() == Error::InvalidExternalData);
  CHECK(other->restore({}).error() == Error::InvalidExternalData);
  CHECK(other->position() == 80);
  const auto small = sequence_of(*other_method, {.capacity = 30});
  CHECK(small->restore(*saved).error() == Error::InvalidState);
}

TEST_CASE("a run that fails leaves a sequence as it was", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  const auto sequence = sequence_of(*method);
  const auto expected = decode(*method, *sequence, 0, 20);
  REQUIRE(sequence->clear().ok());
  static_cast<void>(decode(*method, *sequence, 0, 10));
  kernels.fails_at = kernels.calls;
  std::vector<float> y;
  CHECK(run(*method, *sequence, 999, y).error() == Error::Internal);
  CHECK(sequence->position() == 10);
  CHECK(decode(*method, *sequence, 10, 20) == last(expected, 10));
}

TEST_CASE("what cannot be reached is refused with the places that can", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  const auto sequence = sequence_of(*method, {.capacity = 8});
  static_cast<void>(decode(*method, *sequence, 0, 1));
  REQUIRE(sequence->execute(5).ok());
  CHECK(sequence->position() == 6);
  CHECK(sequence->capacity() == 8);
  CHECK_THAT(std::string(sequence->rewind(2).text()),
             ContainsSubstring("rewind by 2 tokens to 4, which is in the midst of the run from 1 "
                               "to 6"));
  CHECK(sequence->rewind(7).error() == Error::InvalidArgument);
  CHECK(sequence->execute(3).error() == Error::OutOfResources);
  CHECK(sequence->position() == 6);
  REQUIRE(sequence->rewind(5).ok());
  CHECK(sequence->position() == 1);
  REQUIRE(sequence->rewind(0).ok());

  const auto forgetful = sequence_of(*method, {.journal_bytes = 500});
  static_cast<void>(decode(*method, *forgetful, 0, 20));
  CHECK(forgetful->num_journal_bytes() <= 500);
  const Status far = forgetful->rewind(20);
  CHECK(far.error() == Error::NotFound);
  CHECK_THAT(std::string(far.text()), ContainsSubstring("the journal begins at "));
  CHECK(forgetful->rewind(1).ok());
}

TEST_CASE("the position alone goes back where the program reads no further", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(true), kernels);
  const auto sequence = sequence_of(*method, {.rewind_by = RewindBy::Position});
  const auto all = decode(*method, *sequence, 0, 256);
  REQUIRE(sequence->rewind(100).ok());
  CHECK(decode(*method, *sequence, 156, 256) == last(all, 100));
  // In the midst of a run, too.
  REQUIRE(sequence->rewind(1).ok());
  REQUIRE(sequence->execute(1).ok());
  CHECK(sequence->num_journal_bytes() == 0);
}

TEST_CASE("the position has to be an input of one integer", "[sequence]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  for (const std::size_t index : {std::size_t{0}, std::size_t{2}}) {
    CHECK(Sequence::create(*method, {.position_input = index}).error() == Error::InvalidArgument);
  }
}

TEST_CASE("a program of ExecuTorch's exporter with a mutable buffer needs no backend's help",
          "[sequence]") {
  Kernels kernels;
  const auto program = host::Program::open(std::filesystem::path(TENON_TEST_FIXTURES) /
                                           "mutable_buffer_portable" / "model.pte");
  REQUIRE(program.ok());
  auto method = Method::load(*program, "forward", {.kernels = &kernels.table});
  INFO(method.text());
  REQUIRE(method.ok());
  const auto sequence = Sequence::create(**method);
  REQUIRE(sequence.ok());
  CHECK((*sequence)->num_bytes() == 16);
  const std::array<float, 4> x{1, 2, 3, 4};
  static const std::vector<std::int64_t> sizes{4};
  REQUIRE(
      (*method)
          ->set_input(0, host::InputTensor{ScalarType::Float, sizes, std::as_bytes(std::span(x))})
          .ok());
  std::vector<std::vector<float>> outputs;
  const auto step = [&] {
    REQUIRE((*sequence)->execute().ok());
    const auto output = (*method)->output<float>(0);
    REQUIRE(output.ok());
    return std::vector<float>(output->begin(), output->end());
  };
  for (int i = 0; i < 5; ++i) outputs.push_back(step());
  CHECK(outputs[0] == std::vector<float>{2, 4, 6, 8});
  CHECK(outputs[1] != outputs[0]);
  REQUIRE((*sequence)->rewind(3).ok());
  for (std::size_t i = 2; i < 5; ++i) CHECK(step() == outputs[i]);
}

}  // namespace sequence_test
