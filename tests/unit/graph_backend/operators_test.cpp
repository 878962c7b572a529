// SPDX-License-Identifier: MIT
//
// Each operator against what PyTorch computes (tests/fixtures/graph_backend/record_operators.py).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "aot/operators.hpp"
#include "compiled.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_operators_test {
namespace {

using nlohmann::json;

json read_cases(const char* path) { return json::parse(std::ifstream(path)).at("cases"); }

const json& recorded() {
  static const json all = read_cases(TENON_TEST_FIXTURES "/graph_backend/operators.json");
  return all;
}

/// NaN, infinities, zeros of both signs, subnormals, the largest number, no elements.
const json& recorded_special() {
  static const json all = read_cases(TENON_TEST_FIXTURES "/graph_backend/special_values.json");
  return all;
}

/// float16 and bfloat16.
const json& recorded_short() {
  static const json all = read_cases(TENON_TEST_FIXTURES "/graph_backend/short_floats.json");
  return all;
}

/// "nan", "inf" and "-inf" are strings, as JSON has no such numbers.
float number_of(const json& number) {
  return number.is_string() ? std::strtof(number.get_ref<const std::string&>().c_str(), nullptr)
                            : number.get<float>();
}

std::vector<float> numbers_of(const json& tensor) {
  std::vector<float> out;
  for (const json& number : tensor.at("data")) out.push_back(number_of(number));
  return out;
}

std::vector<std::int64_t> sizes_of(const json& tensor) {
  return tensor.at("sizes").get<std::vector<std::int64_t>>();
}

ScalarType type_of(const json& tensor) {
  return find_torch_scalar_type(tensor.at("dtype").get<std::string>())->type;
}

aot::EdgeTensor description(const json& tensor) {
  aot::EdgeTensor out;
  out.scalar_type = type_of(tensor);
  for (const std::int64_t size : sizes_of(tensor)) out.sizes.emplace_back(size);
  return out;
}

std::vector<std::byte> data_of(const json& tensor) {
  const auto copy = [](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const auto numbers = numbers_of(tensor);
  if (type_of(tensor) == ScalarType::Float) return copy(numbers);
  if (type_of(tensor) == ScalarType::Bool) {
    return copy(std::vector<std::uint8_t>(numbers.begin(), numbers.end()));
  }
  const auto shorten = [&]<class Short>(Short) {
    std::vector<Short> out;
    for (const float number : numbers) out.push_back(Short::from_float(number));
    return copy(out);
  };
  if (type_of(tensor) == ScalarType::Half) return shorten(Half());
  if (type_of(tensor) == ScalarType::BFloat16) return shorten(BFloat16());
  return copy(std::vector<std::int64_t>(numbers.begin(), numbers.end()));
}

aot::EdgeArgumentValue value_of(const json& value) {
  if (value.is_null()) return std::monostate();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value == "nan" || value == "inf" || value == "-inf") return double{number_of(value)};
  if (value.is_string()) return value.get<std::string>();
  return aot::EdgeInts(value.get<std::vector<std::int64_t>>());
}

/// The graph of one recorded call.
aot::OwnedEdgeProgram graph_of(const json& one) {
  aot::EdgeProgramBuilder graph;
  std::vector<aot::ValueId> values;
  for (const json& tensor : one.at("tensors")) {
    const std::string name = concat("tensor_", values.size());
    values.push_back(tensor.at("parameter")
                         ? graph.stored(aot::EdgeOrigin::Parameter, name, "module." + name,
                                        description(tensor), data_of(tensor))
                         : graph.user_input(name, description(tensor)));
  }
  std::vector<aot::EdgeProgramBuilder::Argument> arguments;
  for (const json& argument : one.at("arguments")) {
    aot::EdgeArgumentValue value;
    if (argument.contains("tensor")) {
      value = aot::EdgeRef{values.at(argument.at("tensor"))};
    } else if (argument.contains("tensors")) {
      std::vector<aot::ValueId> list;
      for (const json& index : argument.at("tensors")) list.push_back(values.at(index));
      value = std::move(list);
    } else {
      value = value_of(argument.at("value"));
    }
    arguments.emplace_back(argument.at("name"), std::move(value));
  }
  std::vector<aot::ValueId> outputs = {graph.node_output("out", description(one.at("result")))};
  for (const json& other : one.at("others")) {
    outputs.push_back(graph.node_output(concat("unused_", outputs.size()), description(other)));
  }
  graph.add_node("call", one.at("target").get<std::string>(), arguments, outputs);
  graph.user_output(outputs[0]);
  return build_ok(std::move(graph));
}

/// 1 for true, 0 for false.
std::vector<float> bools(const auto& output) {
  const TensorView tensor(*output.as.tensor);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(tensor.data());
  return std::vector<float>(bytes, bytes + tensor.nbytes());
}

template <class Short>
std::vector<float> widened(const tenon_value& output) {
  const TensorView tensor(*output.as.tensor);
  std::vector<Short> elements(tensor.nbytes() / sizeof(Short));
  std::memcpy(elements.data(), tensor.data(), tensor.nbytes());
  std::vector<float> out;
  for (const Short each : elements) out.push_back(each.to_float());
  return out;
}

std::vector<float> numbers_of(const tenon_value& output, ScalarType type) {
  if (type == ScalarType::Bool) return bools(output);
  if (type == ScalarType::Half) return widened<Half>(output);
  if (type == ScalarType::BFloat16) return widened<BFloat16>(output);
  return floats(output);
}

/// As numpy.testing.assert_allclose; a short float may be its neighbour, as sums have an order.
bool near(const std::vector<float>& found, const std::vector<float>& expected, ScalarType type) {
  const float relative = type == ScalarType::BFloat16 ? 0x1p-7F
                         : type == ScalarType::Half   ? 0x1p-10F
                                                      : 1e-5F;
  return std::ranges::equal(found, expected, [relative](float a, float b) {
    return a == b || std::abs(a - b) <= 2e-6F + relative * std::abs(b) ||
           (std::isnan(a) && std::isnan(b));
  });
}

void compare(const json& one, const Specs& specs) {
  INFO(one.at("name").get<std::string>() << ", " << one.at("target").get<std::string>());
  const auto graph = graph_of(one);
  const auto method = load_ok(graph, specs);
  std::size_t input = 0;
  std::vector<std::vector<std::byte>> kept;
  for (const json& tensor : one.at("tensors")) {
    if (tensor.at("parameter")) continue;
    kept.push_back(data_of(tensor));
    const auto sizes = sizes_of(tensor);
    const host::InputTensor given{type_of(tensor), sizes, kept.back()};
    REQUIRE(method->set_input(input++, given).ok());
  }
  const Status ran = method->execute();
  INFO(ran.text());
  REQUIRE(ran.ok());
  const ScalarType type = type_of(one.at("result"));
  const auto found = numbers_of(method->output(0), type);
  const auto expected = numbers_of(one.at("result"));
  CAPTURE(found, expected);
  CHECK(near(found, expected, type));
}

}  // namespace

