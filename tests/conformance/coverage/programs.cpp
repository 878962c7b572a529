// SPDX-License-Identifier: MIT
#include "coverage/programs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "tenon/core/concat.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

using Json = nlohmann::json;

constexpr std::string_view records[] = {
#include "programs.inc"
};

// Tensors that an exported program has as parameters and buffers.
constexpr std::string_view parameter_names[] = {"weight", "bias", "running_mean", "running_var"};

std::vector<std::byte> bytes_of(const std::string& digits) {
  std::vector<std::byte> out(digits.size() / 2);
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(value(digits[2 * i]) * 16 + value(digits[2 * i + 1]));
  }
  return out;
}

RecordedTensor tensor_of(const Json& type, const Json& sizes, const std::string& digits) {
  return {static_cast<ScalarType>(type.get<int>()), sizes.get<std::vector<std::int64_t>>(),
          bytes_of(digits)};
}

/// Throws what the parser throws: the text is part of this program.
void add_calls(std::string_view text, std::vector<RecordedCall>& out) {
  const Json line = Json::parse(text);
  for (const auto& [dtype, record] : line.at("dtypes").items()) {
    RecordedCall& call = out.emplace_back();
    call.name = line.at("operator");
    call.dtype = dtype;
    call.core = line.at("core");
    for (const Json& argument : line.at("arguments")) {
      call.arguments.emplace_back(argument.at(0).get<std::string>(), argument.at(1).dump());
    }
    for (std::size_t i = 0; i < record.at("inputs").size(); ++i) {
      call.tensors.push_back(
          tensor_of(record.at("types").at(i), line.at("sizes").at(i), record.at("inputs").at(i)));
    }
    call.expected = tensor_of(record.at("type"), record.at("sizes"), record.at("expected"));
    for (const Json& other : record.at("others")) {
      call.others.push_back(tensor_of(other.at(0), other.at(1), ""));
    }
  }
}

aot::EdgeTensor shape_of(const RecordedTensor& tensor) {
  aot::EdgeTensor out{tensor.type, {}};
  for (const std::int64_t size : tensor.sizes) out.sizes.emplace_back(size);
  return out;
}

/// A value of a node's argument; `values` are the tensors of the call.
aot::EdgeArgumentValue argument_of(const Json& json, std::span<const aot::ValueId> values) {
  if (json.is_object() && json.contains("tensor")) {
    return aot::EdgeRef{values[json.at("tensor").get<std::size_t>()]};
  }
  if (json.is_object()) {
    std::vector<aot::ValueId> out;
    for (const Json& one : json.at("tensors")) out.push_back(values[one.get<std::size_t>()]);
    return out;
  }
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) return aot::EdgeInts(json.get<std::vector<std::int64_t>>());
  return std::monostate();
}

}  // namespace

bool RecordedCall::is_parameter(std::size_t index) const {
  const std::string wanted = concat("{\"tensor\":", index, "}");
  for (const auto& [argument, value] : arguments) {
    if (value != wanted) continue;
    return std::ranges::find(parameter_names, argument) != std::end(parameter_names);
  }
  return false;
}

Result<aot::OwnedEdgeProgram> RecordedCall::program() const {
  aot::EdgeProgramBuilder graph;
  std::vector<aot::ValueId> values;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string own = concat("tensor_", i);
    values.push_back(is_parameter(i)
                         ? graph.stored(aot::EdgeOrigin::Parameter, own, own, shape_of(tensors[i]),
                                        aot::SharedBytes::copy_of(tensors[i].bytes))
                         : graph.user_input(own, shape_of(tensors[i])));
  }
  std::vector<aot::EdgeProgramBuilder::Argument> given;
  for (const auto& [argument, text] : arguments) {
    given.emplace_back(argument, argument_of(Json::parse(text), values));
  }
  std::vector<aot::ValueId> outputs = {graph.node_output("result", shape_of(expected))};
  for (std::size_t i = 0; i < others.size(); ++i) {
    outputs.push_back(graph.node_output(concat("result_", i + 1), shape_of(others[i])));
  }
  graph.add_node("call", name, given, outputs);
  graph.user_output(outputs.front());
  return std::move(graph).build();
}

Result<std::vector<RecordedCall>> recorded_calls() {
  std::vector<RecordedCall> out;
  try {
    for (const std::string_view record : records) add_calls(record, out);
  } catch (const Json::exception& damaged) {
    return error(Error::Internal, "a recorded operator is damaged: ", damaged.what());
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
