// SPDX-License-Identifier: MIT
//
// Models that call operators by number, with the description of the calls in the program.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "program.hpp"

using namespace tenon;
using namespace tenon::test;

namespace operator_calls_test {
namespace {

/// The description of one call, as AOTInductor writes it.
std::string call_of(const std::string& target) {
  return R"({"nodes": [{"name": "buf0", "node": {"target": ")" + target + R"(", "inputs": [
    {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
    {"name": "dim", "arg": {"as_int": 0}, "kind": 1},
    {"name": "keepdim", "arg": {"as_bool": true}, "kind": 1}],
    "outputs": [{"as_tensor": {"name": "buf1"}}, {"as_tensor": {"name": "buf2"}}],
    "metadata": {}}}]})";
}

/// The description of a call of an operator of tests/plugins/operators, whose results are a sum and
/// products.
std::string found_call(const std::string& target) {
  const std::string tensor = R"({\"dtype\": 6, \"sizes\": [1], \"dim_order\": [0],
      \"dynamic\": [false]})";
  std::string out = R"({"nodes": [{"name": "buf0", "node": {"target": ")" + target +
                    R"(", "inputs": [
    {"name": "xs", "arg": {"as_tensors": [{"name": "x"}]}, "kind": 1},
    {"name": "n", "arg": {"as_int": 0}, "kind": 1}],
    "outputs": [{"as_tensor": {"name": "buf1"}}, {"as_tensors": [{"name": "buf2"}]}],
    "metadata": {"tenon": "{\"arguments\": [\"xs\", \"n\", \"dtype\"],
      \"defaults\": [{\"name\": \"dtype\", \"arg\": {\"as_none\": true}}],
      \"tensors\": [)" +
                    tensor + ", " + tensor + ", " + tensor + R"(]}"}}}]})";
  // A text of JSON has no line feeds.
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

std::string refusal(const ModelParts& parts) {
  AotiHost aoti;
  const auto method = aoti.load(parts);
  CHECK(method.error() == Error::OperatorMissing);
  return std::string(method.text());
}

}  // namespace

TEST_CASE("a model calls an operator by number, with both forms of keys", "[aoti]") {
  const std::string model =
      GENERATE("calls_an_operator", "has_private_prefix_and_calls_an_operator");
  for (const std::string blob : {"library_so_blob\nweights_weights_blob", ""}) {
    AotiHost aoti;
    const auto method = aoti.load_ok({.model = model,
                                      .blob = blob,
                                      .weight = 3.0f,
                                      .operator_calls = call_of("aten::median.dim")});
    CHECK(*run(*method, 2.0f) == 6.0f);
    CHECK(*run(*method, 2.0f) == 7.0f);  // The state grew.
  }
}

TEST_CASE("an operator without code is refused by name when the method is loaded", "[aoti]") {
  const std::string text =
      refusal({.model = "calls_an_operator", .operator_calls = call_of("acme::turn.left")});
  CHECK_THAT(text, ContainsSubstring("the operators that method 'forward' calls: no code here for "
                                     "1 operator: acme::turn.left"));
}

TEST_CASE("a model calls an operator of another plugin, in the method and in its sessions",
          "[aoti][kernels]") {
  const std::string calls = found_call("tenon_test::pair");
  AotiHost aoti;
  const ModelParts parts{.model = "calls_an_operator", .weight = 3.0f, .operator_calls = calls};
  CHECK(aoti.load(parts).error() == Error::OperatorMissing);

  REQUIRE(aoti.registry().register_backend(std::filesystem::path(TENON_TEST_OPERATORS)).ok());
  const auto method = aoti.load_ok(parts);
  const auto state_of_kernels = [&] {
    for (const host::BackendInfo& info : aoti.registry().enumerate_backends()) {
      if (info.id() == "OperatorKernels") return info.state;
    }
    return host::BackendState::refused;
  };
  CHECK(state_of_kernels() == host::BackendState::loaded);
  CHECK(*run(*method, 2.0f) == 6.0f);
  CHECK(*run(*method, 2.0f) == 7.0f);
  {
    auto session = method->create_session();
    INFO(session.text());
    REQUIRE(session.ok());
    method->use_session(session->get());
    CHECK(*run(*method, 2.0f) == 6.0f);
  }
  CHECK(*run(*method, 2.0f) == 8.0f);
}

TEST_CASE("a plugin that refuses the call of a model ends the load with its answer",
          "[aoti][kernels]") {
  AotiHost aoti;
  REQUIRE(aoti.registry().register_backend(std::filesystem::path(TENON_TEST_OPERATORS)).ok());
  const auto method =
      aoti.load({.model = "calls_an_operator", .operator_calls = found_call("tenon_test::fail")});
  CHECK(method.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(method.text()),
             ContainsSubstring("the operators that method 'forward' calls: call 0, "
                               "tenon_test::fail: kernel tenon_test::fail (OperatorKernels): "
                               "number of arguments: expected 2, found 5"));
}

TEST_CASE("a refusal names the file, the method and the functions that are missing", "[aoti]") {
  AotiHost aoti;
  const auto method = aoti.load({.model = "asks_for_nothing"});
  CHECK(method.error() != Error::Ok);
  CHECK_THAT(
      std::string(method.text()),
      ContainsSubstring("model.pte: method forward: delegate 0 (CpuAotiBackend): init: the "
                        "library of method 'forward': the model needs what is missing here: 1 "
                        "operator: that_nobody_has (aoti_torch_cpu_that_nobody_has)"));
}

TEST_CASE("a model that calls operators needs their description", "[aoti]") {
  const std::string text = refusal({.model = "calls_an_operator"});
  CHECK_THAT(text, ContainsSubstring("1 function: aoti_torch_proxy_executor_call_function"));
  CHECK_THAT(text, ContainsSubstring("pack the model with tenon-compile --aoti"));
}

TEST_CASE("a description that is not one is refused when the method is loaded", "[aoti]") {
  const std::pair<const char*, const char*> rows[] = {
      {"{", "the description: is not JSON"},
      {"{}", "the description: nodes: is missing, expected an array"},
  };
  for (const auto& [description, expected] : rows) {
    AotiHost aoti;
    const auto method = aoti.load({.model = "calls_an_operator", .operator_calls = description});
    CHECK(method.error() == Error::InvalidProgram);
    CHECK_THAT(std::string(method.text()), ContainsSubstring(expected));
  }
}

TEST_CASE("a call that does not fit its description fails the run, and the next is refused alike",
          "[aoti][TN-EXE-3]") {
  AotiHost aoti;
  // The model passes one integer more than the description has.
  std::string calls = call_of("aten::median.dim");
  const std::string integer = R"({"as_int": 0})";
  calls.replace(calls.find(integer), integer.size(), R"({"as_none": true})");
  const auto refused = aoti.load({.model = "calls_an_operator", .operator_calls = calls});
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("argument 'dim' has the type as_none"));

  const auto none =
      aoti.load_ok({.model = "calls_an_operator", .operator_calls = R"({"nodes": []})"});
  for (int i = 0; i < 2; ++i) {
    const auto y = run(*none, 2.0f);
    CHECK_FALSE(y.ok());
    CHECK_THAT(std::string(y.text()), ContainsSubstring("number 0: the description has 0"));
  }
}

TEST_CASE("a program whose model calls no operator may have a description", "[aoti]") {
  AotiHost aoti;
  const auto method = aoti.load_ok({.weight = 3.0f, .operator_calls = "not read"});
  CHECK(*run(*method, 2.0f) == 6.0f);
}

}  // namespace operator_calls_test
