// SPDX-License-Identifier: MIT
//
// Operators that change their inputs, read as functions: which become one, what later readers get,
// and what is refused.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"

using namespace tenon;
using namespace tenon::aot;
using namespace tenon::test;
using nlohmann::json;

namespace in_place_test {

json tensor_argument(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }

/// A graph of nodes that make Float[2, 32]: "made" is a sum of an input with itself.
class Graph {
 public:
  Graph() : content_(ZipContent::fixture("mlp_decomposed")), model_(content_.json(entry)) {
    tensor_ = graph()["tensor_values"]["relu"];
    graph()["nodes"] = json::array();
    graph()["tensor_values"]["x"] = tensor_;
    node("made", "aten.add.Tensor", {"x", "x"});
  }

  /// A node with a result of its own name, or of several names.
  Graph& node(const std::string& name, const std::string& target,
              const std::vector<std::string>& inputs,
              const std::vector<std::string>& results = {}) {
    json added = {{"name", name}, {"target", "torch.ops." + target}, {"metadata", json::object()}};
    added["inputs"] = json::array();
    for (const std::string& input : inputs) {
      const std::string argument = added["inputs"].empty() ? "self" : "other";
      added["inputs"].push_back({{"name", argument}, {"arg", tensor_argument(input)}, {"kind", 1}});
    }
    added["outputs"] = json::array();
    if (results.empty()) {
      graph()["tensor_values"][name] = tensor_;
      added["outputs"].push_back(tensor_argument(name));
    } else {
      json list = json::array();
      for (const std::string& result : results) {
        graph()["tensor_values"][result] = tensor_;
        list.push_back({{"name", result}});
      }
      added["outputs"].push_back({{"as_tensors", std::move(list)}});
    }
    graph()["nodes"].push_back(std::move(added));
    return *this;
  }
  /// A node without a result.
  Graph& assertion(const std::string& input) {
    node("assertion", "aten._assert_tensor_metadata.default", {input});
    graph()["nodes"].back()["outputs"] = json::array();
    return *this;
  }
  Graph& type(const std::string& name, int dtype) {
    graph()["tensor_values"][name]["dtype"] = dtype;
    return *this;
  }
  /// A tensor of rank 0.
  Graph& number(const std::string& name, int dtype) {
    json& tensor = graph()["tensor_values"][name];
    tensor["sizes"] = tensor["strides"] = json::array();
    return type(name, dtype);
  }

  [[nodiscard]] Result<Pt2Program> read(const std::string& output) const {
    ZipContent content = content_;
    json model = model_;
    model["graph_module"]["graph"]["outputs"] = {tensor_argument(output)};
    model["graph_module"]["signature"]["output_specs"] = {
        {{"user_output", {{"arg", tensor_argument(output)}}}}};
    content.set(entry, model);
    const TemporaryDirectory directory;
    content.write(directory / "m.pt2");
    return read_pt2(directory / "m.pt2");
  }

 private:
  static constexpr const char* entry = "models/model.json";

  json& graph() { return model_["graph_module"]["graph"]; }

  ZipContent content_;
  json model_;
  json tensor_;
};

/// The nodes as "name = target(value, value)", and "output value".
std::vector<std::string> lines(const Graph& graph, const std::string& output) {
  const auto archive = graph.read(output);
  INFO(archive.text());
  REQUIRE(archive.ok());
  const EdgeProgram program = archive->methods[0].program.view();
  std::vector<std::string> out;
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    std::string inputs;
    program.node(i).for_each_input([&](ValueId value) {
      inputs += (inputs.empty() ? "" : ", ") + std::string(program.value(value).name());
    });
    out.push_back(std::string(program.node(i).name()) + " = " +
                  std::string(program.node(i).target()) + "(" + inputs + ")");
  }
  out.push_back("output " + std::string(program.value(program.output(0).value).name()));
  return out;
}

void refuses(const Graph& graph, const std::string& output, std::string_view operator_name,
             const std::string& reason) {
  const auto archive = graph.read(output);
  REQUIRE_FALSE(archive.ok());
  CHECK(archive.error() == Error::NotSupported);
  const std::string text(archive.text());
  INFO(text);
  CHECK_THAT(text, ContainsSubstring(".target: is '" + std::string(operator_name) +
                                     "', which changes " + reason));
  CHECK_THAT(text, ContainsSubstring("; save the program after run_decompositions(), which makes "
                                     "functions of such operators"));
}

}  // namespace in_place_test

