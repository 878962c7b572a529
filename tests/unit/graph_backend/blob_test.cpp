// SPDX-License-Identifier: MIT
//
// Blobs that are damaged or contradict themselves: each is refused with a reason or runs in its
// bounds.
#include <functional>
#include <string>
#include <vector>

#include "common/blob.hpp"
#include "compiled.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_blob_test {
namespace {

using aot::EdgeOrigin;
using aot::EdgeRef;
using graph_backend::Graph;
using graph_backend::blob::Operator;
using graph_backend::blob::Place;

/// y = softmax(linear(x)) + x, with one tensor in scratch memory.
aot::OwnedEdgeProgram sample() {
  aot::EdgeProgramBuilder graph;
  const aot::EdgeTensor square{ScalarType::Float, {3, 3}};
  const auto x = graph.user_input("x", square);
  const auto weight = graph.stored(EdgeOrigin::Parameter, "weight", "weight", square,
                                   bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const auto linear = graph.node("aten.linear.default",
                                 {{"input", EdgeRef{x}}, {"weight", EdgeRef{weight}}}, square);
  const auto softmax = graph.node("aten.softmax.int",
                                  {{"self", EdgeRef{linear}}, {"dim", std::int64_t{-1}}}, square);
  const auto turned = graph.node("aten.t.default", {{"self", EdgeRef{softmax}}}, square);
  const auto flat =
      graph.node("aten.view.default", {{"self", EdgeRef{turned}}, {"size", aot::EdgeInts({9})}},
                 {ScalarType::Float, {9}});
  const auto again = graph.node("aten.view.default",
                                {{"self", EdgeRef{flat}}, {"size", aot::EdgeInts({3, 3})}}, square);
  graph.user_output(
      graph.node("aten.add.Tensor", {{"self", EdgeRef{again}}, {"other", EdgeRef{x}}}, square));
  return build_ok(std::move(graph));
}

const aot::PreprocessResult& compiled() {
  static const auto program = sample();
  static const auto result = compile_ok(program);
  return result;
}

Graph good_graph() {
  auto graph = graph_backend::read_graph(compiled().processed_bytes.bytes());
  REQUIRE(graph.ok());
  return *std::move(graph);
}

/// Why a graph that was changed is not read.
std::string refusal(const std::function<void(Graph&)>& change) {
  Graph graph = good_graph();
  change(graph);
  const auto bytes = graph_backend::write_graph(graph);
  REQUIRE(bytes.ok());
  const auto read = graph_backend::read_graph(bytes->bytes());
  CHECK(read.error() == Error::InvalidProgram);
  return std::string(read.text());
}

/// Loads a blob in place of the good one and runs it once.
Status load_and_run(std::span<const std::byte> blob) {
  static const auto program = sample();
  auto changed = compiled();
  changed.processed_bytes = aot::SharedBytes::copy_of(blob);
  TENON_TRY(const auto method, load(one_delegate(program.view(), changed)));
  const std::vector<float> in(9, 0.5F);
  TENON_RETURN_IF_ERROR(set_floats(*method, 0, in, {3, 3}));
  return method->execute();
}

std::vector<std::byte> bytes() {
  const auto good = compiled().processed_bytes.bytes();
  return {good.begin(), good.end()};
}

}  // namespace

TEST_CASE("the blob of the sample runs, whatever its address", "[graph_backend][TN-INI-7]") {
  CHECK(load_and_run(bytes()).ok());
  for (std::size_t shift = 1; shift < 16; ++shift) {
    auto moved = bytes();
    moved.insert(moved.begin(), shift, std::byte{0});
    const auto graph = graph_backend::read_graph(std::span(moved).subspan(shift));
    REQUIRE(graph.ok());
    const auto data = reinterpret_cast<std::uintptr_t>(graph->constants[0].data.bytes().data());
    CHECK(data % alignof(std::max_align_t) == 0);
  }
}

TEST_CASE("a blob that ends early is refused", "[graph_backend][TN-INI-5]") {
  const auto good = bytes();
  for (std::size_t size = 0; size < good.size(); ++size) {
    // On the heap by itself, so that a sanitizer sees what is read behind it.
    const std::vector<std::byte> cut(good.begin(),
                                     good.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(graph_backend::read_graph(cut).ok());
  }
}

TEST_CASE("a blob with a changed byte is refused with a reason or runs in its bounds",
          "[graph_backend][TN-INI-1][TN-INI-5]") {
  auto changed = bytes();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < changed.size(); ++at) {
    for (const unsigned mask : {0x01U, 0x40U, 0x80U, 0xFFU}) {
      changed[at] ^= std::byte(mask);
      const Status ran = load_and_run(changed);
      refused += ran.ok() ? 0U : 1U;
      if (!ran.ok() && ran.text().empty()) FAIL("no reason for a change at byte " << at);
      changed[at] ^= std::byte(mask);
    }
  }
  CHECK(refused > changed.size() / 2);
}

TEST_CASE("a blob of another version is refused as incompatible", "[graph_backend][TN-INI-2]") {
  flatbuffers::FlatBufferBuilder builder;
  graph_backend::blob::FinishGraphBuffer(builder, graph_backend::blob::CreateGraph(builder, 7));
  const auto status =
      load_and_run(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  CHECK(status.error() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(std::string(status.text()),
             ContainsSubstring("expected payload version 1 to 3, found 7"));
}

TEST_CASE("bytes of something else are refused", "[graph_backend][TN-INI-2]") {
  const std::string_view text = "\x10\0\0\0ET12 something else entirely";
  const auto read = graph_backend::read_graph(std::as_bytes(std::span(text)));
  CHECK(read.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(read.text()), ContainsSubstring("expected the identifier TNGB"));
}

TEST_CASE("numbers that lead out of a graph are refused", "[graph_backend][TN-INI-5]") {
  CHECK_THAT(refusal([](Graph& g) { g.nodes[0].inputs[0] = 99; }),
             ContainsSubstring("node 0 (MatMul): reads tensor 99"));
  CHECK_THAT(refusal([](Graph& g) { g.nodes[0].output = 99; }),
             ContainsSubstring("makes tensor 99"));
  CHECK_THAT(refusal([](Graph& g) { g.inputs[0] = 99; }),
             ContainsSubstring("input 0 is tensor 99"));
  CHECK_THAT(refusal([](Graph& g) { g.outputs[0] = 99; }),
             ContainsSubstring("output 0 is tensor 99"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[0].index = 9; }), ContainsSubstring("input 9 of 1"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[1].index = 9; }),
             ContainsSubstring("constant 9 of 1"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[g.outputs[0]].index = 9; }),
             ContainsSubstring("output 9 of 1"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[0].scalar_type = 7; }),
             ContainsSubstring("expected dtype Float, Long, Bool, Half or BFloat16"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[0].sizes[0] = -1; }),
             ContainsSubstring("a size is -1"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[0].sizes = {1 << 30, 1 << 30}; }),
             ContainsSubstring("expected at most"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[0].symbols = {1, 2, 3}; }),
             ContainsSubstring("3 symbols"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[0].symbols = {0, 1000}; }),
             ContainsSubstring("symbol 1000"));
  CHECK_THAT(refusal([](Graph& g) { g.tensors[0].sizes = {2, 3}; }),
             ContainsSubstring("but tensor"));
}

