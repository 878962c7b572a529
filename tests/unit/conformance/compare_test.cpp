// SPDX-License-Identifier: MIT
#include "tenon/conformance/compare.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "case_support.hpp"
#include "support/catch.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

using namespace tenon;
using namespace tenon::conformance;
using Shape = std::vector<std::int64_t>;

namespace compare_test {
namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

CaseTolerance limits(std::optional<double> nmse, std::optional<double> peak = {},
                     std::optional<double> max = {}) {
  CaseTolerance out;
  out.nmse = nmse;
  out.peak = peak;
  out.max = max;
  return out;
}

template <class T>
OutputComparison compare_all(ScalarType type, const std::vector<T>& found,
                             const std::vector<T>& expected, const CaseTolerance& tolerance,
                             Shape shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(found.size() * sizeof(T) / size_of(type))};
  return compare({type, shape, std::as_bytes(std::span(found))},
                 {type, shape, std::as_bytes(std::span(expected))}, tolerance);
}

OutputComparison compare_floats(
    const std::vector<float>& found, const std::vector<float>& expected,
    const CaseTolerance& tolerance = default_tolerance(ScalarType::Float)) {
  return compare_all(ScalarType::Float, found, expected, tolerance);
}

// A tensor value of a method, with the memory that it refers to.
struct Output {
  Output(ScalarType type, Shape shape, std::vector<std::uint8_t> order, void* data)
      : sizes(std::move(shape)), dim_order(std::move(order)), strides(sizes.size()) {
    host::fill_strides(sizes, dim_order.data(), strides.data());
    tensor.struct_size = sizeof tensor;
    tensor.scalar_type = static_cast<std::int32_t>(type);
    tensor.dl.device = {TENON_DL_CPU, 0};
    tensor.dl.ndim = static_cast<std::int32_t>(sizes.size());
    tensor.dl.shape = sizes.data();
    tensor.dl.strides = strides.data();
    tensor.dl.data = data;
    tensor.dim_order = dim_order.data();
    tensor.bounds = sizes.data();
    tensor.nbytes = static_cast<std::uint64_t>(host::count_elements(sizes)) * size_of(type);
    value.struct_size = sizeof value;
    value.kind = TENON_VALUE_TENSOR;
    value.as.tensor = &tensor;
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Shape sizes;
  std::vector<std::uint8_t> dim_order;
  std::vector<std::int64_t> strides;
  tenon_tensor tensor{};
  tenon_value value{};
};

tenon_value number(std::int64_t integer) {
  tenon_value out{};
  out.struct_size = sizeof out;
  out.kind = TENON_VALUE_INT;
  out.as.integer = integer;
  return out;
}

}  // namespace

TEST_CASE("an output is equal to the same expected array", "[compare]") {
  const auto result = compare_floats({1, -2, 0, not_a_number, infinity},
                                     {1, -2, -0.0F, not_a_number, infinity}, CaseTolerance{});
  CHECK(result.equal);
  CHECK(result.text == "equal in all of 5 elements");
}

TEST_CASE("a verdict names the limit, the largest difference, its place and how many differ",
          "[compare]") {
  std::vector<float> found(24, 1);
  const std::vector<float> expected(24, 1);
  found[23] = 1.5F;
  found[0] = 1.25F;
  const auto result =
      compare_all(ScalarType::Float, found, expected, limits(1e-6, {}, 0.25), {3, 8});
  CHECK_FALSE(result.equal);
  CHECK(result.text ==
        "nmse 0.01302 > 1e-06, max 0.5 > 0.25; largest difference 0.5 at [2, 7]: expected 1, "
        "found 1.5; 2 of 24 elements differ");
  CHECK(result.arrays.num_different == 2);
}

TEST_CASE("differences within the limits are reported and are not a failure", "[compare]") {
  const auto result = compare_floats({2, 5}, {3, 4}, limits(0.08, 0.25, 1));
  CHECK(result.equal);
  CHECK(result.text ==
        "nmse 0.08, largest difference 1 at [0]: expected 3, found 2; 2 of 2 elements differ");
}

