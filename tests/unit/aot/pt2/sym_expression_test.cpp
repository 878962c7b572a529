// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/pt2/sym_expression.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace tenon;
using tenon::aot::detail::SymExpression;
using tenon::aot::detail::SymRange;
using tenon::aot::detail::SymRanges;

namespace sym_expression_test {

// As sympy writes them, with the symbols' assumptions left out.
constexpr std::string_view s0 = "Symbol('s0', positive=True, integer=True)";
constexpr std::string_view s1 = "Symbol(\"s1\", integer=True)";

std::string with(std::string text) {
  for (const auto& [name, full] : {std::pair{"$0", s0}, std::pair{"$1", s1}}) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
      text.replace(at, 2, full);
      at += full.size();
    }
  }
  return text;
}

SymExpression parse(const std::string& text) {
  const auto parsed = SymExpression::parse(with(text));
  INFO(text << ": " << parsed.text());
  REQUIRE(parsed.ok());
  return *parsed;
}

std::string text_of(const std::string& text) { return parse(text).text(); }

/// s0 is 2 to 10, s1 is -3 to 4.
SymRange range_of(const std::string& text) {
  return parse(text).range(SymRanges{{"s0", {2, 10}}, {"s1", {-3, 4}}});
}

}  // namespace sym_expression_test

using namespace sym_expression_test;

TEST_CASE("expressions are written as people write them", "[pt2]") {
  tenon::test::check_texts(
      text_of, {{"Integer(7)", "7"},
                {"Integer(-7)", "-7"},
                {"$0", "s0"},
                {"Add($0, Integer(1))", "s0 + 1"},
                {"Mul(Integer(2), $0)", "2*s0"},
                {"Mul(Integer(2), Add($0, Integer(1)))", "2*(s0 + 1)"},
                {"Add(Mul(Integer(2), $0), $1)", "2*s0 + s1"},
                {"FloorDiv(Add($0, $1), Integer(2))", "(s0 + s1)//2"},
                {"Mul(Integer(4), FloorDiv($0, Integer(2)))", "4*(s0//2)"},
                {"Pow($0, Integer(2))", "s0**2"},
                {"Mod($0, Integer(2))", "Mod(s0, 2)"},
                {"Max(Integer(1), $0)", "Max(1, s0)"},
                {"Mul(Mod($0, Integer(2)), Add(Max($0, $1), Mod($1, $0)))",
                 "(Max(s0, s1) + Mod(s1, s0))*Mod(s0, 2)"},
                {"Float('0.5', precision=53)", "0.5"},
                {"Equality($0, Integer(4))", "s0 == 4"},
                {"LessThan(Add($0, $1), Integer(4))", "(s0 + s1) <= 4"},
                {"And(StrictGreaterThan($0, $1), Unequality($0, $1))", "And(s0 > s1, s0 != s1)"},
                {"true", "true"}});
}

TEST_CASE("expressions that are equal have the same text whatever the order", "[pt2]") {
  CHECK(text_of("Add($0, $1, Integer(3))") == text_of("Add(Integer(3), $1, $0)"));
  CHECK(text_of("Mul($1, Integer(3), $0)") == text_of("Mul(Integer(3), $0, $1)"));
  CHECK(text_of("Max($0, $1)") == text_of("Max($1, $0)"));
  CHECK(text_of("FloorDiv($0, $1)") != text_of("FloorDiv($1, $0)"));
  CHECK(text_of("Mul(Integer(2), Add($0, $1))") != text_of("Add(Mul(Integer(2), $0), $1)"));
}