using namespace in_place_test;

TEST_CASE("an operator that changes what another one made is read as its function",
          "[pt2][in_place]") {
  const std::vector<std::pair<std::string, std::string>> functions{
      {"aten.relu_.default", "aten.relu.default"},
      {"aten.silu_.default", "aten.silu.default"},
      {"aten.hardtanh_.default", "aten.hardtanh.default"},
      {"aten.clamp_.default", "aten.clamp.default"},
      {"aten.add_.Tensor", "aten.add.Tensor"},
      {"aten.sub_.Tensor", "aten.sub.Tensor"},
      {"aten.mul_.Scalar", "aten.mul.Scalar"},
      {"aten.div_.Tensor_mode", "aten.div.Tensor_mode"},
      {"aten.pow_.Scalar", "aten.pow.Tensor_Scalar"},
      {"aten.pow_.Tensor", "aten.pow.Tensor_Tensor"},
      {"aten.fill_.Scalar", "aten.fill.Scalar"},
      {"aten.masked_fill_.Scalar", "aten.masked_fill.Scalar"},
      {"aten.copy_.default", "aten.copy.default"},
      {"aten.detach_.default", "aten.detach.default"},
      {"aten.index_put_.default", "aten.index_put.default"},
      {"aten.dropout_.default", "aten.dropout.default"},
  };
  for (const auto& [changing, function] : functions) {
    Graph graph;
    graph.node("changed", changing, {"made"}).node("next", "aten.neg.default", {"changed"});
    CHECK(lines(graph, "next") == std::vector<std::string>{"made = aten.add.Tensor(x, x)",
                                                           "changed = " + function + "(made)",
                                                           "next = aten.neg.default(changed)",
                                                           "output next"});
  }
}

TEST_CASE("an argument gets the name that the function gives it", "[pt2][in_place]") {
  Graph graph;
  graph.node("changed", "aten.dropout_.default", {"made"});
  const auto archive = graph.read("changed");
  REQUIRE(archive.ok());
  CHECK(archive->methods[0].program.view().node(1).find("input"));
}

TEST_CASE("later readers get the new content by each name of the tensor", "[pt2][in_place]") {
  Graph graph;
  graph.node("before", "aten.neg.default", {"made"})
      .node("changed", "aten.relu_.default", {"made"})
      .node("again", "aten.add_.Tensor", {"made", "before"})
      .node("once_more", "aten.mul_.Tensor", {"changed", "made"})
      .node("next", "aten.sub.Tensor", {"again", "once_more"});
  CHECK(lines(graph, "made") ==
        std::vector<std::string>{
            "made = aten.add.Tensor(x, x)", "before = aten.neg.default(made)",
            "changed = aten.relu.default(made)", "again = aten.add.Tensor(changed, before)",
            "once_more = aten.mul.Tensor(again, again)",
            "next = aten.sub.Tensor(once_more, once_more)", "output once_more"});
}

TEST_CASE("views that are not read after the change are no obstacle", "[pt2][in_place]") {
  Graph graph;
  graph.node("first", "aten.view.default", {"made"})
      .node("read", "aten.neg.default", {"first"})
      .node("second", "aten.permute.default", {"first"})
      .node("changed", "aten.relu_.default", {"second"})
      .node("third", "aten.view.default", {"second"})
      .node("again", "aten.add_.Tensor", {"third", "read"});
  CHECK(lines(graph, "third").back() == "output again");
}

TEST_CASE("assertions and sizes are no readers, and an assertion removes no change",
          "[pt2][in_place]") {
  Graph graph;
  graph.node("view", "aten.view.default", {"made"})
      .node("changed", "aten.relu_.default", {"made"})
      .assertion("view")
      .node("size", "aten.sym_size.int", {"view"});
  CHECK(lines(graph, "made").back() == "output changed");

  Graph only_asserted;
  only_asserted.node("changed", "aten.relu_.default", {"made"}).assertion("changed");
  CHECK(lines(only_asserted, "made") ==
        std::vector<std::string>{"made = aten.add.Tensor(x, x)",
                                 "changed = aten.relu.default(made)", "output changed"});
}