TEST_CASE("each limit is judged on its own", "[compare]") {
  // nmse 1/4, peak 1/2, largest difference 1.
  const std::vector<float> found{3, 0}, expected{2, 0};
  CHECK(compare_floats(found, expected, limits(0.25)).equal);
  CHECK_FALSE(compare_floats(found, expected, limits(0.24)).equal);
  CHECK(compare_floats(found, expected, limits({}, 0.5)).equal);
  CHECK_FALSE(compare_floats(found, expected, limits(0.25, 0.4)).equal);
  CHECK(compare_floats(found, expected, limits({}, {}, 1)).equal);
  CHECK_FALSE(compare_floats(found, expected, limits(0.25, 0.5, 0.9)).equal);
  CaseTolerance each;
  each.rtol = 0.5;
  CHECK(compare_floats(found, expected, each).equal);
  each.rtol = 0.4;
  const auto beyond = compare_floats(found, expected, each);
  CHECK_FALSE(beyond.equal);
  CHECK_THAT(beyond.text, ContainsSubstring("1 element beyond rtol 0.4, atol 0; largest"));
  each.atol = 0.25;
  CHECK(compare_floats(found, expected, each).equal);
}

TEST_CASE("the default limits find one wrong element among very many", "[compare]") {
  std::vector<float> expected(1 << 20, 1);
  std::vector<float> found = expected;
  found[77] = 1.01F;
  const auto result = compare_floats(found, expected);
  CHECK(result.arrays.nmse < 1e-7);
  CHECK_FALSE(result.equal);
  CHECK_THAT(result.text, ContainsSubstring("peak 0.01 > 0.001"));
}

TEST_CASE("no limit accepts NaN or an infinity in place of another value", "[compare]") {
  const double huge = std::numeric_limits<double>::max();
  CaseTolerance all = limits(huge, huge, huge);
  all.rtol = huge;
  all.atol = huge;
  const auto [found, expected] = GENERATE(table<float, float>({{not_a_number, 1},
                                                               {1, not_a_number},
                                                               {infinity, 1},
                                                               {1, infinity},
                                                               {infinity, -infinity},
                                                               {not_a_number, infinity}}));
  const auto result = compare_floats({0, found}, {0, expected}, all);
  CHECK_FALSE(result.equal);
  CHECK(result.is_void == std::isnan(found));
  CHECK_THAT(
      result.text,
      ContainsSubstring(result.is_void ? "1 of 2 elements is NaN where other values are expected"
                                       : "NaN or an infinity in one place alone") &&
          ContainsSubstring("at [1]"));
}

TEST_CASE("no limit accepts zeros alone in place of a result", "[compare]") {
  const auto all = limits(std::numeric_limits<double>::max());
  const auto result = compare_floats({0, -0.0F, 0}, {0, 0.5F, 0}, all);
  CHECK(result.is_void);
  CHECK_FALSE(result.equal);
  CHECK_THAT(result.text,
             ContainsSubstring("all 3 elements are 0 where other values are expected; "));
  // Not one zero among others, not one element, not what 16 bits cannot hold, and no integers.
  CHECK(compare_floats({0, 1}, {1, 1}, all).equal);
  CHECK(compare_floats({0}, {1}, all).equal);
  CHECK(compare_floats({0, 0}, {1e-5F, 0}, all).equal);
  CHECK_FALSE(compare_all<std::int32_t>(ScalarType::Int, {0, 0}, {1, 2}, {}).is_void);
}

TEST_CASE("integers and booleans must be equal by default", "[compare]") {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const auto exact = default_tolerance(ScalarType::Long);
  CHECK(compare_all<std::int64_t>(ScalarType::Long, {large}, {large}, exact).equal);
  const auto result = compare_all<std::int64_t>(ScalarType::Long, {large}, {large - 1}, exact);
  CHECK_FALSE(result.equal);
  CHECK(result.text ==
        "expected to be equal; largest difference 1 at [0]: expected 1152921504606846976, found "
        "1152921504606846977; 1 of 1 element differs");
  CHECK(compare_all<std::int64_t>(ScalarType::Long, {large}, {large - 1}, limits({}, {}, 1)).equal);
  const auto flags = compare_all<std::uint8_t>(ScalarType::Bool, {1, 0}, {1, 1},
                                               default_tolerance(ScalarType::Bool));
  CHECK_THAT(flags.text, ContainsSubstring("at [1]: expected true, found false"));
}

TEST_CASE("the default limits of every dtype find one wrong element", "[compare]") {
  for (const ScalarTypeInfo& info : scalar_types) {
    CAPTURE(info.name);
    std::vector<std::uint8_t> expected(4 * info.size, 0);
    CHECK(compare_all(info.type, expected, expected, default_tolerance(info.type)).equal);
    // All bits of the second element except a sign: not 0 in any dtype.
    auto found = expected;
    for (std::size_t i = 0; i < info.size; ++i) found[info.size + i] = 0x3f;
    CHECK_FALSE(compare_all(info.type, found, expected, default_tolerance(info.type)).equal);
  }
}

