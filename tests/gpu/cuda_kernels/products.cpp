// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>

#include "gpu.hpp"
#include "reference.hpp"

namespace gpu_test {
namespace {

using namespace kernel_reference;
using kernel_test::tensor_at;
using tenon::Result;
using tenon::aoti::ModelTensor;

/// The layout of the rows of `self`: elements before the first, and between the ends of two.
struct Layout {
  int offset, gap;
};

/// The weight on the device, and the plan that its format makes.
struct DeviceWeight {
  explicit DeviceWeight(const Weight& w)
      : weight(w),
        low(w.low),
        high(w.high),
        scale(w.scale_bytes),
        scale_step(w.scale_step),
        zero(w.zero_bytes),
        zero_step(w.zero_step) {}

  Result<kernels::MatmulPlan> plan(const ModelTensor& self) const {
    const std::int64_t n = weight.columns, k = weight.depth, groups = k / weight.group;
    const auto part = [](const Memory& memory, ScalarType type,
                         const std::vector<std::int64_t>& sizes) {
      return tensor_at(memory.address(), type, sizes);
    };
    const ModelTensor codes = part(scale, ScalarType::Byte, {n, groups});
    const ModelTensor steps = part(scale_step, ScalarType::Half, {n, k / 256});
    const ModelTensor zeros = part(zero, ScalarType::Byte, {n, groups});
    const ModelTensor zero_steps = part(zero_step, ScalarType::Half, {n, k / 256});
    const ModelTensor halves = part(low, ScalarType::Byte, {n, k / 2});
    switch (weight.format) {
      case Format::int4_packed: {
        const std::int64_t inner = weight.inner_k_tiles;
        return kernels::plan_weight_int4pack_mm(
            self, part(low, ScalarType::Int, {n / 8, k / (inner * 16), 32, inner / 2}),
            weight.group, part(scale, ScalarType::BFloat16, {groups, n, 2}));
      }
      case Format::int4:
        return kernels::plan_int4_plain_mm(self, halves, codes, steps, zeros, zero_steps,
                                           weight.group);
      case Format::int5:
        return kernels::plan_int5_plain_mm(self, halves, part(high, ScalarType::Byte, {n, k / 8}),
                                           codes, steps, zeros, zero_steps, weight.group);
      case Format::int6:
        return kernels::plan_int6_plain_mm(self, halves, part(high, ScalarType::Byte, {n, k / 4}),
                                           codes, steps, weight.group);
      case Format::int8:
        break;
    }
    return kernels::plan_int8_plain_mm(self, part(low, ScalarType::Char, {n, k}),
                                       part(scale, ScalarType::BFloat16, {n, groups}),
                                       part(zero, ScalarType::Char, {n, groups}), weight.group);
  }

