// SPDX-License-Identifier: MIT
//
// Times single operators: functions of PyTorch's C shim in libtorch and in CpuAotiBackend, called
// with the same inputs in one process, in turns, on one thread (OMP_NUM_THREADS=1). The least of
// all turns counts, of the time on the processor, and passes over all cases are repeated, so that
// other work on the machine disturbs no case in all its turns. Prints a table in Markdown; exits
// with 1 when the outputs of both differ. `./dev bench-aoti --operators` runs it.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "both_libraries.hpp"

namespace {

using namespace operator_bench;

/// Tensors that a call makes.
using Made = std::array<ModelTensor*, 4>;

struct Operator {
  std::string name;
  /// Of the first output.
  ScalarType type;
  std::function<ShimError(Side, Made&)> call;
  /// Where the call writes to, when it makes no output.
  BothTensors out{};
  std::array<double, 2> least{std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::infinity()};
};

struct Functions {
  void* library;
  TENON_BENCH_FUNCTION(aoti_torch_cpu__adaptive_avg_pool2d, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu__embedding_bag, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu__int_mm_out, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu_adaptive_max_pool2d, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu_avg_pool2d, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu_bmm_out, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu_max_pool2d_with_indices, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu_mkldnn_rnn_layer, tenon::cpu_aoti);
  TENON_BENCH_FUNCTION(aoti_torch_cpu_mm_out, tenon::cpu_aoti);
};

const char* dtype(ScalarType type) {
  if (type == ScalarType::Float) return "float32";
  return type == ScalarType::Half ? "float16" : "bfloat16";
}

/// All cases, and the tensors that these refer to.
class Suite {
 public:
  explicit Suite(void* library) : tensors(library), functions_{library} {
    using enum ScalarType;
    for (const bool transposed : {true, false}) {
      mm(BFloat16, 1, 512, 2048, transposed);
      mm(Half, 1, 512, 2048, transposed);
    }
    mm(BFloat16, 1, 4096, 2048, true);
    mm(Half, 16, 512, 2048, true);
    for (const std::int64_t rows : {1, 8, 32, 128}) int_mm(rows, 512, 2048);
    int_mm(32, 4096, 1024);
    bmm(BFloat16, 12, 1, 64, 512);
    for (const ScalarType type : {Float, Half}) bags(type, 32, 20, 64);
    for (const ScalarType type : {Float, Half}) bags(type, 64, 30, 256);
    const Pooled large{64, 112, 3, 2, 1, 7};
    const Pooled small{128, 28, 2, 2, 0, 1};
    for (const ScalarType type : {Float, BFloat16}) max_pool(type, large, true);
    for (const ScalarType type : {Float, BFloat16}) max_pool(type, small, true);
    max_pool(Float, small, false);
    avg_pool(Float, large);
    avg_pool(Float, small);
    adaptive_pools(Float, large);
    for (const ScalarType type : {Float, BFloat16}) {
      lstm(type, 20, 1, 64, 128);
      lstm(type, 32, 8, 128, 256);
      lstm(type, 8, 32, 256, 512);
    }
  }

  Tensors tensors;
  std::vector<Operator> operators;

 private:
  struct Pooled {
    std::int64_t channels;
    std::int64_t side;
    std::int64_t window;
    std::int64_t stride;
    std::int64_t padding;
    std::int64_t adaptive;
  };

  void mm(ScalarType type, std::int64_t m, std::int64_t k, std::int64_t n, bool transposed) {
    const auto a = tensors.random({m, k}, type);
    const auto b = tensors.random({k, n}, type, transposed ? Shape{1, k} : Shape{n, 1});
    const auto out = tensors.empty({m, n}, type);
    const auto sizes = transposed ? tenon::concat(m, "×", k, " by a transposed ", n, "×", k)
                                  : tenon::concat(m, "×", k, " by ", k, "×", n);
    add(tenon::concat("`mm`, ", dtype(type), ", ", sizes), type, [=, this](Side side, Made&) {
      return functions_.aoti_torch_cpu_mm_out(side, out[side], a[side], b[side]);
    });
    operators.back().out = out;
  }

  void int_mm(std::int64_t m, std::int64_t k, std::int64_t n) {
    // Written as Char, numbers in (-127, 127) become whole ones.
    const auto a = tensors.random({m, k}, ScalarType::Char, {}, 127);
    const auto b = tensors.random({k, n}, ScalarType::Char, {1, k}, 127);
    const auto out = tensors.empty({m, n}, ScalarType::Int);
    add(tenon::concat("`_int_mm`, int8, ", m, "×", k, " by a transposed ", n, "×", k),
        ScalarType::Int, [=, this](Side side, Made&) {
          return functions_.aoti_torch_cpu__int_mm_out(side, out[side], a[side], b[side]);
        });
    operators.back().out = out;
  }

