// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/lower/operator_schemas.hpp"
#include "tenon/aot/compiler/impl/lower/portable_operators.hpp"

#include <set>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "tenon/aot/compiler/impl/emit/emit_argument.hpp"

namespace operator_schemas_test {

using namespace tenon;
using namespace tenon::aot;

OperatorSchema parsed(std::string_view text) {
  auto schema = parse_operator_schema(text);
  INFO(schema.text());
  REQUIRE(schema.ok());
  return *std::move(schema);
}

TEST_CASE("a schema is read with types, defaults and what is written") {
  const OperatorSchema schema = parsed(
      "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  CHECK(schema.name == "aten::add");
  CHECK(schema.overload == "out");
  REQUIRE(schema.arguments.size() == 4);
  CHECK(schema.arguments[0].name == "self");
  CHECK(schema.arguments[0].type == SchemaType::Tensor);
  CHECK_FALSE(schema.arguments[0].is_out);
  CHECK(schema.arguments[2].type == SchemaType::Scalar);
  CHECK(schema.arguments[2].default_value == "1");
  CHECK(schema.arguments[3].name == "out");
  CHECK(schema.arguments[3].is_out);
  CHECK_FALSE(schema.arguments[3].default_value);
}

TEST_CASE("optional lists and lists of optional elements are distinguished") {
  const OperatorSchema schema = parsed(
      "toy::all(Tensor?[] a, int[2]? b, SymInt[] c=[], Tensor[] d, float[]? e=None, bool[3] f, "
      "str mode=\"a, b\", MemoryFormat? g=None, int[2] h=[0, 1], ScalarType i, Layout j, Device? "
      "k, "
      "Generator? l, *, Tensor(a!)[] out) -> ()");
  const auto& arguments = schema.arguments;
  REQUIRE(arguments.size() == 14);
  CHECK(arguments[0].has_optional_elements);
  CHECK_FALSE(arguments[0].is_optional);
  CHECK(arguments[1].is_optional);
  CHECK(arguments[1].is_list);
  CHECK(arguments[1].length == 2);
  CHECK(arguments[2].type == SchemaType::Int);
  CHECK(arguments[2].length == 0);
  CHECK(arguments[2].default_value == "[]");
  CHECK(arguments[3].is_list);
  CHECK_FALSE(arguments[3].has_optional_elements);
  CHECK(arguments[4].is_optional);
  CHECK(arguments[5].length == 3);
  CHECK(arguments[6].default_value == "\"a, b\"");
  CHECK(arguments[7].type == SchemaType::MemoryFormat);
  CHECK(arguments[8].default_value == "[0, 1]");
  CHECK(arguments[13].is_out);
  CHECK(arguments[13].is_list);
  CHECK(schema.overload.empty());
}

TEST_CASE("a parameter before the asterisk is not an output") {
  const OperatorSchema schema = parsed("toy::update(Tensor(a!) self, *, Tensor(b!) out)");
  CHECK_FALSE(schema.arguments[0].is_out);
  CHECK(schema.arguments[1].is_out);
}

TEST_CASE("text that is not a schema is refused with the place") {
  for (const auto& [text, expected] :
       {std::pair("", "a name such as"), std::pair("add(Tensor self)", "a name such as"),
        std::pair("aten::add", "a name such as"), std::pair("aten::add(Tensr self)", "a type"),
        std::pair("aten::add(Tensor", "a parameter's name"),
        std::pair("aten::add(Tensor self", "',' or ')'"),
        std::pair("aten::add(Tensor(a! self)", "a parameter's name"),
        std::pair("aten::add(int[2 x)", "']'"),
        std::pair("aten::add(Tensor self; int x)", "','")}) {
    const auto schema = parse_operator_schema(text);
    INFO(text << " -> " << schema.text());
    CHECK(schema.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(schema.text()), ContainsSubstring(expected));
  }
}

TEST_CASE("every line of the table is a target and a schema whose defaults can be read") {
  std::set<std::string> targets;
  for (std::string_view lines : aot::detail::portable_operators) {
    for (; !lines.empty(); lines.remove_prefix(lines.find('\n') + 1)) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      const std::size_t space = line.find(' ');
      REQUIRE(targets.emplace(line.substr(0, space)).second);
      const OperatorSchema schema = parsed(line.substr(space + 1));
      CHECK(schema.arguments.back().is_out);
      for (const SchemaArgument& argument : schema.arguments) {
        INFO(line << ": " << argument.name);
        if (argument.default_value)
          CHECK(aot::detail::parse_default(argument, *argument.default_value));
      }
    }
  }
  CHECK(targets.size() > 200);
}

TEST_CASE("an operator is found by its target, a view by the kernel that copies") {
  const auto schemas = OperatorSchemas::portable();
  const auto add = schemas.find("aten.add.Tensor");
  REQUIRE(add.ok());
  CHECK(add->name == "aten::add");
  CHECK(add->overload == "out");
  const auto view = schemas.find("aten.view.default");
  REQUIRE(view.ok());
  CHECK(view->name == "aten::view_copy");
  const auto size = schemas.find("aten.sym_size.int");
  REQUIRE(size.ok());
  CHECK(size->overload == "int");
  CHECK(schemas.find("_operator.floordiv")->name == "executorch_prim::floordiv");
}

TEST_CASE("quantised numbers are made and read by kernels of the quantized library") {
  const auto schemas = OperatorSchemas::portable();
  const auto quantize = schemas.find("quantized_decomposed.quantize_per_tensor.default");
  REQUIRE(quantize.ok());
  CHECK(quantize->name == "quantized_decomposed::quantize_per_tensor");
  CHECK(quantize->overload == "out");
  // The kernel's overload is not called like the operator's: "tensor", "Tensor_out".
  CHECK(schemas.find("quantized_decomposed.choose_qparams.tensor")->overload == "Tensor_out");
  // An argument that an archive leaves out, before the output.
  const auto dequantize = schemas.find("quantized_decomposed.dequantize_per_channel.default");
  REQUIRE(dequantize.ok());
  REQUIRE(dequantize->arguments.size() == 9);
  CHECK(dequantize->arguments[7].name == "out_dtype");
  CHECK(dequantize->arguments[7].default_value == "None");
  // Ranges in tensors: PyTorch has the operator, and no library has a kernel.
  CHECK(schemas.find("quantized_decomposed.quantize_per_tensor.tensor2").error() ==
        Error::NotSupported);
}

TEST_CASE("an operator without kernel is refused by name, unless its kernel is stated") {
  auto schemas = OperatorSchemas::portable();
  const auto missing = schemas.find("acme.scale.default");
  CHECK(missing.error() == Error::NotSupported);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("acme.scale.default"));
  REQUIRE(
      schemas.add("acme.scale.default", "acme::scale.out(Tensor self, *, Tensor(a!) out)").ok());
  CHECK(schemas.find("acme.scale.default")->name == "acme::scale");
  CHECK(schemas.add("acme.other.default", "nonsense").error() == Error::InvalidArgument);
  CHECK(schemas.find("acme.other.default").error() == Error::NotSupported);
}

TEST_CASE("defaults are read by their parameter's type") {
  using aot::detail::parse_default;
  const auto value = [](std::string_view text, SchemaType type = SchemaType::Scalar) {
    SchemaArgument argument;
    argument.type = type;
    return parse_default(argument, text);
  };
  CHECK(std::holds_alternative<std::monostate>(*value("None")));
  CHECK(std::get<std::int64_t>(*value("-1")) == -1);
  CHECK(std::get<double>(*value("1e-05")) == 1e-05);
  CHECK(std::get<double>(*value("2.")) == 2.0);
  CHECK(std::get<bool>(*value("True")));
  CHECK(std::get<std::string>(*value("\"none\"")) == "none");
  CHECK(std::get<EdgeInts>(*value("[0, -1]", SchemaType::Int)).integers ==
        std::vector<std::int64_t>{0, -1});
  CHECK(std::get<EdgeInts>(*value("[]", SchemaType::Int)).integers.empty());
  CHECK(std::get<std::vector<double>>(*value("[1]", SchemaType::Float)) == std::vector<double>{1});
  CHECK_FALSE(value("Mean"));
  CHECK_FALSE(value("[a]"));
  CHECK_FALSE(value(""));
}

}  // namespace operator_schemas_test