TEST_CASE("ranges of expressions come from the ranges of their symbols", "[pt2]") {
  CHECK(range_of("Integer(7)") == SymRange{7, 7});
  CHECK(range_of("$0") == SymRange{2, 10});
  CHECK(range_of("Add($0, $1)") == SymRange{-1, 14});
  CHECK(range_of("Mul($0, $1)") == SymRange{-30, 40});
  CHECK(range_of("Mul(Integer(-2), $0)") == SymRange{-20, -4});
  CHECK(range_of("FloorDiv($0, Integer(3))") == SymRange{0, 3});
  CHECK(range_of("FloorDiv($1, Integer(2))") == SymRange{-2, 2});
  CHECK(range_of("CeilDiv($1, Integer(2))") == SymRange{-1, 2});
  CHECK(range_of("Mod($0, Integer(4))") == SymRange{0, 3});
  CHECK(range_of("Mod($0, Integer(20))") == SymRange{2, 10});
  CHECK(range_of("PythonMod($1, Integer(3))") == SymRange{0, 2});
  CHECK(range_of("Max($0, $1, Integer(3))") == SymRange{3, 10});
  CHECK(range_of("Min($0, $1)") == SymRange{-3, 4});
  CHECK(range_of("Pow($0, Integer(2))") == SymRange{4, 100});
  CHECK(range_of("PowByNatural($0, Integer(3))") == SymRange{8, 1000});
  CHECK(range_of("Identity($0)") == SymRange{2, 10});
}

TEST_CASE("what is not known may be any number", "[pt2]") {
  const SymRange any;
  CHECK(range_of("Symbol('u3', integer=True)") == any);
  CHECK(range_of("Symbol('u3', nonnegative=True)") == SymRange{0, SymRange::highest});
  CHECK(range_of("Symbol('u3', positive=True)") == SymRange{1, SymRange::highest});
  CHECK(range_of("Symbol('u3', positive=False)") == any);
  CHECK(range_of("FloorDiv($0, $1)") == any);
  CHECK(range_of("Mod($0, $1)") == any);
  CHECK(range_of("Pow($1, Integer(2))") == any);
  CHECK(range_of("TruncToInt(Float('1.5', precision=53))") == any);
  CHECK(range_of("Rational(1, 2)") == any);
  CHECK(range_of("int_oo") == SymRange::only(SymRange::highest));
}

TEST_CASE("ranges that overflow become infinite and not wrong", "[pt2]") {
  CHECK(range_of("Mul(Integer(9223372036854775806), $0)").max == SymRange::highest);
  CHECK(range_of("Mul(Integer(-9223372036854775806), $0)").min == SymRange::lowest);
  CHECK(range_of("Add(Integer(9223372036854775806), $0)").max == SymRange::highest);
  CHECK(range_of("Add(Integer(-9223372036854775807), $1)").min == SymRange::lowest);
  CHECK(range_of("Pow($0, Integer(64))") == SymRange{SymRange::highest, SymRange::highest});
  CHECK(range_of("Mul(Integer(0), Symbol('u0', integer=True))") == SymRange{0, 0});
  CHECK(range_of("FloorDiv(Symbol('u0', positive=True), Integer(2))") ==
        SymRange{0, SymRange::highest});
  CHECK(range_of("CeilDiv(Symbol('u0', integer=True), Integer(2))") == SymRange{});
  // More digits than an integer has: any number.
  CHECK(range_of("Integer(99999999999999999999)") == SymRange{});
}

TEST_CASE("the exporter's range of a whole expression counts", "[pt2]") {
  const SymRanges ranges{{"s0", {2, 10}}, {"s0 + 1", {5, 8}}};
  CHECK(parse("Add(Integer(1), $0)").range(ranges) == SymRange{5, 8});
  CHECK(parse("Mul(Integer(2), Add(Integer(1), $0))").range(ranges) == SymRange{10, 16});
  CHECK(parse("$0").range(ranges) == SymRange{2, 10});
}

TEST_CASE("text that is not an expression is refused with the text", "[pt2]") {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "Max(";
  const std::vector<std::string> wrong{
      "",
      "Add(",
      "Add()",
      "Add($0",
      "Add($0,)",
      "$0 $0",
      "Symbol(s0)",
      "Symbol('s0",
      "Symbol('s0', x)",
      "Symbol('s0', x=True",
      "(",
      "'s0'",
      "Add($0))",
      "Float(0.5)",
      "Float('0.5', p=3)",
      "-",
      "+1",
      "Mul(,)",
      deep,
  };
  for (const std::string& text : wrong) {
    INFO(text);
    const auto parsed = SymExpression::parse(with(text));
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error() == Error::InvalidProgram);
    CHECK(parsed.text().starts_with("expression '"));
  }
}
