// SPDX-License-Identifier: MIT
//
// Operators that models call by number. Expected numbers are PyTorch's.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/arguments.hpp"
#include "operators/proxy.hpp"
#include "proxy_call.hpp"
#include "support/catch.hpp"
#include "tenon/core/concat.hpp"

using namespace kernel_test;
using namespace tenon;

namespace operators_test {
namespace {

using Values = std::vector<double>;

std::string argument(const std::string& name, const std::string& value) {
  return R"({"name": ")" + name + R"(", "arg": {)" + value + R"(}, "kind": 1})";
}
const std::string self = argument("self", R"("as_tensor": {"name": "x"})");

/// The description of one call with `results` tensors as outputs.
std::string description(const std::string& target, const std::string& inputs, int results) {
  std::string outputs;
  for (int i = 0; i < results; ++i) {
    outputs += i == 0 ? "" : ", ";
    outputs += R"({"as_tensor": {"name": "out"}})";
  }
  return R"({"nodes": [{"name": "buf0", "node": {"target": ")" + target + R"(", "inputs": [)" +
         inputs + R"(], "outputs": [)" + outputs + "]}}]}";
}

Call call(const std::string& calls, const std::vector<ModelTensor*>& inputs,
          std::vector<std::int64_t> integers, std::size_t num_results) {
  const auto proxy = cpu_aoti::make_proxy(calls);
  INFO(proxy.text());
  REQUIRE(proxy.ok());
  std::vector<ModelTensor*> tensors(inputs);
  Call out(num_results, tensors);
  TensorPool& pool = aoti::current_pool();
  const std::size_t live = pool.num_live();
  const auto failed = aoti::shims::aoti_torch_proxy_executor_call_function(
      proxy->get(), 0, static_cast<std::int32_t>(integers.size()), integers.data(),
      static_cast<std::int32_t>(tensors.size()), tensors.data());
  CHECK(pool.num_live() == live);
  if (failed != 0) out.failure = pool.take_failure();
  return out;
}

std::string refusal(const std::string& calls, Error code = Error::InvalidProgram) {
  const auto proxy = cpu_aoti::make_proxy(calls);
  CHECK(proxy.error() == code);
  return std::string(proxy.text());
}

const double nan = std::nan("");

}  // namespace

TEST_CASE("median along a dimension: the lower one, where a stable sort has it", "[cpu_aoti]") {
  Fixture fixture;
  const std::string inputs = self + ", " + argument("dim", R"("as_int": -1)") + ", " +
                             argument("keepdim", R"("as_bool": false)");
  const Handle x =
      tensor({3, 4}, {4, 1, 3, 2, 5, 5, 5, 5, nan, 7, nan, 1}, ScalarType::Float, {1, 3});
  const Call plain = call(description("aten::median.dim", inputs, 2), {x.get()}, {-1}, 2);
  CHECK(plain.failure.empty());
  CHECK(plain.results[0].sizes() == Shape{3});
  CHECK(plain.results[0].at(0) == 2);
  CHECK(plain.results[0].at(1) == 5);
  CHECK(std::isnan(plain.results[0].at(2)));
  CHECK(plain.results[1].values() == Values{3, 1, 0});
  CHECK(plain.results[1]->scalar_type == ScalarType::Long);

  const Call skipping = call(description("aten::nanmedian.dim", inputs, 2), {x.get()}, {-1}, 2);
  CHECK(skipping.results[0].values() == Values{2, 5, 1});
  CHECK(skipping.results[1].values() == Values{3, 1, 3});

  const Handle empty = make({2, 0});
  CHECK_THAT(call(description("aten::median.dim", inputs, 2), {empty.get()}, {-1}, 2).failure,
             ContainsSubstring("operator call: aten::median.dim: dimension 1 of [2, 0]: expected "
                               "at least one element"));
}

TEST_CASE("unique elements with their groups, whose number depends on the elements", "[cpu_aoti]") {
  Fixture fixture;
  const auto inputs = [](bool inverse, bool counts) {
    return self + ", " + argument("sorted", R"("as_bool": true)") + ", " +
           argument("return_inverse", inverse ? R"("as_bool": true)" : R"("as_bool": false)") +
           ", " + argument("return_counts", counts ? R"("as_bool": true)" : R"("as_bool": false)");
  };
  const Handle x = tensor({2, 3}, {3, 1, 3, 2, 1, 3}, ScalarType::Long);
  const Call all = call(description("aten::_unique2", inputs(true, true), 3), {x.get()}, {}, 3);
  CHECK(all.results[0].values() == Values{1, 2, 3});
  CHECK(all.results[0]->scalar_type == ScalarType::Long);
  CHECK(all.results[1].sizes() == Shape{2, 3});
  CHECK(all.results[1].values() == Values{2, 0, 2, 1, 0, 2});
  CHECK(all.results[2].values() == Values{2, 1, 3});

  const Call alone = call(description("aten::_unique2", inputs(false, false), 3), {x.get()}, {}, 3);
  CHECK(alone.results[0].values() == Values{1, 2, 3});
  CHECK(alone.results[1].sizes() == Shape{0});
  CHECK(alone.results[2].sizes() == Shape{0});

  const Handle with_nan = tensor({4}, {nan, 1, nan, 1}, ScalarType::BFloat16);
  const Call apart =
      call(description("aten::_unique2", inputs(false, true), 3), {with_nan.get()}, {}, 3);
  CHECK(apart.results[0].sizes() == Shape{3});
  CHECK(apart.results[2].values() == Values{2, 1, 1});
}

TEST_CASE("unique elements of neighbours", "[cpu_aoti]") {
  Fixture fixture;
  const std::string inputs = self + ", " + argument("return_inverse", R"("as_bool": true)") + ", " +
                             argument("return_counts", R"("as_bool": true)");
  const Handle x = tensor({6}, {1, 1, 2, 1, 1, 1}, ScalarType::Int);
  const std::string calls = description("aten::unique_consecutive", inputs, 3);
  const Call groups = call(calls, {x.get()}, {}, 3);
  CHECK(groups.results[0].values() == Values{1, 2, 1});
  CHECK(groups.results[1].values() == Values{0, 0, 1, 2, 2, 2});
  CHECK(groups.results[2].values() == Values{2, 1, 3});
  const Handle none = make({0}, ScalarType::Int);
  CHECK(call(calls, {none.get()}, {}, 3).results[0].sizes() == Shape{0});

  const std::string along = inputs + ", " + argument("dim", R"("as_int": 0)");
  const Handle rows = tensor({4, 3}, {1, 1, 2, 1, 1, 2, 3, 1, 2, 1, 1, 2}, ScalarType::Int);
  const Call slices = call(description("aten::unique_consecutive", along, 3), {rows.get()}, {0}, 3);
  CHECK(slices.results[0].sizes() == Shape{3, 3});
  CHECK(slices.results[0].values() == Values{1, 1, 2, 3, 1, 2, 1, 1, 2});
  CHECK(slices.results[1].values() == Values{0, 0, 1, 2});
  CHECK(slices.results[2].values() == Values{2, 1, 1});
}

TEST_CASE("unique slices along a dimension, in row-major order", "[cpu_aoti]") {
  Fixture fixture;
  const std::string inputs = self + ", " + argument("dim", R"("as_int": 0)") + ", " +
                             argument("sorted", R"("as_bool": true)") + ", " +
                             argument("return_inverse", R"("as_bool": true)");
  const std::string calls = description("aten::unique_dim", inputs, 3);
  const Values values = {3, 1, 3, 2, 1, 1, 1, 2, 3, 1, 3, 2};
  for (const Shape& strides : {Shape{}, Shape{1, 3}}) {
    const Handle x = tensor({3, 4}, values, ScalarType::Float, strides);
    const Call rows = call(calls, {x.get()}, {0}, 3);
    CHECK(rows.failure.empty());
    CHECK(rows.results[0].sizes() == Shape{2, 4});
    CHECK(rows.results[0].values() == Values{1, 1, 1, 2, 3, 1, 3, 2});
    CHECK(rows.results[1].values() == Values{1, 0, 1});
    CHECK(rows.results[2].values() == Values{1, 2});

    const Call columns = call(calls, {x.get()}, {-1}, 3);
    CHECK(columns.results[0].sizes() == Shape{3, 3});
    CHECK(columns.results[0].strides() == Shape{3, 1});
    CHECK(columns.results[0].values() == Values{1, 2, 3, 1, 2, 1, 1, 2, 3});
    CHECK(columns.results[1].values() == Values{2, 0, 2, 1});
    CHECK(columns.results[2].values() == Values{1, 1, 2});
  }
  const Handle cube = tensor({2, 2, 2}, {1, 0, 1, 0, 0, 1, 0, 1}, ScalarType::Bool);
  const Call planes = call(calls, {cube.get()}, {1}, 3);
  CHECK(planes.results[0].sizes() == Shape{2, 1, 2});
  CHECK(planes.results[0].values() == Values{1, 0, 0, 1});
  CHECK(planes.results[2].values() == Values{2});
  const Handle with_nan = tensor({3, 2}, {nan, 1, nan, 1, 0, 1});
  const Call nans = call(calls, {with_nan.get()}, {0}, 3);  // Last, and equal to nothing.
  CHECK(nans.results[0].at(0) == 0);
  CHECK(nans.results[1].values() == Values{1, 2, 0});
  CHECK(nans.results[2].values() == Values{1, 1, 1});
  const Handle none = make({0, 3});
  const Call empty = call(calls, {none.get()}, {0}, 3);
  CHECK(empty.results[0].sizes() == Shape{0, 3});
  CHECK(empty.results[1].sizes() == Shape{0});

  CHECK_THAT(call(calls, {none.get()}, {1}, 3).failure,
             ContainsSubstring("slices of [0, 3] along dimension 1: expected elements in each"));
  CHECK_THAT(call(calls, {make({0, 0}).get()}, {0}, 3).failure,
             ContainsSubstring("slices of [0, 0] along dimension 0"));
  const Handle scalar = make({});
  CHECK_THAT(call(calls, {scalar.get()}, {0}, 3).failure, ContainsSubstring("slices of []"));
  CHECK_THAT(call(calls, {cube.get()}, {3}, 3).failure, ContainsSubstring("dimension 3 of 3"));
}

TEST_CASE("bins are counted or summed, as many as the largest number asks for", "[cpu_aoti]") {
  Fixture fixture;
  const Handle x = tensor({5}, {1, 4, 1, 0, 1}, ScalarType::Short);
  CHECK(call(description("aten::bincount", self, 1), {x.get()}, {}, 1).results[0].values() ==
        Values{1, 3, 0, 0, 1});
  const std::string longer = self + ", " + argument("weights", R"("as_none": true)") + ", " +
                             argument("minlength", R"("as_int": 7)");
  const Call padded = call(description("aten::bincount", longer, 1), {x.get()}, {7}, 1);
  CHECK(padded.results[0].values() == Values{1, 3, 0, 0, 1, 0, 0});
  CHECK(padded.results[0]->scalar_type == ScalarType::Long);

  const std::string weighted = self + ", " + argument("weights", R"("as_tensor": {"name": "w"})");
  const Handle weights = tensor({5}, {0.5, 2, 1, -1, 0.25});
  const Call sums =
      call(description("aten::bincount", weighted, 1), {x.get(), weights.get()}, {}, 1);
  CHECK(sums.results[0].values() == Values{-1, 1.75, 0, 0, 2});
  CHECK(sums.results[0]->scalar_type == ScalarType::Float);
  const Handle whole = tensor({5}, {1, 2, 3, 4, 5}, ScalarType::Int);
  const Call doubles =
      call(description("aten::bincount", weighted, 1), {x.get(), whole.get()}, {}, 1);
  CHECK(doubles.results[0].values() == Values{4, 9, 0, 0, 2});
  CHECK(doubles.results[0]->scalar_type == ScalarType::Double);
}

TEST_CASE("bins refuse numbers that are negative, real, or too large", "[cpu_aoti]") {
  Fixture fixture;
  const std::string calls = description("aten::bincount", self, 1);
  const Handle negative = tensor({2}, {1, -1}, ScalarType::Long);
  CHECK_THAT(call(calls, {negative.get()}, {}, 1).failure, ContainsSubstring("number -1"));
  const Handle large = tensor({1}, {1e12}, ScalarType::Long);
  CHECK_THAT(call(calls, {large.get()}, {}, 1).failure, ContainsSubstring("expected below"));
  const Handle real = tensor({1}, {1});
  CHECK_THAT(call(calls, {real.get()}, {}, 1).failure, ContainsSubstring("numbers of Float"));
  const Handle square = make({2, 2}, ScalarType::Long);
  CHECK_THAT(call(calls, {square.get()}, {}, 1).failure, ContainsSubstring("one dimension"));
}

TEST_CASE("indices are drawn with the chances of their weights", "[cpu_aoti]") {
  Fixture fixture;
  const auto inputs = [](bool replacement, std::int64_t count) {
    return self + ", " + argument("num_samples", "\"as_int\": " + std::to_string(count)) + ", " +
           argument("replacement", replacement ? R"("as_bool": true)" : R"("as_bool": false)") +
           ", " + argument("generator", R"("as_none": true)");
  };
  const Handle weights = tensor({2, 3}, {0, 1, 3, 2, 0, 2}, ScalarType::Float, {1, 2});
  const Call many =
      call(description("aten::multinomial", inputs(true, 8000), 1), {weights.get()}, {8000}, 1);
  CHECK(many.results[0].sizes() == Shape{2, 8000});
  double sums[2][3] = {};
  for (std::int64_t i = 0; i < 16000; ++i) {
    sums[i / 8000][static_cast<std::size_t>(many.results[0].at(i))] += 1;
  }
  // Ten standard deviations, so that chance cannot fail the test.
  CHECK(sums[0][0] == 0);
  CHECK(std::abs(sums[0][1] - 2000) < 390);
  CHECK(sums[1][1] == 0);
  CHECK(std::abs(sums[1][0] - 4000) < 450);

  const std::string once = description("aten::multinomial", inputs(false, 2), 1);
  for (int i = 0; i < 20; ++i) {
    const Call both = call(once, {weights.get()}, {2}, 1);
    CHECK(both.results[0].at(0) + both.results[0].at(1) == 3);
    CHECK(both.results[0].at(2) + both.results[0].at(3) == 2);
  }
  // As in PyTorch, indices of weight 0 follow where there are too few others.
  const Handle one = tensor({3}, {0, 1, 0});
  CHECK(call(once, {one.get()}, {2}, 1).results[0].values() == Values{1, 0});
  const Handle nothing = tensor({3}, {0, 0, 0});
  CHECK_THAT(call(once, {nothing.get()}, {2}, 1).failure,
             ContainsSubstring("row 0: expected a weight above 0, found none"));
  CHECK_THAT(call(once, {one.get()}, {4}, 1).failure, ContainsSubstring("4 indices of 3"));
  const Handle negative = tensor({2}, {-1, 1});
  CHECK_THAT(call(once, {negative.get()}, {2}, 1).failure, ContainsSubstring("weight -1 at 0"));
  const Handle cube = make({1, 1, 2});
  CHECK_THAT(call(once, {cube.get()}, {1}, 1).failure, ContainsSubstring("one or two dimensions"));
}

TEST_CASE("an operator that checks a factorisation has no result", "[cpu_aoti][linalg]") {
  Fixture fixture;
  const std::string calls = description("aten::_linalg_check_errors",
                                        argument("info", R"("as_tensor": {"name": "i"})") + ", " +
                                            argument("api_name", R"("as_string": "linalg.inv")") +
                                            ", " + argument("is_matrix", R"("as_bool": true)"),
                                        0);
  const Handle good = tensor({2}, {0, 0}, ScalarType::Int);
  CHECK(call(calls, {good.get()}, {}, 0).failure.empty());
  const Handle bad = tensor({2}, {0, 3}, ScalarType::Int);
  CHECK_THAT(call(calls, {bad.get()}, {}, 0).failure,
             ContainsSubstring("linalg.inv: a matrix is singular"));
}

TEST_CASE("an operator's number is in the description, or is left out", "[cpu_aoti]") {
  Fixture fixture;
  const auto inputs = [](const std::string& scale) {
    return self + ", " + argument("output_size", R"("as_ints": [1, 1])") + ", " +
           argument("align_corners", R"("as_bool": false)") + ", " +
           argument("scales_h", R"("as_none": true)") + ", " + argument("scales_w", scale);
  };
  const std::string name = "aten::_upsample_bilinear2d_aa";
  const Handle x = tensor({1, 1, 1, 2}, {1, 3});
  const Call whole = call(description(name, inputs(R"("as_none": true)"), 1), {x.get()}, {1, 1}, 1);
  CHECK(whole.results[0].values() == Values{2});
  // The center is 0.5: the weights of PyTorch are 1 and 0.
  const Call first = call(description(name, inputs(R"("as_float": 1.0)"), 1), {x.get()}, {1, 1}, 1);
  CHECK(first.results[0].values() == Values{1});
  CHECK_THAT(refusal(description(name, inputs(R"("as_float": "1")"), 1), Error::NotSupported),
             ContainsSubstring("argument 'scales_w' has the type as_float"));
}

/// The description of a call of the median along dimension 0.
std::unique_ptr<const aoti::ProxyExecutor> median_of_columns() {
  auto proxy = cpu_aoti::make_proxy(
      description("aten::median.dim", self + ", " + argument("dim", R"("as_int": 0)"), 2));
  REQUIRE(proxy.ok());
  return *std::move(proxy);
}

TEST_CASE("steady calls of an operator allocate nothing", "[cpu_aoti]") {
  Fixture fixture;
  const auto proxy = median_of_columns();
  const Handle x = tensor({4}, {4, 1, 3, 2});
  std::size_t before = 0;
  for (int run = 0; run < 4; ++run) {
    if (run == 1) before = allocations();
    Handle values, indices;
    REQUIRE(aoti::shims::aoti_torch_new_uninitialized_tensor(values.out()) == 0);
    REQUIRE(aoti::shims::aoti_torch_new_uninitialized_tensor(indices.out()) == 0);
    ModelTensor* const tensors[] = {x.get(), values.get(), indices.get()};
    const std::int64_t dim = 0;
    REQUIRE(proxy->call(0, {&dim, 1}, tensors).ok());
    CHECK(values.at(0) == 2);
  }
  CHECK(allocations() == before);
}

TEST_CASE("a description is refused by call and argument", "[cpu_aoti]") {
  const std::string dim = argument("dim", R"("as_int": 0)");
  const auto median = [](const std::string& inputs, int results = 2) {
    return description("aten::median.dim", inputs, results);
  };
  for (const std::string text : {"", "{", "{\"nodes\": 1} 2"}) {
    INFO(text);
    CHECK_THAT(refusal(text), ContainsSubstring("the description: is not JSON: parse error"));
  }
  const std::pair<const char*, const char*> rows[] = {
      {"[]", "the description: expected an object, found an array of 0"},
      {"null", "the description: expected an object, found 'null'"},
      {R"({"nodes": {}})", "the description: nodes: expected an array, found an object of 0"},
      {R"({"nodes": [1]})", "the description: nodes[0]: expected an object, found '1'"},
      {R"({"nodes": [{"node": {"target": 1}}]})",
       "the description: nodes[0].node.target: expected a text, found '1'"},
      {R"({"nodes": [{"node": {"target": "aten::median.dim"}}]})",
       "call 0, aten::median.dim: inputs: is missing, expected an array"},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    CHECK_THAT(refusal(text), ContainsSubstring(expected));
  }
  CHECK_THAT(refusal(median(self)), ContainsSubstring("has no argument 'dim'"));
  CHECK_THAT(refusal(median(dim + ", " + self)),
             ContainsSubstring("argument 'self' is behind a later one"));
  CHECK_THAT(refusal(median(self + ", " + dim + ", " + dim)), ContainsSubstring("there twice"));
  CHECK_THAT(refusal(median(self + ", " + dim, 1)),
             ContainsSubstring("expected 2 tensors as outputs, found 1"));
  CHECK_THAT(
      refusal(median(self + ", " + dim + R"(, {"name": "keepdim", "arg": {}})")),
      ContainsSubstring("inputs[2].arg: expected an object with one member, found an object of 0"));
  CHECK_THAT(
      refusal(median(self + ", " + argument("dim", R"("as_float": 0.0)")), Error::NotSupported),
      ContainsSubstring("argument 'dim' has the type as_float"));
  CHECK_THAT(refusal(median(self + ", " + dim + ", " + argument("keepdim", R"("as_bool": 1)")),
                     Error::NotSupported),
             ContainsSubstring("argument 'keepdim' has the type as_bool"));
  CHECK_THAT(refusal(median(self + ", " + argument("axis", R"("as_int": 0)")), Error::NotSupported),
             ContainsSubstring("has an argument 'axis', which is not known"));
}

TEST_CASE("all operators without code are named, each once", "[cpu_aoti]") {
  std::string nodes;
  for (const char* target : {"acme::one", "aten::median.dim", "acme::two.out", "acme::one"}) {
    const std::string one = description(target, self + ", " + argument("dim", R"("as_int": 0)"), 2);
    const std::string begin = R"({"nodes": [)";
    nodes += nodes.empty() ? begin : ", ";
    nodes += one.substr(begin.size(), one.size() - begin.size() - 2);
  }
  CHECK_THAT(refusal(nodes + "]}", Error::OperatorMissing),
             ContainsSubstring("no code here for 2 operators: acme::one, acme::two.out"));
}

TEST_CASE("of many operators without code the first are named", "[cpu_aoti]") {
  const auto calls = [](int count, int different) {
    std::string out = R"({"nodes": [)";
    for (int i = 0; i < count; ++i) {
      out += concat(i == 0 ? "" : ",", R"({"node":{"target":"a::)", i % different, R"("}})");
    }
    return out + "]}";
  };
  const std::string some = refusal(calls(100, 40), Error::OperatorMissing);
  CHECK_THAT(some, ContainsSubstring("for 40 operators: a::0, a::1, a::2"));
  CHECK_THAT(some, ContainsSubstring("a::30, a::31 and 8 more; have them decomposed"));
  CHECK_THAT(refusal(calls(32, 32), Error::OperatorMissing), ContainsSubstring("a::31; have"));
  CHECK_THAT(refusal(calls((1 << 16) + 1, 1), Error::OutOfResources),
             ContainsSubstring("65537 calls: expected at most 65536"));
}

TEST_CASE("a description that is too deep, too large or has a key twice is refused", "[cpu_aoti]") {
  CHECK_THAT(refusal(std::string(100, '[') + std::string(100, ']'), Error::InvalidProgram),
             ContainsSubstring("the description: is nested deeper than 32 levels"));
  CHECK_THAT(refusal(std::string((std::size_t{1} << 22) + 1, ' '), Error::InvalidProgram),
             ContainsSubstring("the description: has 4194305 bytes, the limit of JSON is 4194304"));
  CHECK_THAT(refusal(R"({"nodes": [1], "nodes": []})", Error::InvalidProgram),
             ContainsSubstring("the description: the key 'nodes' is written twice"));
  CHECK_THAT(refusal("{", Error::InvalidProgram), ContainsSubstring("is not JSON: parse error"));
  const std::string text =
      R"({"nodes": [], "comment": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\""})";
  CHECK(cpu_aoti::make_proxy(text).ok());
}

TEST_CASE("a call that does not fit its description is refused", "[cpu_aoti]") {
  Fixture fixture;
  const auto proxy = median_of_columns();
  const Handle x = tensor({4}, {4, 1, 3, 2});
  ModelTensor* const one = x.get();
  CHECK_THAT(std::string(proxy->call(1, {}, {&one, 1}).text()),
             ContainsSubstring("number 1: the description has 1"));
  CHECK_THAT(std::string(proxy->call(0, {}, {&one, 1}).text()),
             ContainsSubstring("expected 1 integers and 1 + 2 tensors, the model passes 0 and 1"));
  CHECK(aoti::shims::aoti_torch_proxy_executor_call_function(nullptr, 0, 0, nullptr, 0, nullptr) ==
        1);
  CHECK_THAT(fixture.pool.take_failure(), ContainsSubstring("no description of calls"));
  CHECK(aoti::shims::aoti_torch_proxy_executor_call_function(proxy.get(), -1, 0, nullptr, 0,
                                                             nullptr) == 1);
}

}  // namespace operators_test