  const Weight& weight;
  Memory low, high, scale, scale_step, zero, zero_step;
};

tenon::Status run_kernel(const kernels::MatmulPlan& plan, const ModelTensor& out) {
  return run(plan, out, gpu().launcher());
}

void compare(const Weight& weight, const DeviceWeight& on_device, int rows, Layout layout,
             RunProduct* run_product = &run_kernel) {
  const int stride = weight.depth + layout.gap;
  std::vector<double> self;
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(layout.offset + rows * stride), 0x7fc0);
  Numbers numbers{static_cast<std::uint64_t>(rows * 7919 + weight.depth)};
  for (int m = 0; m < rows; ++m) {
    for (int k = 0; k < weight.depth; ++k) {
      const std::uint16_t value = bfloat16(numbers.uniform());
      bits[static_cast<std::size_t>(layout.offset + m * stride + k)] = value;
      self.push_back(double{BFloat16{value}.to_float()});
    }
  }
  const Memory self_memory(bits);
  const std::int64_t n = weight.columns;
  const Memory out(static_cast<std::size_t>(rows * n) * 2);
  const Result<kernels::MatmulPlan> plan = on_device.plan(
      tensor_at(self_memory.address() + static_cast<std::uint64_t>(layout.offset) * 2,
                ScalarType::BFloat16, {rows, weight.depth}, {stride, 1}));
  const std::string what = std::string(name_of(weight.format)) + " of " + std::to_string(rows) +
                           " rows, " + std::to_string(n) + " columns, depth " +
                           std::to_string(weight.depth) + ", groups of " +
                           std::to_string(weight.group) + ", gap " + std::to_string(layout.gap);
  if (!plan.ok()) return fail(what + ": " + std::string(plan.text()));
  const tenon::Status status =
      run_product(*plan, tensor_at(out.address(), ScalarType::BFloat16, {rows, n}));
  if (!status.ok()) return fail(what + ": " + std::string(status.text()));
  const std::vector<std::uint16_t> found = out.read<std::uint16_t>();
  // The result is rounded to 8 bits; in tiles each weight is too.
  const double per_term = rows > kernels::few_rows_limit ? 0.0021 : 1e-5;
  for (int m = 0; m < rows; ++m) {
    for (int c = 0; c < weight.columns; ++c) {
      const Product expected = product(self, weight, m, c);
      const double value = double{BFloat16{found[static_cast<std::size_t>(m * n + c)]}.to_float()};
      const double allowed =
          0.004 * std::abs(expected.value) + per_term * expected.magnitude + 1e-30;
      if (std::abs(value - expected.value) <= allowed) continue;
      return fail(what + ": element (" + std::to_string(m) + ", " + std::to_string(c) +
                  ") expected " + std::to_string(expected.value) + ", found " +
                  std::to_string(value));
    }
  }
}

/// Of `run_in_parts`.
std::int64_t num_parts = 1;

/// Twice, because the order of the sum is always the same.
tenon::Status run_in_parts(const kernels::MatmulPlan& plan, const ModelTensor& out) {
  const Memory partial(kernels::partial_bytes(plan, num_parts));
  std::vector<std::uint16_t> found[2];
  for (auto& each : found) {
    TENON_RETURN_IF_ERROR(kernels::run_in_parts(
        plan, out, num_parts,
        reinterpret_cast<void*>(static_cast<std::uintptr_t>(partial.address())), gpu().launcher()));
    each.resize(static_cast<std::size_t>(plan.rows * plan.columns));
    gpu().download(each.data(), reinterpret_cast<std::uintptr_t>(out.data), each.size() * 2);
  }
  if (found[0] == found[1]) return tenon::ok();
  return tenon::error(tenon::Error::Internal, "a product in parts has other bits in another run");
}

/// Parts of several steps, the last one shorter, and of one.
void test_parts_of_the_depth() {
  for (const Format format : formats) {
    const Weight weight =
        make_weight(format, format == Format::int4_packed ? 72 : 70, 768, 64, 4, 19);
    const DeviceWeight on_device(weight);
    for (const int rows : {17, 64, 65}) {
      for (const std::int64_t parts : {1, 2, 5, 12}) {
        num_parts = parts;
        compare(weight, on_device, rows, {0, 0}, &run_in_parts);
      }
    }
    num_parts = 3;
    compare(weight, on_device, 33, {3, 8}, &run_in_parts);
  }
  // The last step is not full.
  const Weight weight = make_weight(Format::int8, 3, 416, 32, 0, 5);
  const DeviceWeight on_device(weight);
  num_parts = 4;
  compare(weight, on_device, 130, {0, 0}, &run_in_parts);
}

tenon::Status run_without_code_words(const kernels::MatmulPlan& plan, const ModelTensor& out) {
  kernels::MatmulPlan changed = plan;
  changed.arguments.weights.has_code_words = 0;
  return run(changed, out, gpu().launcher());
}

/// Codes that are not aligned to words are loaded by themselves.
void test_codes_without_alignment() {
  for (const Format format : {Format::int4, Format::int5, Format::int6}) {
    const Weight weight = make_weight(format, 70, 512, 64, 0, 23);
    compare(weight, DeviceWeight(weight), 20, {0, 0}, &run_without_code_words);
  }
}

/// A depth that is staged in two parts, for one row and for a few.
void test_deep_rows() {
  for (const Format format : formats) {
    if (format == Format::int4_packed) continue;
    for (const int group : {16, 64}) {
      const Weight weight = make_weight(format, 3, 8704, group, 0, 13);
      const DeviceWeight on_device(weight);
      for (const int rows : {1, 4}) compare(weight, on_device, rows, {0, 0});
    }
  }
}

/// A row with more columns than the narrow kernel is for.
void test_many_columns() {
  for (const Format format : formats) {
    if (format == Format::int4_packed) continue;
    const Weight weight = make_weight(format, kernels::narrow_columns + 3, 256, 32, 0, 19);
    compare(weight, DeviceWeight(weight), 1, {0, 0});
  }
}

/// Values that have no integers of 16 bits beside their neighbours.
void test_values_of_all_sizes() {
  const Weight weight = make_weight(Format::int8, 3, 64, 32, 0, 17);
  const DeviceWeight on_device(weight);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const struct {
    double most, special;
    bool is_finite;
  } cases[] = {{0, 0, true},          {1e-36, 0, true},        {1, 1e30, true},
               {1e30, 1e-30, true},   {1, 1e37, true},         {1, infinity, false},
               {1, -infinity, false}, {1, std::nan(""), false}};
  for (const auto& one : cases) {
    for (const int rows : {1, 2}) {
      Numbers numbers{99};
      std::vector<double> self;
      std::vector<std::uint16_t> bits;
      for (int i = 0; i < rows * weight.depth; ++i) {
        const double value = i % weight.depth == 40 ? one.special : one.most * numbers.uniform();
        bits.push_back(std::isnan(value) ? std::uint16_t{0x7fc1} : bfloat16(value));
        self.push_back(double{BFloat16{bits.back()}.to_float()});
      }
      const Memory self_memory(bits);
      const Memory out(static_cast<std::size_t>(rows * weight.columns) * 2);
      const auto plan = on_device.plan(
          tensor_at(self_memory.address(), ScalarType::BFloat16, {rows, weight.depth}));
      const std::string what = "values to " + std::to_string(one.most) + " and " +
                               std::to_string(one.special) + ", rows " + std::to_string(rows);
      if (!plan.ok()) return fail(what + ": " + std::string(plan.text()));
      const tenon::Status status =
          run_kernel(*plan, tensor_at(out.address(), ScalarType::BFloat16, {rows, weight.columns}));
      if (!status.ok()) return fail(what + ": " + std::string(status.text()));
      const std::vector<std::uint16_t> found = out.read<std::uint16_t>();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double value = double{BFloat16{found[i]}.to_float()};
        const int column = static_cast<int>(i) % weight.columns;
        const Product expected =
            product(self, weight, static_cast<int>(i) / weight.columns, column);
        const double allowed = 0.004 * std::abs(expected.value) + 1e-4 * expected.magnitude + 1e-36;
        if (one.is_finite ? std::abs(value - expected.value) <= allowed : std::isnan(value)) {
          continue;
        }
        return fail(what + ": expected " + std::to_string(expected.value) + ", found " +
                    std::to_string(value));
      }
    }
  }
}

}  // namespace

