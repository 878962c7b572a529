// SPDX-License-Identifier: MIT
#include <bit>
#include <limits>

#include "gpu.hpp"
#include "reference.hpp"

namespace gpu_test {
namespace {

using namespace kernel_reference;
using kernel_test::Sizes;
using kernel_test::tensor_at;

/// Conversion of an element to a number of the same order, and back.
template <class T>
auto number(T value) {
  if constexpr (std::is_same_v<T, tenon::BFloat16>) {
    return value.to_float();
  } else if constexpr (std::is_same_v<T, tenon::Half>) {
    // Only small integers and NaN are made, so that plain arithmetic decodes them.
    const int exponent = value.bits >> 10 & 31;
    const float size = exponent == 31 ? std::numeric_limits<float>::quiet_NaN()
                       : exponent == 0
                           ? 0.0f
                           : std::ldexp(1.0f + float(value.bits & 1023) / 1024.0f, exponent - 15);
    return value.bits & 0x8000 ? -size : size;
  } else {
    return value;
  }
}

template <class T>
T draw(Numbers& numbers, std::int64_t range) {
  const std::int64_t value = numbers.below(range);
  if constexpr (std::is_same_v<T, bool>) {
    return value % 2 != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(value - range / 2) *
                          (value % 3 == 0 && sizeof(T) == 8 ? std::uint64_t{1} << 40 : 1));
  } else {
    const float real = value % 17 == 0   ? std::numeric_limits<float>::quiet_NaN()
                       : value % 19 == 0 ? -0.0f
                                         : static_cast<float>(value - range / 2);
    if constexpr (std::is_same_v<T, tenon::BFloat16>) {
      return tenon::BFloat16::from_float(real);
    } else if constexpr (std::is_same_v<T, tenon::Half>) {
      const float whole = real != real ? real : static_cast<float>(static_cast<int>(real) % 1024);
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(whole);
      const auto sign =
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(real) >> 16 & 0x8000);
      if (whole != whole) return {static_cast<std::uint16_t>(sign | 0x7e01)};
      if (whole == 0) return {sign};
      return {static_cast<std::uint16_t>(sign | ((bits >> 23 & 255) - 112) << 10 |
                                         (bits >> 13 & 1023))};
    } else {
      return static_cast<T>(real);
    }
  }
}

/// std::vector<bool> is not an array.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

struct Case {
  Sizes sizes;
  std::int64_t dim;
  Sizes strides;  ///< None: contiguous.
};

template <class T>
void compare(const Case& c, bool descending) {
  constexpr ScalarType type = tenon::scalar_type_of<T>.value();
  const auto rank = static_cast<std::int64_t>(c.sizes.size());
  std::int64_t extent = 1, numel = 1;
  for (std::size_t d = 0; d < c.sizes.size(); ++d) {
    numel *= c.sizes[d];
    if (!c.strides.empty()) extent += (c.sizes[d] - 1) * c.strides[d];
  }
  if (c.strides.empty()) extent = numel;
  Numbers numbers{static_cast<std::uint64_t>(numel * 31 + static_cast<int>(type))};
  std::vector<Stored<T>> content;
  for (std::int64_t i = 0; i < extent; ++i) {
    content.push_back(static_cast<Stored<T>>(draw<T>(numbers, 1 + numel / 2)));
  }
  const Memory self(content);
  const Memory values(static_cast<std::size_t>(numel) * sizeof(T));
  const Memory indices(static_cast<std::size_t>(numel) * 8);
  const tenon::aoti::ModelTensor view = tensor_at(self.address(), type, c.sizes, c.strides);
  const std::string what = "sort of " + tenon::shape_text(view.shape()) + " " +
                           std::string(tenon::name_of(type)) + " along " + std::to_string(c.dim) +
                           (descending ? ", descending" : "");
  const auto plan = kernels::plan_sort_stable(view, c.dim, descending);
  if (!plan.ok()) return fail(what + ": " + std::string(plan.text()));
  const Memory scratch(plan->scratch_bytes);
  const tenon::Status status = run(
      *plan, tensor_at(values.address(), type, c.sizes),
      tensor_at(indices.address(), ScalarType::Long, c.sizes),
      reinterpret_cast<void*>(static_cast<std::uintptr_t>(scratch.address())), gpu().launcher());
  if (!status.ok()) return fail(what + ": " + std::string(status.text()));
  const auto found_values = values.read<Stored<T>>();
  const auto found_places = indices.read<std::int64_t>();

  const std::int64_t dim = c.dim < 0 ? c.dim + std::max<std::int64_t>(rank, 1) : c.dim;
  const std::int64_t length = rank > 0 ? c.sizes[static_cast<std::size_t>(dim)] : 1;
  std::int64_t inner = 1;
  for (std::int64_t d = dim + 1; d < rank; ++d) inner *= c.sizes[static_cast<std::size_t>(d)];
  for (std::int64_t row = 0; length > 0 && row < numel / length; ++row) {
    const std::int64_t start = row / inner * length * inner + row % inner;
    std::vector<Stored<T>> line;
    std::vector<decltype(number(Stored<T>{}))> line_numbers;
    for (std::int64_t i = 0; i < length; ++i) {
      std::int64_t flat = start + i * inner, offset = 0;
      for (std::int64_t d = rank; d-- > 0;) {
        const auto at = static_cast<std::size_t>(d);
        offset += flat % view.sizes[at] * view.strides[at];
        flat /= view.sizes[at];
      }
      line.push_back(content[static_cast<std::size_t>(offset)]);
      line_numbers.push_back(number(line.back()));
    }
    const std::vector<std::int64_t> places = sorted_places(line_numbers, descending);
    for (std::int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::size_t>(start + i * inner);
      const std::int64_t place = places[static_cast<std::size_t>(i)];
      const Stored<T>& value = line[static_cast<std::size_t>(place)];
      if (found_places[at] == place && std::memcmp(&found_values[at], &value, sizeof value) == 0) {
        continue;
      }
      return fail(what + ": row " + std::to_string(row) + ", element " + std::to_string(i) +
                  " expected from " + std::to_string(place) + ", found from " +
                  std::to_string(found_places[at]));
    }
  }
}

template <class T>
void compare_all() {
  const Case cases[] = {{{}, 0, {}},
                        {{1}, -1, {}},
                        {{7}, 0, {}},
                        {{100}, 0, {3}},
                        {{2, 256}, -1, {}},
                        {{2, 257}, -1, {}},
                        {{2047}, 0, {}},
                        {{2048}, 0, {}},
                        {{2049}, 0, {}},
                        {{70001}, 0, {}},
                        {{3, 100}, -1, {}},
                        {{100, 3}, 0, {}},
                        {{5, 4097}, 1, {}},
                        {{4097, 2}, 0, {}},
                        {{4, 5, 6}, 1, {1, 24, 4}},
                        {{2, 3000}, 1, {0, 1}},
                        {{300, 9}, 1, {}},
                        {{0, 3}, 1, {}},
                        {{3, 0}, 1, {}}};
  for (const Case& c : cases) {
    compare<T>(c, false);
    compare<T>(c, true);
  }
}

}  // namespace

void test_sorting() {
  compare_all<std::uint8_t>();
  compare_all<std::int8_t>();
  compare_all<std::int16_t>();
  compare_all<std::int32_t>();
  compare_all<std::int64_t>();
  compare_all<bool>();
  compare_all<tenon::Half>();
  compare_all<tenon::BFloat16>();
  compare_all<float>();
  compare_all<double>();
}

}  // namespace gpu_test