TEST_CASE("each operator computes what PyTorch computes", "[graph_backend]") {
  REQUIRE(recorded().size() > 100);
  for (const auto& one : recorded()) compare(one, {});
}

TEST_CASE("each operator computes the same when nothing is folded", "[graph_backend]") {
  for (const auto& one : recorded()) compare(one, {{"fold", "0"}});
}

TEST_CASE("each operator computes what PyTorch computes of special values", "[graph_backend]") {
  REQUIRE(recorded_special().size() > 150);
  for (const auto& one : recorded_special()) compare(one, {});
}

TEST_CASE("operators of float16 and bfloat16 compute what PyTorch computes", "[graph_backend]") {
  REQUIRE(recorded_short().size() > 40);
  for (const auto& one : recorded_short()) compare(one, {});
  for (const auto& one : recorded_short()) compare(one, {{"fold", "0"}});
}

TEST_CASE("each operator that the backend has is compared with PyTorch", "[graph_backend]") {
  for (const json* cases : {&recorded(), &recorded_special()}) {
    std::set<std::string> compared;
    for (const auto& one : *cases) compared.insert(one.at("target").get<std::string>());
    // The result is the argument, in all of them by the same function as `clone`.
    for (const char* same :
         {"aten.contiguous.default", "aten.alias.default", "aten.detach.default"}) {
      compared.insert(same);
    }
    for (const auto& rows : graph_backend::all_operators()) {
      for (const auto& row : rows) {
        INFO(row.target);
        CHECK(compared.contains(std::string(row.target)));
      }
    }
  }
}

}  // namespace graph_operators_test