void test_tiles_of_many_steps() {
  const Weight weight = make_weight(Format::int8, 70, 416, 32, 0, 5);
  compare(weight, DeviceWeight(weight), 70, {0, 0});
}

void test_aligned_products(RunProduct* run_product) {
  for (const Format format : formats) {
    const Weight weight = make_weight(format, 24, 512, 64, 4, 7);
    const DeviceWeight on_device(weight);
    for (const Layout layout : {Layout{0, 0}, Layout{8, 24}}) {
      compare(weight, on_device, 19, layout, run_product);
    }
  }
}

void test_products() {
  constexpr int all_rows[] = {1, 2, 4, 5, 8, 9, 16, 64, 65};
  for (const Format format : formats) {
    const bool packed = format == Format::int4_packed;
    const struct {
      int columns, depth, group, inner;
    } shapes[] = {{packed ? 8 : 1, 256, 32, 2},    {packed ? 24 : 3, 512, 64, 4},
                  {packed ? 72 : 70, 768, 256, 8}, {packed ? 136 : 130, 512, 32, 2},
                  {64, 256, packed ? 32 : 16, 8},  {packed ? 40 : 33, 256, packed ? 128 : 8, 4}};
    for (const auto& shape : shapes) {
      const Weight weight =
          make_weight(format, shape.columns, shape.depth, shape.group, shape.inner, 11);
      const DeviceWeight on_device(weight);
      for (const int rows : all_rows) compare(weight, on_device, rows, {0, 0});
      // Views: aligned rows with gaps, rows of odd stride, and a start that is not aligned.
      if (shape.columns > 64) continue;
      for (const int rows : {1, 3, 20}) {
        for (const Layout layout : {Layout{8, 8}, Layout{0, 1}, Layout{3, 8}}) {
          compare(weight, on_device, rows, layout);
        }
      }
    }
    if (format == Format::int8 || packed) {
      const Weight small = make_weight(format, 8, 32, 32, 2, 3);
      const DeviceWeight on_device(small);
      for (const int rows : {1, 5, 33}) compare(small, on_device, rows, {0, 0});
    }
  }
  test_tiles_of_many_steps();
  test_parts_of_the_depth();
  test_codes_without_alignment();
  test_deep_rows();
  test_many_columns();
  test_values_of_all_sizes();
}

}  // namespace gpu_test
