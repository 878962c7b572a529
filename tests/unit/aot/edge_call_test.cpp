// SPDX-License-Identifier: MIT
//
// The arguments of a node as a compiler reads them.
#include <tenon/aot/edge_call.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tenon/aot/edge_program_builder.hpp>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace edge_call_test { namespace {

using tenon::Error;
using tenon::Result;
using tenon::ScalarType;
using tenon::Status;
using namespace tenon::aot;
using Integers = std::vector<std::int64_t>;

const EdgeTensor matrix{ScalarType::Float, {2, 3}};

/// One call of `acme.pool.default` with these arguments after `self`, which is a tensor.
class OneCall {
 public:
  explicit OneCall(const std::vector<EdgeProgramBuilder::Argument>& more) : program_(build(more)) {}

  [[nodiscard]] EdgeCall view() const { return EdgeCall(program_.view(), program_.view().node(0)); }

  static constexpr ValueId x = 0;
  static constexpr ValueId n = 1;  ///< A symbolic integer.

 private:
  static OwnedEdgeProgram build(const std::vector<EdgeProgramBuilder::Argument>& more) {
    EdgeProgramBuilder graph;
    REQUIRE(graph.user_input("x", matrix) == x);
    REQUIRE(graph.user_input_symbol("n", {1, 9, "s0"}) == n);
    std::vector<EdgeProgramBuilder::Argument> arguments = {{"self", EdgeRef{x}}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    graph.user_output(graph.node("acme.pool.default", arguments, matrix, "pool"));
    auto program = std::move(graph).build();
    REQUIRE(program.ok());
    return *std::move(program);
  }

  OwnedEdgeProgram program_;
};

std::string text_of(const Status& status) {
  CHECK(status.error() == Error::NotSupported);
  return std::string(status.text());
}
template <class T>
std::string text_of(const Result<T>& result) {
  REQUIRE_FALSE(result.ok());
  CHECK(result.error() == Error::NotSupported);
  return std::string(result.text());
}

const std::string where = "node 'pool' (acme.pool.default): ";

TEST_CASE("arguments are read by the names of the schema", "[aot]") {
  const OneCall one({{"mask", EdgeRef{OneCall::x}},
                     {"parts", std::vector<ValueId>{OneCall::x, OneCall::x}},
                     {"scale", 0.5},
                     {"groups", std::int64_t{3}},
                     {"ceil_mode", true},
                     {"mode", std::string("tanh")},
                     {"stride", EdgeInts({2, 1})},
                     {"padding", std::int64_t{4}},
                     {"shape", std::vector<ValueId>{}},
                     {"dim", std::int64_t{-1}},
                     {"axes", EdgeInts({-2, 1})},
                     {"bias", std::monostate()}});
  const EdgeCall call = one.view();
  CHECK(call.node().name() == "pool");
  CHECK(call.result().name() == "pool");
  CHECK(call.program().num_nodes() == 1);

  CHECK(*call.tensor("self") == OneCall::x);
  CHECK(call.described("mask")->name() == "x");
  CHECK(*call.optional_tensor("mask") == OneCall::x);
  CHECK_FALSE(call.optional_tensor("bias")->has_value());
  CHECK(call.tensors("parts")->size() == 2);
  CHECK(*call.number("scale") == 0.5);
  CHECK(*call.number("groups") == 3);
  CHECK(*call.number("ceil_mode") == 1);
  CHECK(*call.integer("groups") == 3);
  CHECK(*call.boolean("ceil_mode"));
  CHECK(*call.text("mode") == "tanh");
  CHECK(*call.integers("stride") == Integers{2, 1});
  CHECK(*call.integers("padding") == Integers{4});
  CHECK(call.integers("shape", {7})->empty());
  CHECK(*call.window("stride", 2, 1) == Integers{2, 1});
  CHECK(*call.window("padding", 3, 0) == Integers{4, 4, 4});
  CHECK(*call.dim("dim", 2) == 1);
  CHECK(*call.dims("axes", 2) == Integers{0, 1});
}

TEST_CASE("an argument that is None or left out has the default that the caller passes", "[aot]") {
  const OneCall one({{"bias", std::monostate()}});
  const EdgeCall call = one.view();
  for (const std::string_view name : {"bias", "unknown"}) {
    CHECK_FALSE(call.has(name));
    CHECK(call.expect_none(name).ok());
    CHECK_FALSE(call.optional_tensor(name)->has_value());
    CHECK(*call.number(name, 2.5) == 2.5);
    CHECK(*call.integer(name, 4) == 4);
    CHECK_FALSE(*call.boolean(name, false));
    CHECK(*call.text(name, "none") == "none");
    CHECK(call.integers(name)->empty());
    CHECK(*call.integers(name, {5}) == Integers{5});
    CHECK(*call.window(name, 2, 1) == Integers{1, 1});
    CHECK(*call.dim(name, 3, -3) == 0);
    CHECK(*call.dims(name, 3) == Integers{0, 1, 2});
  }
  CHECK(call.has("self"));
}

TEST_CASE("a required argument that is left out is refused by its name", "[aot]") {
  const OneCall one({{"bias", std::monostate()}});
  const EdgeCall call = one.view();
  CHECK(text_of(call.tensor("bias")) == where + "argument 'bias': expected a tensor, found None");
  CHECK(text_of(call.described("other")) ==
        where + "argument 'other': expected a tensor, found nothing");
  CHECK(text_of(call.tensors("parts")) ==
        where + "argument 'parts': expected tensors, found nothing");
  CHECK(text_of(call.number("scale")) ==
        where + "argument 'scale': expected a number that is known ahead of time, found nothing");
  CHECK(text_of(call.integer("groups")) ==
        where +
            "argument 'groups': expected an integer that is known ahead of time, found nothing");
  CHECK(text_of(call.boolean("train")) ==
        where + "argument 'train': expected a bool, found nothing");
  CHECK(text_of(call.text("mode")) == where + "argument 'mode': expected a text, found nothing");
  CHECK(text_of(call.dim("dim", 2)) ==
        where + "argument 'dim': expected an integer that is known ahead of time, found nothing");
}

TEST_CASE("an argument of another kind is refused with what was found", "[aot]") {
  const OneCall one({{"n", EdgeRef{OneCall::n}},
                     {"parts", std::vector<ValueId>{OneCall::x, no_value}},
                     {"numbers", std::vector<ValueId>{OneCall::n}},
                     {"half", 0.5},
                     {"three", std::int64_t{3}},
                     {"yes", true},
                     {"mode", std::string(100, 'm')},
                     {"few", EdgeInts({1, -2})},
                     {"many", EdgeInts(Integers(9, 1))},
                     {"mixed", EdgeInts({2, 0}, {no_value, OneCall::n})},
                     {"reals", std::vector<double>{1.5}},
                     {"dtype", EdgeEnumerator{EdgeArgumentKind::ScalarType, 6}}});
  const EdgeCall call = one.view();
  const auto found = [&](std::string_view name) {
    const std::string text = text_of(call.tensor(name));
    const std::string before =
        where + "argument '" + std::string(name) + "': expected a tensor, found ";
    CHECK(text.starts_with(before));
    return text.substr(before.size());
  };
  CHECK(found("n") == "a symbolic integer");
  CHECK(found("parts") == "a list of values");
  CHECK(found("half") == "0.5");
  CHECK(found("three") == "3");
  CHECK(found("yes") == "true");
  CHECK(found("mode").starts_with("'mmm"));
  CHECK(found("mode").size() < 70);
  CHECK(found("few") == "[1, -2]");
  CHECK(found("many") == "[1, 1, 1, 1, 1, 1, 1, 1, ...]");
  CHECK(found("mixed") == "integers of which some are symbolic");
  CHECK(found("reals") == "doubles");
  CHECK(found("dtype") == "a scalar type");

  CHECK(text_of(call.optional_tensor("n")) ==
        where + "argument 'n': expected a tensor, found a symbolic integer");
  CHECK(text_of(call.number("self", 1)) ==
        where + "argument 'self': expected a number that is known ahead of time, found a tensor");
  CHECK(text_of(call.integer("half", 1)) ==
        where + "argument 'half': expected an integer that is known ahead of time, found 0.5");
  CHECK(text_of(call.boolean("three", true)) ==
        where + "argument 'three': expected a bool, found 3");
  CHECK(text_of(call.text("few", "none")) ==
        where + "argument 'few': expected a text, found [1, -2]");
  CHECK(text_of(call.integers("mixed")) ==
        where +
            "argument 'mixed': expected integers that are known ahead of time, found integers of "
            "which some are symbolic");
  for (const std::string_view name : {"parts", "numbers"}) {
    CHECK(text_of(call.tensors(name)) == where + "argument '" + std::string(name) +
                                             "': expected tensors alone, found a list with other "
                                             "elements");
  }
  CHECK(text_of(call.expect_none("three")) == where + "argument 'three': expected None, found 3");
}

TEST_CASE("a window or a dimension that does not fit the tensor is refused", "[aot]") {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const OneCall one({{"stride", EdgeInts({1, 2, 3})},
                     {"padding", EdgeInts({0, -1})},
                     {"dim", std::int64_t{2}},
                     {"axes", EdgeInts({0, lowest})},
                     {"none", std::vector<ValueId>{}}});
  const EdgeCall call = one.view();
  CHECK(text_of(call.window("stride", 2, 1)) ==
        where + "argument 'stride': expected 1 or 2 integers, found [1, 2, 3]");
  CHECK(text_of(call.window("padding", 2, 0)) ==
        where + "argument 'padding': expected integers from 0 on, found [0, -1]");
  CHECK(text_of(call.window("none", 2, 0)) ==
        where + "argument 'none': expected 1 or 2 integers, found a list of values");
  CHECK(text_of(call.dim("dim", 2)) ==
        where + "argument 'dim': expected a dimension of a tensor with 2, found 2");
  CHECK(text_of(call.dim("dim", 0)) ==
        where + "argument 'dim': expected a dimension of a tensor with 0, found 2");
  CHECK(text_of(call.dims("axes", 2)) ==
        where + "argument 'axes': expected a dimension of a tensor with 2, found " +
            std::to_string(lowest));
}

TEST_CASE("a refusal names the node and its operator once", "[aot]") {
  const OneCall one({{"groups", std::int64_t{4}}});
  const EdgeCall call = one.view();
  CHECK(text_of(call.refuse("it has ", 2, " results")) == where + "it has 2 results");
  CHECK(text_of(call.refuse_argument("groups", "a divisor of 6")) ==
        where + "argument 'groups': expected a divisor of 6, found 4");
  CHECK(text_of(call.refuse_argument("self", "2 dimensions", "3")) ==
        where + "argument 'self': expected 2 dimensions, found 3");
  CHECK(call.in_context(tenon::ok()).ok());
  CHECK(text_of(call.in_context(call.refuse("no"))) == where + "no");
  const Status other = call.in_context(tenon::error(Error::OutOfResources, "no room"));
  CHECK(other.error() == Error::OutOfResources);
  CHECK(other.text() == where + "no room");
}

TEST_CASE("the context of a node with an unprintable name is added once", "[aot]") {
  EdgeProgramBuilder graph;
  const ValueId x = graph.user_input("x", matrix);
  graph.user_output(graph.node("aten.relu.default", {{"self", EdgeRef{x}}}, matrix,
                               "a\x1b"
                               "b"));
  const auto program = std::move(graph).build();
  REQUIRE(program.ok());
  const EdgeCall call(program->view(), program->view().node(0));
  CHECK(text_of(call.in_context(call.refuse("no"))) == "node 'a\\x1bb' (aten.relu.default): no");
}

}}  // namespace edge_call_test
