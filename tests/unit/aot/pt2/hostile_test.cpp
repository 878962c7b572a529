// SPDX-License-Identifier: MIT
//
// Archives that contradict themselves, or hold unsupported constructs: each is refused with a text
// that names the file, the entry and the place.
#include <functional>
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

namespace hostile_test {

using Edit = std::function<void(json&)>;
constexpr std::string_view model_entry = "models/model.json";
constexpr std::string_view weights_entry = "data/weights/model_weights_config.json";

/// The error of reading `content`, without the path of the file.
std::string refusal(const ZipContent& content, Error code) {
  const TemporaryDirectory directory;
  content.write(directory / "m.pt2");
  const auto program = read_pt2(directory / "m.pt2");
  REQUIRE_FALSE(program.ok());
  CHECK(program.error() == code);
  const std::string text(program.text());
  const std::string path = directory.file("m.pt2") + ": ";
  REQUIRE(text.starts_with(path));
  // Once.
  CHECK(text.find(path, 1) == std::string::npos);
  return text.substr(path.size());
}

/// `entry` of a fixture with a change.
ZipContent changed(std::string_view fixture, std::string_view entry, const Edit& edit) {
  ZipContent content = ZipContent::fixture(fixture);
  json value = content.json(std::string(entry));
  edit(value);
  content.set(std::string(entry), value);
  return content;
}

void refuses(std::string_view fixture, std::string_view entry, const Edit& edit,
             const std::string& expected, Error code = Error::InvalidProgram) {
  const std::string text = refusal(changed(fixture, entry, edit), code);
  INFO(text);
  CHECK(text.starts_with(std::string(entry) + ": "));
  CHECK_THAT(text, ContainsSubstring(expected));
}

/// Of the MLP in Core ATen operators: 0 permute, 1 addmm, 2 relu, 3 permute_1, 4 addmm_1, 5
/// _softmax.
void model_refuses(const Edit& edit, const std::string& expected,
                   Error code = Error::InvalidProgram) {
  refuses("mlp_decomposed", model_entry, edit, expected, code);
}
void weights_refuse(const Edit& edit, const std::string& expected,
                    Error code = Error::InvalidProgram) {
  refuses("mlp_decomposed", weights_entry, edit, expected, code);
}

json& graph(json& model) { return model["graph_module"]["graph"]; }
json& node(json& model, std::size_t number) { return graph(model)["nodes"][number]; }
json& argument(json& model, std::size_t number, std::size_t position) {
  return node(model, number)["inputs"][position]["arg"];
}
json& tensor(json& model, const char* name) { return graph(model)["tensor_values"][name]; }
json& signature(json& model) { return model["graph_module"]["signature"]; }

}  // namespace hostile_test

using namespace hostile_test;

TEST_CASE("another version of PyTorch's schema is refused with both numbers", "[pt2]") {
  model_refuses([](json& m) { m["schema_version"]["major"] = 9; },
                "schema_version.major: is 9, expected 8", Error::NotSupported);
}

TEST_CASE("each part that an archive must have is missed by its name", "[pt2]") {
  for (const std::string name : {"graph_module", "range_constraints", "schema_version"}) {
    model_refuses([&](json& m) { m.erase(name); }, name + ": is missing");
    model_refuses([&](json& m) { m[name] = 3; }, "expected an object, found '3'");
  }
  for (const std::string name : {"inputs", "nodes", "tensor_values"}) {
    model_refuses([&](json& m) { graph(m).erase(name); },
                  "graph_module.graph." + name + ": is missing");
  }
  for (const std::string name : {"target", "inputs", "outputs"}) {
    model_refuses([&](json& m) { node(m, 2).erase(name); }, "nodes[2]." + name + ": is missing");
  }
  for (const std::string name : {"dtype", "sizes", "strides", "layout", "device"}) {
    model_refuses([&](json& m) { tensor(m, "relu").erase(name); },
                  "tensor_values.relu." + name + ": is missing");
  }
  model_refuses([](json& m) { graph(m)["tensor_values"].erase("relu"); },
                "tensor_values.relu: is missing");
}

