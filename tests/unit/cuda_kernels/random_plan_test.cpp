// SPDX-License-Identifier: MIT
#include "recorder.hpp"

using namespace kernel_test;

TEST_CASE("random numbers move the state on by what they used", "[cuda_kernels]") {
  auto* const state = reinterpret_cast<kernels::RandomState*>(std::uintptr_t{0x7000});
  const auto draws = [&](auto draw, const char* function, unsigned grid, std::uint64_t blocks) {
    CAPTURE(function, grid);
    Recorder recorder;
    REQUIRE(draw(recorder.launcher()).ok());
    REQUIRE(recorder.calls.size() == 2);
    CHECK(recorder.calls[0].function == function);
    CHECK(recorder.calls[0].grid == std::array<unsigned, 3>{grid, 1, 1});
    CHECK(recorder.calls[0].block == std::array<unsigned, 3>{256, 1, 1});
    CHECK(recorder.calls[0].random.state == state);
    CHECK(recorder.calls[1].function == "tenon_random_advance");
    CHECK(recorder.calls[1].grid == std::array<unsigned, 3>{1, 1, 1});
    CHECK(recorder.calls[1].block == std::array<unsigned, 3>{1, 1, 1});
    CHECK(recorder.calls[1].parameters == 2);
    CHECK(recorder.calls[1].state == state);
    CHECK(recorder.calls[1].blocks == blocks);
    for (const auto& call : recorder.calls) CHECK(listed(call.function));
  };
  const auto rand = [&](ScalarType type, std::int64_t count) {
    return [=](const kernels::Launcher& launcher) {
      return kernels::rand(tensor_at(0x1000, type, {count}), state, launcher);
    };
  };
  draws(rand(ScalarType::Float, 1), "tenon_rand", 1, 1);
  draws(rand(ScalarType::Half, 1024), "tenon_rand", 1, 256);
  draws(rand(ScalarType::BFloat16, 1025), "tenon_rand", 2, 257);
  draws(rand(ScalarType::Double, 1025), "tenon_rand", 3, 513);
  draws(
      [&](const kernels::Launcher& launcher) {
        const Sizes size = {3, 5};
        return kernels::randint_low_out(tensor_at(0x1000, ScalarType::Long, size), -4, 9, size,
                                        state, launcher);
      },
      "tenon_randint", 1, 8);
  Recorder recorder;
  CHECK(kernels::rand(tensor_at(0, ScalarType::Float, {0}), state, recorder.launcher()).ok());
  CHECK(recorder.calls.empty());
  CHECK(kernels::initial_random_state(5).seed == 5);
  CHECK(kernels::initial_random_state(5).drawn == 0);
}

TEST_CASE("integers are drawn from the whole range of their type and no other", "[cuda_kernels]") {
  auto* const state = reinterpret_cast<kernels::RandomState*>(std::uintptr_t{0x7000});
  Recorder recorder;
  const Sizes size = {4};
  const auto draw = [&](ScalarType type, std::int64_t low, std::int64_t high) {
    return kernels::randint_low_out(tensor_at(0x1000, type, size), low, high, size, state,
                                    recorder.launcher());
  };
  constexpr std::int64_t least = INT64_MIN, most = INT64_MAX;
  CHECK(draw(ScalarType::Long, least, most).ok());
  CHECK(recorder.calls[0].random.low == least);
  CHECK(recorder.calls[0].random.range == ~std::uint64_t{0});
  CHECK(draw(ScalarType::Byte, 0, 256).ok());
  CHECK(draw(ScalarType::Char, -128, 128).ok());
  fails(draw(ScalarType::Byte, 0, 257), Error::InvalidArgument, "Byte holds (0 to 255)");
  fails(draw(ScalarType::Byte, -1, 5), Error::InvalidArgument, "found -1 to 4");
  fails(draw(ScalarType::Int, 0, most), Error::InvalidArgument, "Int holds");
  fails(draw(ScalarType::Long, 3, 3), Error::InvalidArgument, "expected low below high");
  fails(draw(ScalarType::Float, 0, 3), Error::NotSupported, "found Float");
  const std::size_t before = recorder.calls.size();
  const Sizes other = {5};
  fails(kernels::randint_low_out(tensor_at(0, ScalarType::Long, size), 0, 2, other, state,
                                 recorder.launcher()),
        Error::InvalidArgument, "out: expected sizes");
  fails(kernels::rand(tensor_at(0, ScalarType::Int, {4}), state, recorder.launcher()),
        Error::NotSupported, "dtype: expected Half, BFloat16, Float or Double, found Int");
  fails(kernels::rand(tensor_at(0, ScalarType::Float, {4}, {2}), state, recorder.launcher()),
        Error::NotSupported, "contiguous tensor");
  fails(kernels::rand(tensor_at(0, ScalarType::Float, {4}), nullptr, recorder.launcher()),
        Error::InvalidArgument, "state: expected an address");
  CHECK(recorder.calls.size() == before);
}
