// SPDX-License-Identifier: MIT
//
// A model with a cache that is indexed by a position, and a sum that each run changes as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon::test::step_model {

using host::Kernel;
using host::KernelTable;
using host::Method;

inline constexpr std::int64_t num_places = 512;
inline constexpr std::int64_t width = 8;

template <class T>
T* data_of(const tenon_value& value) {
  return static_cast<T*>(value.as.tensor->dl.data);
}

/// Of one text: writes x to the cache's place, and adds it to the sum.
inline void take(const float* x, std::int64_t position, float* cache, float* sum) {
  for (std::int64_t i = 0; i < width; ++i) {
    cache[position * width + i] = x[i];
    sum[i] = sum[i] * 0.9f + x[i];
  }
}
/// Of one text: y of all places up to the position, and of the sum.
inline void give(std::int64_t position, const float* cache, const float* sum, float* y) {
  for (std::int64_t i = 0; i < width; ++i) {
    y[i] = sum[i];
    for (std::int64_t place = 0; place <= position; ++place) {
      y[i] = y[i] * 0.99f + cache[place * width + i] / static_cast<float>(place + 1);
    }
  }
}

/// What stands for a token.
inline std::array<float, width> x_of(int token) {
  std::array<float, width> x{};
  for (std::size_t i = 0; i < width; ++i) {
    x[i] = static_cast<float>(token) / 7 + static_cast<float>(i);
  }
  return x;
}

/// `test::step` (x, position, cache, sum, y): `take` and `give` for each position. Fails at the
/// call `fails_at` after `take`, and for an x that begins with `refused`.
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
  float refused = -1;
  std::function<void()> waits{};  ///< In the first instruction of each run.

 private:
  using Args = tenon_value* const*;

  static tenon_status step(void* object, const tenon_execution_context*, Args args, std::uint32_t) {
    auto& self = *static_cast<Kernels*>(object);
    const auto rows = static_cast<std::int64_t>(TensorView(*args[1]->as.tensor).numel());
    const auto* const x = data_of<float>(*args[0]);
    const auto* const position = data_of<std::int64_t>(*args[1]);
    auto* const cache = data_of<float>(*args[2]);
    auto* const sum = data_of<float>(*args[3]);
    const std::int64_t places = num_places * width;
    for (std::int64_t row = 0; row < rows; ++row) {
      if (x[row * width] == self.refused) return TENON_STATUS_INVALID_ARGUMENT;
      take(x + row * width, position[row], cache + row * places, sum + row * width);
    }
    if (self.calls++ == self.fails_at) return TENON_STATUS_INTERNAL;
    for (std::int64_t row = 0; row < rows; ++row) {
      give(position[row], cache + row * places, sum + row * width,
           data_of<float>(*args[4]) + row * width);
    }
    return TENON_STATUS_OK;
  }
  /// Sets what it gets to 0, so that the sum is of no more than one run.
  static tenon_status forget(void*, const tenon_execution_context*, Args args, std::uint32_t) {
    std::memset(args[0]->as.tensor->dl.data, 0, args[0]->as.tensor->nbytes);
    return TENON_STATUS_OK;
  }
  static tenon_status look(void* object, const tenon_execution_context*, Args, std::uint32_t) {
    const auto& self = *static_cast<Kernels*>(object);
    if (self.waits) self.waits();
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
inline ProgramBuilder model(bool forgets = false, std::int32_t rows = 1) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const std::int32_t cache_bytes = num_places * width * 4 * rows;
  const std::int32_t room = 64 * rows;
  const auto memory = plan.buffer(cache_bytes + 4 * room);
  const auto place = [&](ScalarType type, std::vector<std::int32_t> sizes, std::int32_t at) {
    return planned_tensor(type, std::move(sizes), memory, static_cast<std::uint32_t>(at));
  };
  const auto w = static_cast<std::int32_t>(width);
  const auto places = static_cast<std::int32_t>(num_places) * rows;
  const std::vector<std::int32_t> each = rows == 1 ? std::vector{w} : std::vector{rows, w};
  const auto x = plan.input(place(ScalarType::Float, each, cache_bytes));
  const auto position = plan.input(place(ScalarType::Long, {rows}, cache_bytes + room));
  const auto cache = plan.value(place(ScalarType::Float, {places, w}, 0));
  const auto sum = plan.value(place(ScalarType::Float, each, cache_bytes + 2 * room));
  const auto y = plan.output(place(ScalarType::Float, each, cache_bytes + 3 * room));
  // A view of the input, which therefore is copied into the plan's memory when it is set.
  const auto view = plan.value(place(ScalarType::Float, {2, rows * w / 2}, cache_bytes));
  plan.instruction(kernel_call(plan.op("test::look", ""), {view}));
  if (forgets) plan.instruction(kernel_call(plan.op("test::forget", ""), {sum}));
  plan.instruction(kernel_call(plan.op("test::step", "out"), {x, position, cache, sum, y, y}));
  return builder;
}

inline std::unique_ptr<Method> load_ok(const ProgramBuilder& builder, const Kernels& kernels,
                                       host::Layers layers = {}) {
  auto bytes = std::make_shared<AlignedBytes>(builder.build());
  auto program = host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
  REQUIRE(program.ok());
  auto method = Method::load(*std::move(program), "forward",
                             {.kernels = &kernels.table, .layers = std::move(layers)});
  INFO(method.text());
  REQUIRE(method.ok());
  return *std::move(method);
}

}  // namespace tenon::test::step_model