TEST_CASE("a change of memory that another tensor is read from later is refused",
          "[pt2][in_place]") {
  for (const char* view : {"aten.view.default", "aten.select.int", "aten.detach.default",
                           "aten.contiguous.default", "aten.dropout.default", "aten.to.dtype"}) {
    INFO(view);
    Graph of_view;
    of_view.node("view", view, {"made"}).node("changed", "aten.relu_.default", {"view"});
    refuses(of_view, "made", "aten.relu_.default",
            "'view', while 'made', which may share its memory, is an output");
    of_view.node("next", "aten.neg.default", {"made"});
    refuses(of_view, "next", "aten.relu_.default",
            "'view', while 'made', which may share its memory, is read later by node 'next'");

    Graph of_base;
    of_base.node("view", view, {"made"})
        .node("changed", "aten.add_.Tensor", {"made", "x"})
        .node("next", "aten.neg.default", {"view"});
    refuses(of_base, "next", "aten.add_.Tensor",
            "'made', while 'view', which may share its memory, is read later by node 'next'");
  }
  Graph copied;
  copied.node("copy", "aten.clone.default", {"made"})
      .node("changed", "aten.relu_.default", {"copy"});
  CHECK(lines(copied, "made").back() == "output made");
}

TEST_CASE("parts of one tensor may share its memory", "[pt2][in_place]") {
  Graph graph;
  graph.node("chunk", "aten.chunk.default", {"made"}, {"left", "right"})
      .node("changed", "aten.relu_.default", {"left"})
      .node("next", "aten.neg.default", {"right"});
  refuses(graph, "next", "aten.relu_.default", "'left', while 'right', which may share its memory");
  Graph operators_of_others;
  operators_of_others.node("own", "mine.chunk.default", {"made"}, {"left", "right"})
      .node("changed", "aten.relu_.default", {"left"});
  CHECK(lines(operators_of_others, "right").back() == "output right");
}

TEST_CASE("a change of an input is refused, and so is one of a view of it", "[pt2][in_place]") {
  for (const std::string input : {"x", "p_fc1_weight"}) {
    Graph graph;
    graph.node("changed", "aten.relu_.default", {input});
    refuses(graph, "changed", "aten.relu_.default", "'" + input + "', an input of the program");
    Graph viewed;
    viewed.node("view", "aten.view.default", {input})
        .node("changed", "aten.relu_.default", {"view"});
    refuses(viewed, "changed", "aten.relu_.default",
            "'view', which may share the memory of '" + input + "', an input of the program");
  }
}

TEST_CASE("an operator whose function gives another type is refused", "[pt2][in_place]") {
  // Numbers of PyTorch's archive: 5 Long, 6 Half, 7 Float, 12 Bool, 13 BFloat16.
  struct Row {
    int own, other;
    bool is_number, is_refused;
  };
  for (const Row& row : {Row{6, 7, false, true}, Row{6, 7, true, false}, Row{7, 6, false, false},
                         Row{6, 13, false, true}, Row{7, 5, false, false}, Row{4, 5, false, true},
                         Row{5, 4, false, false}, Row{12, 5, true, true}}) {
    CAPTURE(row.own, row.other, row.is_number);
    Graph graph;
    graph.node("operand", "aten.neg.default", {"x"})
        .node("changed", "aten.add_.Tensor", {"made", "operand"})
        .type("made", row.own)
        .type("changed", row.own);
    row.is_number ? graph.number("operand", row.other) : graph.type("operand", row.other);
    if (row.is_refused) {
      refuses(graph, "changed", "aten.add_.Tensor",
              "'made', which has another element type than 'operand': the function would give "
              "another type");
    } else {
      CHECK(graph.read("changed").ok());
    }
  }
  Graph keeps;
  keeps.node("source", "aten.neg.default", {"x"})
      .node("changed", "aten.copy_.default", {"made", "source"})
      .type("made", 6)
      .type("changed", 6);
  CHECK(keeps.read("changed").ok());
}

TEST_CASE("an operator without a function of the same result is refused", "[pt2][in_place]") {
  for (const char* name : {"aten.normal_.default", "aten.eq_.Tensor", "aten.transpose_.default",
                           "aten.__iand__.Tensor", "aten.resize_.default"}) {
    Graph graph;
    graph.node("changed", name, {"made"});
    refuses(graph, "changed", name, "its input, and no function is known");
  }
  Graph nothing;
  nothing.node("changed", "aten.relu_.default", {});
  refuses(nothing, "changed", "aten.relu_.default", "its input, but not a tensor");
}