TEST_CASE("dtype and shape must be the expected ones", "[compare]") {
  const std::vector<float> data(6, 0);
  const auto bytes = std::as_bytes(std::span(data));
  const Shape wide{2, 3};
  const Shape tall{3, 2};
  const auto shapes =
      compare({ScalarType::Float, wide, bytes}, {ScalarType::Float, tall, bytes}, limits(1));
  CHECK_FALSE(shapes.equal);
  CHECK(shapes.text == "shape is [2, 3], expected [3, 2]");
  const auto types =
      compare({ScalarType::Float, wide, bytes}, {ScalarType::Int, wide, bytes}, limits(1));
  CHECK_FALSE(types.equal);
  CHECK(types.text == "dtype is Float, expected Int");
}

TEST_CASE("an output of a method is compared with a file", "[compare]") {
  const case_test::Directory directory;
  directory.array("expected.npy", {1, 2, 3});
  const CaseValue expected = ArrayFile{directory / "expected.npy"};
  std::vector<float> data{1, 2, 3.5F};
  const Output output(ScalarType::Float, {3}, {0}, data.data());
  const auto result = compare_output(1, output.value, expected, {});
  REQUIRE(result.ok());
  CHECK_FALSE(result->equal);
  CHECK_THAT(result->text, ContainsSubstring("output 1: nmse 0.01786 > 1e-07, peak 0.1667 >"));

  Tolerances wide;
  wide.set(ScalarType::Float, limits(0.1));
  CHECK(compare_output(1, output.value, expected, wide)->equal);
}

TEST_CASE("outputs in another dim order, without elements and of rank 0 are compared",
          "[compare]") {
  const case_test::Directory directory;
  const std::vector<float> rows{0, 1, 2, 3, 4, 5};
  std::vector<float> columns{0, 3, 1, 4, 2, 5};
  const auto write = [&](const char* name, const Shape& shape, std::span<const float> values) {
    REQUIRE(host::write_npy(directory.file(name), ScalarType::Float, shape, std::as_bytes(values))
                .ok());
    return CaseValue(ArrayFile{directory / name});
  };
  const Output strided(ScalarType::Float, {2, 3}, {1, 0}, columns.data());
  CHECK(compare_output(0, strided.value, write("a.npy", {2, 3}, rows), {})->equal);
  CHECK_FALSE(compare_output(0, strided.value, write("a.npy", {2, 3}, columns), {})->equal);

  const Output empty(ScalarType::Float, {0, 4}, {0, 1}, nullptr);
  CHECK(compare_output(0, empty.value, write("b.npy", {0, 4}, {}), {})->text ==
        "output 0: equal in all of 0 elements");
  CHECK_FALSE(compare_output(0, empty.value, write("b.npy", {4, 0}, {}), {})->equal);

  const Output scalar(ScalarType::Float, {}, {}, columns.data() + 2);
  CHECK(compare_output(0, scalar.value, write("c.npy", {}, std::span(rows).subspan(1, 1)), {})
            ->equal);
  const auto other =
      compare_output(0, scalar.value, write("c.npy", {}, std::span(rows).first(1)), {});
  CHECK_THAT(other->text, ContainsSubstring("largest difference 1 at []: expected 0, found 1"));
}

TEST_CASE("numbers, texts and nothing are compared, too", "[compare]") {
  CHECK(compare_output(0, number(3), std::int64_t{3}, {})->equal);
  CHECK_FALSE(compare_output(0, number(3), std::int64_t{4}, {})->equal);
  CHECK(compare_output(0, number(3), std::monostate(), {})->text == "output 0: not compared");

  const std::string said = "mean";
  tenon_value text{};
  text.struct_size = sizeof text;
  text.kind = TENON_VALUE_STRING;
  text.as.span = {said.data(), said.size()};
  CHECK(compare_output(0, text, std::string("mean"), {})->equal);
  CHECK(compare_output(2, text, std::string("sum"), {})->text ==
        "output 2: expected 'sum', found 'mean'");
  CHECK_THAT(compare_output(0, number(3), std::string("x"), {})->text,
             ContainsSubstring("expected a text, found a value of kind Int"));
  CHECK_THAT(compare_output(0, text, std::int64_t{1}, {})->text,
             ContainsSubstring("output 0: a value of kind String is not an array"));
}

TEST_CASE("an expected value that cannot be read is an error, not a difference", "[compare]") {
  const case_test::Directory directory;
  const auto none = compare_output(4, number(1), ArrayFile{directory / "none.npy"}, {});
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(std::string(none.text()),
             ContainsSubstring("output 4: ") && ContainsSubstring("none.npy"));
  CHECK(compare_output(0, number(1), 2.5, {}).error() == Error::InvalidType);
}

}  // namespace compare_test
