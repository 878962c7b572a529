// SPDX-License-Identifier: MIT
//
// States of methods that go back, branch and are stored.
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
#include "unit/host/layers/state/step_model.hpp"

using namespace tenon;
using namespace tenon::test;
using namespace tenon::test::step_model;
using host::Method;
using host::RewindBy;
using host::Sequence;
using host::SequenceOptions;

namespace sequence_test {
namespace {

std::unique_ptr<Sequence> sequence_of(Method& method, SequenceOptions options = {}) {
  options.position_input = 1;
  auto sequence = Sequence::create(method, options);
  INFO(sequence.text());
  REQUIRE(sequence.ok());
  return *std::move(sequence);
}

Status run(Method& method, Sequence& sequence, int token, std::vector<float>& y) {
  const std::array<float, width> x = x_of(token);
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