TEST_CASE("values are named before they are read, once, and for what they are", "[pt2]") {
  model_refuses([](json& m) { argument(m, 1, 1)["as_tensor"]["name"] = "ghost"; },
                "node 'addmm' (aten.addmm.default): "
                "graph_module.graph.nodes[1].inputs[1].arg.as_tensor.name: "
                "is 'ghost', which is neither an input nor made by an earlier node");
  model_refuses([](json& m) { std::swap(node(m, 0), node(m, 1)); },
                "is 'permute', which is neither an input");
  model_refuses([](json& m) { node(m, 1)["outputs"][0]["as_tensor"]["name"] = "x"; },
                "names 'x', which is the name of another value");
  model_refuses([](json& m) { node(m, 1)["name"] = "permute"; }, "which another node has");
  model_refuses([](json& m) { argument(m, 1, 1) = {{"as_sym_int", {{"as_name", "x"}}}}; },
                "is 'x', which is another kind of value");
  model_refuses(
      [](json& m) {
        signature(m)["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "ghost";
      },
      "output_specs[0].user_output.arg.as_tensor.name: is 'ghost'");
  model_refuses([](json& m) { signature(m)["input_specs"].erase(0); },
                "has 4 entries, expected 5, as many as the graph has inputs");
  model_refuses([](json& m) { node(m, 1)["name"] = std::string("a\0b", 3); },
                "holds a NUL character");
}

TEST_CASE("tensors that cannot be are refused", "[pt2]") {
  const auto with = [](const char* member, json value) {
    return [=](json& m) { tensor(m, "relu")[member] = value; };
  };
  model_refuses(with("dtype", 99), "tensor_values.relu.dtype: is 99, which is not an element type");
  model_refuses(with("dtype", "7"), "expected an integer of 64 bits, found '\"7\"'");
  model_refuses(with("dtype", 33), "Float8_e8m0fnu", Error::NotSupported);
  model_refuses(with("layout", 1), "is a sparse layout", Error::NotSupported);
  model_refuses(with("layout", 9), "is 9, which is not a layout");
  model_refuses(with("device", {{"type", "xla"}}), "device is 'xla'", Error::NotSupported);
  model_refuses(with("device", {{"type", "cuda"}, {"index", -1}}), "is -1, expected 0 to 1024");
  model_refuses(with("strides", json::array()), "has 0 entries, expected the rank, 2");
  model_refuses(with("sizes", json(17, {{"as_int", 1}})), "expected a rank of at most 16");
  model_refuses(with("sizes", {{{"as_int", -1}}, {{"as_int", 1}}}), "sizes[0]: is -1, expected 0");
  model_refuses(with("sizes", {{{"as_int", 1.5}}, {{"as_int", 1}}}), "found '1.5'");
  model_refuses(with("sizes", {{{"as_int", 1e30}}, {{"as_int", 1}}}), "expected an integer");
  model_refuses(with("sizes", {{{"as_int", 18446744073709551615u}}, {{"as_int", 1}}}),
                "expected an integer of 64 bits");
  model_refuses(with("sizes", {{{"as_text", 1}}, {{"as_int", 1}}}), "has 'as_text', expected");
}

TEST_CASE("symbols and their ranges are checked", "[pt2]") {
  const auto symbolic = [](const Edit& edit, const std::string& expected) {
    refuses("symbolic", model_entry, edit, expected);
  };
  symbolic([](json& m) { m["range_constraints"]["s77"]["min_val"] = 99; },
           "range_constraints.s77: is empty: 99 to 12");
  symbolic([](json& m) { m["range_constraints"]["s77"]["min_val"] = "1"; },
           "expected an integer of 64 bits");
  symbolic(
      [](json& m) { tensor(m, "cat")["sizes"][0]["as_expr"]["expr_str"] = "Add(Symbol('s77'"; },
      "tensor_values.cat.sizes[0].as_expr.expr_str: expression 'Add(Symbol('s77'' expects ')'");
  symbolic([](json& m) { tensor(m, "cat")["sizes"][0]["as_expr"].erase("expr_str"); },
           "expr_str: is missing");
  // Two ranges of one expression that have no number in common.
  symbolic(
      [](json& m) { m["range_constraints"]["s17 + s77"] = {{"min_val", 100}, {"max_val", 200}}; },
      "can have no value");
  symbolic([](json& m) { graph(m)["sym_int_values"].erase("add_4"); },
           "sym_int_values.add_4: is missing");
}

TEST_CASE("a size without a bound has none", "[pt2]") {
  const ZipContent content = changed("symbolic", model_entry, [](json& m) {
    m["range_constraints"]["s77"]["max_val"] = nullptr;
    m["range_constraints"].erase("s17");
  });
  const TemporaryDirectory directory;
  content.write(directory / "m.pt2");
  const auto program = read_pt2(directory / "m.pt2");
  REQUIRE(program.ok());
  const EdgeProgram view = program->methods[0].program.view();
  const EdgeSize rows = view.value(*view.find_value("cat")).size(0);
  CHECK(rows.expression == "s17 + s77");
  CHECK(rows.min == 3);
  CHECK(rows.max == EdgeSize::unbounded);
}

TEST_CASE("weights that are not where an archive says are refused", "[pt2]") {
  const auto meta = [](json& w) -> json& { return w["config"]["fc1.weight"]["tensor_meta"]; };
  weights_refuse([](json& w) { w["config"]["fc1.weight"]["use_pickle"] = true; },
                 "config.fc1.weight: is a pickled object of Python", Error::NotSupported);
  weights_refuse([](json& w) { w["config"]["fc1.weight"]["path_name"] = "../weight_0"; },
                 "is '../weight_0', expected the name of an entry");
  weights_refuse([](json& w) { w["config"]["fc1.weight"].erase("tensor_meta"); },
                 "tensor_meta: is missing");
  weights_refuse([&](json& w) { meta(w)["storage_offset"]["as_int"] = 1; },
                 "is not inside its data of 2048 bytes");
  weights_refuse([&](json& w) { meta(w)["storage_offset"]["as_int"] = -1; },
                 "is not inside its data");
  weights_refuse([&](json& w) { meta(w)["strides"][0]["as_int"] = -16; }, "is not inside its data");
  weights_refuse([&](json& w) { meta(w)["strides"][0]["as_int"] = INT64_MAX; },
                 "is not inside its data");
  weights_refuse([&](json& w) { meta(w)["sizes"][0]["as_int"] = INT64_MAX; },
                 "is not inside its data");
  weights_refuse(
      [&](json& w) {
        meta(w)["sizes"] = json(4, {{"as_int", 1 << 20}});
        meta(w)["strides"] = json(4, {{"as_int", 0}});
      },
      "bytes of a copy in the plain order: found 18446744073709551615, the limit copied_bytes is "
      "268435456",
      Error::OutOfResources);
  weights_refuse(
      [&](json& w) {
        meta(w)["sizes"][0] = {
            {"as_expr", {{"expr_str", "Symbol('s0', integer=True)"}, {"hint", nullptr}}}};
      },
      "has sizes that are not known");
  weights_refuse([](json& w) { w["config"] = 1; }, "config: expected an object");

  const std::string missing =
      refusal(changed("mlp_decomposed", weights_entry,
                      [](json& w) { w["config"]["fc1.weight"]["path_name"] = "weight_9"; }),
              Error::InvalidProgram);
  CHECK(missing == "entry 'data/weights/weight_9' is missing");
  const std::string unnamed = refusal(
      changed("mlp_decomposed", weights_entry, [](json& w) { w["config"].erase("fc1.weight"); }),
      Error::InvalidProgram);
  CHECK(unnamed == "has no data of 'fc1.weight'");
  ZipContent shorter = ZipContent::fixture("mlp_decomposed");
  shorter.entries["model/data/weights/weight_0"].resize(2000);
  CHECK_THAT(refusal(shorter, Error::InvalidProgram),
             ContainsSubstring("is not inside its data of 2000 bytes"));
  // Both descriptions of a weight are good, and not the same.
  const std::string other = refusal(changed("mlp_decomposed", weights_entry,
                                            [&](json& w) { meta(w)["sizes"][0]["as_int"] = 31; }),
                                    Error::InvalidProgram);
  CHECK_THAT(other, ContainsSubstring("describes 'fc1.weight' in another way than its data"));
}

TEST_CASE("unsupported inputs and outputs are refused by their kind", "[pt2]") {
  for (const std::string kind : {"custom_obj", "token"}) {
    model_refuses([&](json& m) { signature(m)["input_specs"][0] = {{kind, json::object()}}; },
                  "input_specs[0]: is an input of kind '" + kind + "'", Error::NotSupported);
  }
  for (const std::string kind : {"loss_output", "token", "parameter_mutation",
                                 "gradient_to_parameter", "gradient_to_user_input"}) {
    model_refuses([&](json& m) { signature(m)["output_specs"][0] = {{kind, json::object()}}; },
                  "output_specs[0]: is an output of kind '" + kind + "'", Error::NotSupported);
  }
  const auto output = [](json arg) {
    return [=](json& m) { signature(m)["output_specs"][0]["user_output"]["arg"] = arg; };
  };
  model_refuses(output({{"as_int", 3}}), "is an output given as 'as_int'", Error::NotSupported);
  model_refuses(output({{"as_custom_obj", 3}}), "is an output given as", Error::NotSupported);
  refuses(
      "stateful", model_entry,
      [](json& m) { signature(m)["output_specs"][0]["buffer_mutation"]["buffer_name"] = "ghost"; },
      "changes 'ghost', which is not an input");
}

TEST_CASE("unsupported arguments and outputs of nodes are refused with the node", "[pt2]") {
  const std::string node_text = "node 'relu' (aten.relu.default): ";
  const std::string place = "graph_module.graph.nodes[2].inputs[0].arg";
  for (const std::string kind : {"as_graph", "as_custom_obj", "as_operator", "as_complex",
                                 "as_strings", "as_nested_tensors", "as_int_lists"}) {
    model_refuses([&](json& m) { argument(m, 2, 0) = {{kind, json::array()}}; },
                  node_text + place + ": is given as '" + kind + "'", Error::NotSupported);
  }
  model_refuses([](json& m) { argument(m, 2, 0) = {{"as_scalar_type", 50}}; },
                place + ".as_scalar_type: is 50");
  model_refuses([](json& m) { argument(m, 2, 0) = {{"as_memory_format", 5}}; },
                "is not a memory format");
  model_refuses([](json& m) { argument(m, 2, 0) = {{"as_float", "much"}}; },
                "expected a number, found '\"much\"'");
  model_refuses([](json& m) { argument(m, 2, 0) = json::object(); },
                place + ": expected an object with one member");
  model_refuses([](json& m) { argument(m, 2, 0)["as_int"] = 1; },
                "expected an object with one member, found an object of 2");
  model_refuses([](json& m) { node(m, 2)["outputs"][0] = {{"as_none", true}}; },
                "nodes[2].outputs[0]: is 'as_none'", Error::NotSupported);
  model_refuses([](json& m) { node(m, 2)["target"] = "#extension:op"; },
                "calls into Python are no operators", Error::NotSupported);
  model_refuses([](json& m) { node(m, 2)["target"] = ""; }, "nodes[2].target: is empty");
}

TEST_CASE("JSON that is damaged, too deep or says things twice is refused", "[pt2]") {
  const auto with = [](std::string text) {
    ZipContent content = ZipContent::fixture("mlp");
    content.entries["model/models/model.json"] = std::move(text);
    return refusal(content, Error::InvalidProgram);
  };
  const std::string entry = "models/model.json: ";
  CHECK_THAT(with("{\"graph_module\": "), ContainsSubstring(entry + "is not JSON"));
  CHECK_THAT(with(""), ContainsSubstring(entry + "is not JSON"));
  CHECK_THAT(with("[1]"), ContainsSubstring(entry + "expected an object"));
  CHECK_THAT(with("{\"a\": 1, \"a\": 2}"), ContainsSubstring("the key 'a' is written twice"));
  CHECK_THAT(with(std::string(200000, '[')), ContainsSubstring(entry));
  CHECK_THAT(with("{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"),
             ContainsSubstring("is nested deeper than 64 levels"));
  CHECK_THAT(with("{\"\xff\": 1}"), ContainsSubstring(entry + "is not JSON"));
}

TEST_CASE("archives without models, or with two for one method, are refused", "[pt2]") {
  ZipContent content = ZipContent::fixture("mlp");
  const std::string model = content.entries["model/models/model.json"];
  content.entries["model/models/forward.json"] = model;
  content.entries["model/data/weights/forward_weights_config.json"] =
      content.entries["model/data/weights/model_weights_config.json"];
  CHECK_THAT(refusal(content, Error::InvalidProgram),
             ContainsSubstring("two models are method 'forward'"));
  content.entries.erase("model/models/forward.json");
  content.entries["model/models/a/b.json"] = model;
  CHECK_THAT(refusal(content, Error::InvalidProgram),
             ContainsSubstring("entry 'models/a/b.json' is not the name of a model"));
  content.entries.erase("model/models/a/b.json");
  content.entries.erase("model/models/model.json");
  CHECK_THAT(refusal(content, Error::NotSupported), ContainsSubstring("holds no exported program"));
}

TEST_CASE("inputs and outputs without data are left out and reported", "[pt2]") {
  const ZipContent content = changed("mlp", model_entry, [](json& m) {
    json& inputs = signature(m)["input_specs"];
    inputs.push_back({{"constant_input", {{"name", "mask"}, {"value", {{"as_none", true}}}}}});
    graph(m)["inputs"].push_back({{"as_none", true}});
    json& outputs = signature(m)["output_specs"];
    outputs.push_back({{"user_output", {{"arg", {{"as_none", true}}}}}});
  });
  const TemporaryDirectory directory;
  content.write(directory / "m.pt2");
  const auto program = read_pt2(directory / "m.pt2");
  INFO(program.text());
  REQUIRE(program.ok());
  CHECK(program->methods[0].left_out ==
        std::vector<std::string>{"input 'mask' is a constant", "output 1 is None"});
  CHECK(program->methods[0].program.view().inputs().size() == 1);
  CHECK(program->methods[0].program.view().num_outputs() == 1);
}