  void bmm(ScalarType type, std::int64_t count, std::int64_t m, std::int64_t k, std::int64_t n) {
    const auto a = tensors.random({count, m, k}, type);
    const auto b = tensors.random({count, k, n}, type, {k * n, 1, k});
    const auto out = tensors.empty({count, m, n}, type);
    add(tenon::concat("`bmm`, ", dtype(type), ", ", count, " of ", m, "×", k, " by a transposed ",
                      n, "×", k),
        type, [=, this](Side side, Made&) {
          return functions_.aoti_torch_cpu_bmm_out(side, out[side], a[side], b[side]);
        });
    operators.back().out = out;
  }

  void bags(ScalarType type, std::int64_t count, std::int64_t rows, std::int64_t columns) {
    const std::int64_t table = 5000;
    std::vector<std::int64_t> indices;
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i < count * rows; ++i) {
      indices.push_back(tensors.source().below(table));
      if (i % rows == 0) offsets.push_back(i);
    }
    const auto weight = tensors.random({table, columns}, type);
    const auto index = tensors.integers(indices);
    const auto offset = tensors.integers(offsets);
    add(tenon::concat("`_embedding_bag`, sums, ", dtype(type), ", ", count, " bags of ", rows,
                      " rows of ", columns),
        type, [=, this](Side side, Made& made) {
          return functions_.aoti_torch_cpu__embedding_bag(
              side, weight[side], index[side], offset[side], 0, std::int64_t{0}, 0, nullptr, 0,
              std::int64_t{-1}, &made[0], &made[1], &made[2], &made[3]);
        });
  }

  BothTensors image(ScalarType type, const Pooled& of, bool channels_last) {
    const Shape strides{of.channels * of.side * of.side, 1, of.side * of.channels, of.channels};
    return tensors.random({1, of.channels, of.side, of.side}, type,
                          channels_last ? strides : Shape{});
  }

  static std::string pooled(const char* name, ScalarType type, const Pooled& of,
                            bool channels_last) {
    return tenon::concat(name, channels_last ? ", channels last, " : ", contiguous, ", dtype(type),
                         ", 1×", of.channels, "×", of.side, "×", of.side);
  }

  static std::string window(const Pooled& of) {
    return tenon::concat(", ", of.window, "×", of.window, " by ", of.stride);
  }

  void max_pool(ScalarType type, const Pooled& of, bool channels_last) {
    const auto x = image(type, of, channels_last);
    add(pooled("`max_pool2d_with_indices`", type, of, channels_last) + window(of), type,
        [=, this](Side side, Made& made) {
          const Pair kernel{of.window, of.window};
          const Pair stride{of.stride, of.stride};
          const Pair padding{of.padding, of.padding};
          const Pair dilation{1, 1};
          return functions_.aoti_torch_cpu_max_pool2d_with_indices(
              side, x[side], kernel.data(), two, stride.data(), two, padding.data(), two,
              dilation.data(), two, 0, &made[0], &made[1]);
        });
  }

  void avg_pool(ScalarType type, const Pooled& of) {
    const auto x = image(type, of, true);
    add(pooled("`avg_pool2d`", type, of, true) + window(of), type,
        [=, this](Side side, Made& made) {
          const Pair kernel{of.window, of.window};
          const Pair stride{of.stride, of.stride};
          const Pair padding{of.padding, of.padding};
          return functions_.aoti_torch_cpu_avg_pool2d(side, x[side], kernel.data(), two,
                                                      stride.data(), two, padding.data(), two, 0, 1,
                                                      nullptr, &made[0]);
        });
  }

  void adaptive_pools(ScalarType type, const Pooled& of) {
    const auto x = image(type, of, true);
    const std::string to = tenon::concat(" to ", of.adaptive, "×", of.adaptive);
    add(pooled("`_adaptive_avg_pool2d`", type, of, true) + to, type,
        [=, this](Side side, Made& made) {
          const Pair size{of.adaptive, of.adaptive};
          return functions_.aoti_torch_cpu__adaptive_avg_pool2d(side, x[side], size.data(), two,
                                                                &made[0]);
        });
    add(pooled("`adaptive_max_pool2d`", type, of, true) + to, type,
        [=, this](Side side, Made& made) {
          const Pair size{of.adaptive, of.adaptive};
          return functions_.aoti_torch_cpu_adaptive_max_pool2d(side, x[side], size.data(), two,
                                                               &made[0], &made[1]);
        });
  }

  void lstm(ScalarType type, std::int64_t steps, std::int64_t batch, std::int64_t inputs,
            std::int64_t hidden) {
    // As torch.nn.LSTM begins. With larger weights, 32 steps turn a difference in the last bit into
    // a large one.
    const double bound = 1 / std::sqrt(static_cast<double>(hidden));
    const auto x = tensors.random({steps, batch, inputs}, type);
    const auto input_weight = tensors.random({4 * hidden, inputs}, type, {}, bound);
    const auto hidden_weight = tensors.random({4 * hidden, hidden}, type, {}, bound);
    const auto input_bias = tensors.random({4 * hidden}, type, {}, bound);
    const auto hidden_bias = tensors.random({4 * hidden}, type, {}, bound);
    const auto h = tensors.random({1, batch, hidden}, type);
    const auto c = tensors.random({1, batch, hidden}, type);
    add(tenon::concat("`mkldnn_rnn_layer`, ", dtype(type), ", ", steps, " steps of ", batch, "×",
                      inputs, ", hidden ", hidden),
        type, [=, this](Side side, Made& made) {
          const std::int64_t mode = 2;  // LSTM (ATen: aten/src/ATen/native/RNN.h).
          const std::int64_t layers = 1;
          return functions_.aoti_torch_cpu_mkldnn_rnn_layer(
              side, x[side], input_weight[side], hidden_weight[side], input_bias[side],
              hidden_bias[side], h[side], c[side], 0, nullptr, std::int64_t{0}, mode, hidden,
              layers, 1, 0, 0, 0, &made[0], &made[1], &made[2], &made[3]);
        });
  }