TEST_CASE("a graph that would write where it must not is refused", "[graph_backend][TN-INI-5]") {
  const auto out_of_softmax = [](Graph& g) -> auto& { return g.tensors[g.nodes[1].output]; };
  const auto in_input = [&](Graph& g) { out_of_softmax(g).place = Place::Input; };
  CHECK_THAT(refusal(in_input), ContainsSubstring("writes to an input or a constant"));
  CHECK_THAT(
      refusal([&](Graph& g) { out_of_softmax(g).offset = g.tensors[g.nodes[0].output].offset; }),
      ContainsSubstring("overwrites tensor"));
  CHECK_THAT(refusal([&](Graph& g) { out_of_softmax(g).offset = 1 << 20; }),
             ContainsSubstring("in scratch memory"));
  CHECK_THAT(refusal([&](Graph& g) { out_of_softmax(g).offset += 4; }),
             ContainsSubstring("in scratch memory"));
  CHECK_THAT(refusal([&](Graph& g) { out_of_softmax(g).offset = UINT64_MAX - 63; }),
             ContainsSubstring("in scratch memory"));
  CHECK_THAT(refusal([](Graph& g) { g.scratch_bytes = std::uint64_t{1} << 40; }),
             ContainsSubstring("expected at most the"));
  CHECK_THAT(refusal([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }),
             ContainsSubstring("which nothing made before"));
  CHECK_THAT(refusal([](Graph& g) { g.nodes.push_back(g.nodes[0]); }),
             ContainsSubstring("makes it again"));
  CHECK_THAT(refusal([](Graph& g) { g.nodes.pop_back(); }), ContainsSubstring("is never made"));
  CHECK_THAT(refusal([](Graph& g) { g.constants[0].nbytes = 4; }), ContainsSubstring("constant 0"));
}

TEST_CASE("operators with attributes that cannot be are refused", "[graph_backend][TN-INI-5]") {
  CHECK_THAT(refusal([](Graph& g) { g.nodes[1].op.AsSoftmax()->dim = 7; }),
             ContainsSubstring("dimension 7"));
  CHECK_THAT(refusal([](Graph& g) { g.nodes[2].op.AsPermute()->dims = {0, 0}; }),
             ContainsSubstring("once"));
  CHECK_THAT(refusal([](Graph& g) { g.nodes[2].op.AsPermute()->dims.resize(100); }),
             ContainsSubstring("100 dimensions"));
  CHECK_THAT(refusal([](Graph& g) {
               g.nodes[1].op.AsSoftmax();
               g.nodes[1].op.Reset();
             }),
             ContainsSubstring("operator number 0"));
  CHECK_THAT(refusal([](Graph& g) {
               g.nodes.back().op.AsBinary()->kind =
                   static_cast<graph_backend::blob::BinaryKind>(99);
             }),
             ContainsSubstring("unknown kind"));
}

}  // namespace graph_blob_test
