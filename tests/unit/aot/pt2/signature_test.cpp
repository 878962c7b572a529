// SPDX-License-Identifier: MIT
//
// What is read of an archive for a model that AOTInductor compiled: the signature. Operators that a
// compiler cannot be given are allowed; an input that they change in place is found.
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "archive_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"

using namespace tenon;
using namespace tenon::aot;
using namespace tenon::test;
using nlohmann::json;

// The archives are what torch 2.15 wrote: tests/live/exporters/export_pt2.py made them.
namespace signature_test {

Pt2Program signature(std::string_view name) {
  const auto path = std::filesystem::path(TENON_TEST_FIXTURES) / "pt2" / name / "model.pt2";
  auto program = read_pt2(path, {}, Pt2Content::Signature);
  INFO(program.text());
  REQUIRE(program.ok());
  return *std::move(program);
}

std::vector<std::string> targets(const EdgeProgram& program) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    out.emplace_back(program.node(i).target());
  }
  return out;
}

/// Names of the inputs that the program changes.
std::vector<std::string> changed(const EdgeProgram& program) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < program.num_outputs(); ++i) {
    const EdgeOutput output = program.output(i);
    if (output.kind == EdgeOutputKind::UserInputMutation) {
      out.emplace_back(program.value(output.target).name());
    }
  }
  return out;
}

TEST_CASE("the signature of a graph that changes results in place is read, and names no change",
          "[pt2][aoti]") {
  const Pt2Program archive = signature("changed_results");
  const EdgeProgram program = archive.methods.at(0).program.view();
  CHECK(targets(program) ==
        std::vector<std::string>{"aten.linear.default", "aten.silu_.default", "aten.linear.default",
                                 "aten.relu_.default", "aten.add_.Tensor", "aten.select.int",
                                 "aten.fill_.Scalar", "aten.masked_fill_.Scalar"});
  REQUIRE(program.inputs().size() == 2);
  CHECK(program.value(program.inputs()[0]).name() == "x");
  CHECK(program.value(program.inputs()[1]).scalar_type() == ScalarType::Bool);
  REQUIRE(program.num_outputs() == 1);
  CHECK(program.output(0).kind == EdgeOutputKind::UserOutput);
  CHECK(program.value(program.output(0).value).name() == "masked_fill_");
  CHECK(changed(program).empty());
  // Weights have no data: AOTInductor's files have it.
  CHECK(program.value(*program.find_value("p_layers_0_weight")).data().empty());
}

TEST_CASE("a signature has branches, and changes of buffers in place, which the model keeps",
          "[pt2][aoti]") {
  const Pt2Program branch = signature("control_flow");
  const EdgeProgram program = branch.methods.at(0).program.view();
  CHECK(targets(program).back() == "higher_order.cond");
  CHECK(program.num_outputs() == 1);
  const Pt2Program stateful = signature("in_place");
  CHECK(changed(stateful.methods.at(0).program.view()).empty());
  CHECK(changed(signature("mutated_input").methods.at(0).program.view()) ==
        std::vector<std::string>{"state"});
}

TEST_CASE("an input that operators change in place is a mutation of the signature", "[pt2][aoti]") {
  const std::set<std::string> unchanged{"not_by_result", "not_by_other_dtype",
                                        "not_without_gradients"};
  const Pt2Program archive = signature("changed_inputs");
  CHECK(archive.methods.size() == 11);
  for (const Pt2Method& method : archive.methods) {
    INFO(method.name);
    const std::vector<std::string> expected(unchanged.contains(method.name) ? 0 : 1, "x");
    CHECK(changed(method.program.view()) == expected);
  }
}

TEST_CASE("a signature that no program can have is refused", "[pt2][aoti]") {
  struct Case {
    std::function<void(json&)> edit;  ///< Of the specifications of outputs.
    Error code;
    std::string text;
  };
  const Case cases[] = {
      {[](json& specs) { specs[0]["user_output"]["arg"]["as_tensor"]["name"] = "nothing"; },
       Error::InvalidProgram, "'nothing'"},
      {[](json& specs) { specs.push_back({{"user_output", {{"arg", {{"as_none", true}}}}}}); },
       Error::NotSupported, "export the model without it"},
  };
  for (const Case& one : cases) {
    ZipContent content = ZipContent::fixture("changed_results");
    const std::string entry = "models/model.json";
    json model = content.json(entry);
    one.edit(model["graph_module"]["signature"]["output_specs"]);
    content.set(entry, model);
    const TemporaryDirectory directory;
    content.write(directory / "m.pt2");
    const auto program = read_pt2(directory / "m.pt2", {}, Pt2Content::Signature);
    CHECK(program.error() == one.code);
    CHECK_THAT(std::string(program.text()), ContainsSubstring(one.text));
  }
}

}  // namespace signature_test