  void add(std::string name, ScalarType type, std::function<ShimError(Side, Made&)> call) {
    operators.push_back({std::move(name), type, std::move(call)});
  }

  using Pair = std::array<std::int64_t, 2>;
  static constexpr std::int64_t two = 2;

  Functions functions_;
};

/// Calls once; what it makes is the caller's.
Made call(const Operator& op, Side side) {
  Made made{};
  if (op.call(side, made)) {
    give_up(op.name + (side == in_tenon ? ": failed here" : ": failed in libtorch"));
  }
  return made;
}

void destroy(const Tensors& tensors, Side side, const Made& made) {
  for (ModelTensor* const tensor : made) {
    if (tensor) tensors.destroy(side, tensor);
  }
}

/// Ends the process unless the first outputs have the same strides and about the same numbers.
/// Sums of 16 bits differ by how often they are rounded, so the bound is one of the largest number.
void compare(const Tensors& tensors, const Operator& op) {
  std::array<std::vector<double>, 2> values;
  std::array<Shape, 2> strides;
  for (const Side side : both_sides) {
    const Made made = call(op, side);
    ModelTensor* const first = made[0] ? made[0] : op.out[side];
    values[side] = tensors.elements(side, first, op.type);
    strides[side] = tensors.strides(side, first);
    destroy(tensors, side, made);
  }
  if (strides[0] != strides[1] || values[0].size() != values[1].size()) {
    give_up(op.name + ": the outputs have different strides or sizes");
  }
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < values[0].size(); ++i) {
    largest = std::max(largest, std::abs(values[in_libtorch][i]));
    difference = std::max(difference, std::abs(values[0][i] - values[1][i]));
  }
  const double bound = op.type == ScalarType::Int     ? 0
                       : op.type == ScalarType::Float ? 1e-5
                       : op.type == ScalarType::Half  ? 4e-3
                                                      : 3e-2;
  if (!(difference <= bound * largest)) {
    give_up(tenon::concat(op.name, ": expected a difference of at most ", bound, " of ", largest,
                          ", found ", difference));
  }
}

/// Microseconds that this thread was on a processor.
double now() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

/// Microseconds of one of `calls` calls.
double turn(const Tensors& tensors, const Operator& op, Side side, int calls) {
  const double before = now();
  for (int i = 0; i < calls; ++i) destroy(tensors, side, call(op, side));
  return (now() - before) / calls;
}

/// Turns of at least 100 microseconds for `seconds`.
void measure(const Tensors& tensors, Operator& op, double seconds) {
  int calls = 1;
  while (turn(tensors, op, in_libtorch, calls) * calls < 100) calls *= 2;
  const double end = now() + seconds * 1e6;
  for (int turns = 0; turns < 3 || now() < end; ++turns) {
    for (const Side side : both_sides) {
      op.least[side] = std::min(op.least[side], turn(tensors, op, side, calls));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string libtorch;
  std::string only;
  double seconds = 0.2;
  int passes = 5;
  CLI::App app{"Times single operators in libtorch and in CpuAotiBackend."};
  app.add_option("--libtorch", libtorch, "libtorch_cpu.so")->required();
  app.add_option("--only", only, "a part of the names of the operators");
  app.add_option("--seconds", seconds, "on the processor for an operator in a pass (default 0.2)");
  app.add_option("--passes", passes, "over all operators (default 5)");
  CLI11_PARSE(app, argc, argv);
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  if (!threads || std::string_view(threads) != "1") {
    give_up(tenon::concat("expected OMP_NUM_THREADS=1, found ", threads ? threads : "none"));
  }

  const kernel_test::Fixture pool;
  Suite suite(open_libtorch(libtorch.c_str()));
  std::erase_if(suite.operators,
                [&](const Operator& op) { return op.name.find(only) == std::string::npos; });
  for (const Operator& op : suite.operators) compare(suite.tensors, op);
  for (int pass = 0; pass < passes; ++pass) {
    for (Operator& op : suite.operators) measure(suite.tensors, op, seconds);
  }
  std::puts("| operator | libtorch | Tenon | ratio |\n|---|---:|---:|---:|");
  for (const Operator& op : suite.operators) {
    std::printf("| %s | %.1f µs | %.1f µs | %.2f |\n", op.name.c_str(), op.least[in_libtorch],
                op.least[in_tenon], op.least[in_tenon] / op.least[in_libtorch]);
  }
  std::fflush(stdout);
  std::_Exit(0);
}
