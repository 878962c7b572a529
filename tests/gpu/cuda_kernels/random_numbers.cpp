// SPDX-License-Identifier: MIT
#include <cmath>

#include "gpu.hpp"
#include "philox.hpp"
#include "reference.hpp"

namespace gpu_test {
namespace {

using kernel_test::Sizes;
using kernel_test::tensor_at;
using tenon::ScalarType;

constexpr std::uint64_t seed = 0x123456789abcdefu;

/// The state on the device.
struct State {
  Memory memory{std::vector<kernels::RandomState>{kernels::initial_random_state(seed)}};

  kernels::RandomState* pointer() const {
    return reinterpret_cast<kernels::RandomState*>(static_cast<std::uintptr_t>(memory.address()));
  }
  std::uint64_t drawn() const { return memory.read<kernels::RandomState>()[0].drawn; }
};

void expect(bool right, const std::string& what) {
  if (!right) fail(what);
}

/// Two draws from one state, equal to the CPU's generator bit for bit.
void compare(ScalarType type, std::int64_t numel) {
  const std::string what =
      "random " + std::string(tenon::name_of(type)) + ", " + std::to_string(numel) + " elements";
  const bool integers = type != ScalarType::Half && type != ScalarType::BFloat16 &&
                        type != ScalarType::Float && type != ScalarType::Double;
  const std::int64_t low = type == ScalarType::Byte ? 3 : -100;
  const std::int64_t high = 101;
  const auto id = static_cast<std::int32_t>(type);
  const std::int64_t per_block =
      integers ? kernels::randint_per_block : kernels::rand_per_block(id);
  const auto blocks = static_cast<std::uint64_t>((numel + per_block - 1) / per_block);
  const State state;
  for (std::uint64_t time = 0; time < 2; ++time) {
    const std::size_t nbytes = static_cast<std::size_t>(numel) * tenon::size_of(type);
    const Memory out(nbytes);
    const Sizes size = {numel};
    const tenon::aoti::ModelTensor tensor = tensor_at(out.address(), type, size);
    const tenon::Status status =
        integers
            ? kernels::randint_low_out(tensor, low, high, size, state.pointer(), gpu().launcher())
            : kernels::rand(tensor, state.pointer(), gpu().launcher());
    if (!status.ok()) return fail(what + ": " + std::string(status.text()));
    std::vector<unsigned char> expected(nbytes);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const auto first = static_cast<std::int64_t>(block) * per_block;
      const auto count = static_cast<int>(std::min(per_block, numel - first));
      const kernels::RandomWords words = kernels::random_block(seed, time * blocks + block);
      if (integers) {
        kernels::write_integers(words, id, low, static_cast<std::uint64_t>(high - low),
                                expected.data(), first, count);
      } else {
        kernels::write_uniform(words, id, expected.data(), first, count);
      }
    }
    expect(out.read<unsigned char>() == expected, what + ": other numbers than on the CPU");
    expect(state.drawn() == (time + 1) * blocks, what + ": the state did not move on");
  }
}

/// Mean and variance of many numbers, which detect a mistake shared with the CPU.
void check_distribution() {
  constexpr std::int64_t count = 1 << 20;
  const State state;
  const Memory out(count * 4);
  const tenon::Status status = kernels::rand(tensor_at(out.address(), ScalarType::Float, {count}),
                                             state.pointer(), gpu().launcher());
  if (!status.ok()) return fail(std::string(status.text()));
  double sum = 0, squares = 0;
  bool inside = true;
  for (const float value : out.read<float>()) {
    inside = inside && value >= 0 && value < 1;
    sum += double{value};
    squares += double{value} * double{value};
  }
  const double mean = sum / count;
  expect(inside, "rand: a number outside of [0, 1)");
  expect(std::abs(mean - 0.5) < 0.002, "rand: mean " + std::to_string(mean));
  expect(std::abs(squares / count - mean * mean - 1.0 / 12) < 0.001, "rand: variance");
}

/// A graph that is replayed draws new numbers each time.
void check_replay() {
  constexpr std::int64_t count = 1000;
  const State state;
  const Memory out(count * 4);
  gpu().replay(3, [&](const kernels::Launcher& launcher) {
    const tenon::Status status = kernels::rand(tensor_at(out.address(), ScalarType::Float, {count}),
                                               state.pointer(), launcher);
    if (!status.ok()) fail(std::string(status.text()));
  });
  expect(state.drawn() == 3 * count / 4, "a replayed graph: the state did not move on");
  const kernels::RandomWords third = kernels::random_block(seed, 2 * count / 4);
  expect(out.read<float>()[0] == kernels::uniform_float(third.word[0]),
         "a replayed graph: not the third numbers");
}

}  // namespace

void test_random_numbers() {
  for (const ScalarType type :
       {ScalarType::Half, ScalarType::BFloat16, ScalarType::Float, ScalarType::Double,
        ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int, ScalarType::Long}) {
    for (const std::int64_t numel : {0, 1, 3, 255, 1024, 1025, 100003}) compare(type, numel);
  }
  check_distribution();
  check_replay();
}

}  // namespace gpu_test
