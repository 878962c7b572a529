// SPDX-License-Identifier: MIT
//
// pt2-facts FILE.pt2: what the reader finds in an archive, as JSON, for check_pt2.py to compare
// with what PyTorch says of the same file. Floats are written as PyTorch writes those that JSON has
// not.

#include <cmath>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tenon/aot/compiler/pt2/reader.hpp"
#include "tenon/aot/edge_argument.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/layers/trust/sha256.hpp"

namespace {

using nlohmann::json;
using namespace tenon;
using namespace tenon::aot;

json end(std::int64_t number) {
  return number == INT64_MAX || number == INT64_MIN ? json(nullptr) : json(number);
}

json real(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return number;
}

json name_or_null(const EdgeProgram& program, ValueId id) {
  return id == no_value ? json(nullptr) : json(program.value(id).name());
}

json facts(const EdgeProgram& program, ValueId id) {
  const EdgeValue value = program.value(id);
  json out{{"name", value.name()}, {"origin", static_cast<int>(value.origin())}};
  if (value.kind() == EdgeValueKind::SymInt) {
    const EdgeSize range = value.range();
    out["int"] = {end(range.min), end(range.max)};
  }
  if (!value.is_tensor()) return out;
  out["dtype"] = find_scalar_type(static_cast<std::int64_t>(value.scalar_type()))->torch_name;
  out["sizes"] = json::array();
  for (std::size_t i = 0; i < value.rank(); ++i) {
    out["sizes"].push_back({end(value.size(i).min), end(value.size(i).max)});
  }
  out["dim_order"] = std::vector<int>(value.dim_order().begin(), value.dim_order().end());
  if (value.has_fqn()) {
    out["fqn"] = value.fqn();
    out["sha256"] = tenon::sha256_of(value.data()).to_hex();
  }
  return out;
}

json facts(const EdgeProgram& program, const EdgeArgument& argument) {
  switch (argument.kind()) {
    case EdgeArgumentKind::None:
      return nullptr;
    case EdgeArgumentKind::Value:
      return {{"value", program.value(*argument.value()).name()}};
    case EdgeArgumentKind::Values: {
      json out = json::array();
      const auto ids = *argument.values();
      for (const ValueId id : ids) {
        out.push_back(id == no_value ? json(nullptr) : json{{"value", program.value(id).name()}});
      }
      return out;
    }
    case EdgeArgumentKind::Bool:
      return *argument.boolean();
    case EdgeArgumentKind::Int:
      return *argument.integer();
    case EdgeArgumentKind::Double:
      return real(*argument.number());
    case EdgeArgumentKind::String:
      return *argument.text();
    case EdgeArgumentKind::Bools: {
      json out = json::array();
      const auto booleans = *argument.booleans();
      for (const std::uint8_t boolean : booleans) out.push_back(boolean != 0);
      return out;
    }
    case EdgeArgumentKind::Ints: {
      json out = json::array();
      for (std::size_t i = 0; i < argument.mixed_integers().size(); ++i) {
        const ValueId symbol = argument.symbols().empty() ? no_value : argument.symbols()[i];
        out.push_back(symbol == no_value ? json(argument.mixed_integers()[i])
                                         : json{{"value", program.value(symbol).name()}});
      }
      return out;
    }
    case EdgeArgumentKind::Doubles: {
      json out = json::array();
      const auto numbers = *argument.doubles();
      for (const double number : numbers) out.push_back(real(number));
      return out;
    }
    case EdgeArgumentKind::ScalarType:
      return {{"dtype", find_scalar_type(argument.raw().as.integer)->torch_name}};
    case EdgeArgumentKind::Layout:
      return {{"layout", *argument.enumerator()}};
    case EdgeArgumentKind::MemoryFormat:
      return {{"memory_format", *argument.enumerator()}};
    case EdgeArgumentKind::Device:
      return {{"device", argument.device()->device_type}};
  }
  return "?";
}

json facts(const EdgeProgram& program) {
  json out{{"inputs", json::array()},
           {"values", json::array()},
           {"nodes", json::array()},
           {"outputs", json::array()}};
  for (const ValueId id : program.inputs()) out["inputs"].push_back(program.value(id).name());
  for (ValueId id = 0; id < program.num_values(); ++id) {
    out["values"].push_back(facts(program, id));
  }
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    const EdgeNode node = program.node(i);
    json arguments = json::object();
    for (std::size_t k = 0; k < node.num_arguments(); ++k) {
      arguments[std::string(node.argument(k).name())] = facts(program, node.argument(k));
    }
    json outputs = json::array();
    for (const ValueId id : node.outputs()) outputs.push_back(program.value(id).name());
    out["nodes"].push_back({{"name", node.name()},
                            {"target", node.target()},
                            {"arguments", arguments},
                            {"outputs", outputs}});
  }
  for (std::size_t i = 0; i < program.num_outputs(); ++i) {
    const EdgeOutput output = program.output(i);
    out["outputs"].push_back(
        {name_or_null(program, output.value), name_or_null(program, output.target)});
  }
  return out;
}

int run(const char* path) {
  const auto archive = read_pt2(path);
  if (!archive.ok()) {
    std::cerr << "pt2-facts: " << archive.text() << "\n";
    return 1;
  }
  json out = json::object();
  for (const Pt2Method& method : archive->methods) out[method.name] = facts(method.program.view());
  std::cout << out.dump() << "\n";
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: pt2-facts FILE.pt2\n";
    return 2;
  }
  try {
    return run(arguments[1]);
  } catch (const std::exception& failure) {
    std::cerr << "pt2-facts: " << failure.what() << "\n";
    return 1;
  }
}
