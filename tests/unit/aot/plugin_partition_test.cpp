// SPDX-License-Identifier: MIT
//
// Finding a backend that compiles, and asking it which nodes it takes. A fake makes the mistakes of
// plugins; each error names the backend.
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"

#include <cstdint>
#include <string>
#include <tenon/aot.hpp>
#include <tenon/aot/edge_program_builder.hpp>
#include <utility>
#include <vector>

#include "fake_compiler.hpp"
#include "support/catch.hpp"
#include "tenon/host/backend_registry.hpp"

namespace plugin_partition_test {

using namespace tenon;
using namespace tenon::aot;
using test::FakeCompiler;

/// x + weight, then relu, then the new content of buffer "count".
OwnedEdgeProgram program_of_two() {
  const EdgeTensor tensor{ScalarType::Float, {2}};
  EdgeProgramBuilder graph("forward");
  const ValueId x = graph.user_input("x", tensor);
  const ValueId weight = graph.stored(EdgeOrigin::Parameter, "p_weight", "weight", tensor,
                                      SharedBytes(std::vector<std::byte>(8)));
  const ValueId count = graph.stored(EdgeOrigin::Buffer, "b_count", "count", tensor,
                                     SharedBytes(std::vector<std::byte>(8)));
  const ValueId sum =
      graph.node("aten.add.Tensor", {{"self", EdgeRef{x}}, {"other", EdgeRef{weight}}}, tensor);
  const ValueId next =
      graph.node("aten.mul.Tensor", {{"self", EdgeRef{count}}, {"other", EdgeRef{sum}}}, tensor);
  graph.mutation(count, next);
  graph.user_output(sum);
  auto built = std::move(graph).build();
  REQUIRE(built.ok());
  return *std::move(built);
}

/// The compiler of `fake`; the test fails when there is none.
PluginPreprocess compiler_of(FakeCompiler& fake) {
  auto found = PluginPreprocess::of(fake.ref());
  INFO(found.text());
  REQUIRE(found.ok());
  return *std::move(found);
}

/// How a partition that `decide` makes is refused.
template <class Decide>
std::string refusal(const Decide& decide) {
  FakeCompiler fake("Fake");
  fake.partition = [&](const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                       const tenon_partition_sink& sink) -> tenon_status { return decide(sink); };
  const OwnedEdgeProgram program = program_of_two();
  const auto result = compiler_of(fake).partition(program.view(), {});
  CHECK(result.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(result.text()), ContainsSubstring("backend Fake: partition: "));
  return std::string(result.text());
}

/// Declares partition "p" without specs.
tenon_status declare(const tenon_partition_sink& sink) {
  return sink.add_partition(sink.context, "p", nullptr, 0);
}

/// The last of `times` equal calls, and why it is refused.
struct WrongTag {
  std::uint32_t index;
  const char* tag;
  int times;
  const char* text;
};

/// Checks that `give`, tag_node or tag_value of a sink, refuses tags besides "p".
void check_refused(decltype(tenon_partition_sink::tag_node) tenon_partition_sink::* give,
                   const std::vector<WrongTag>& cases) {
  for (const WrongTag& each : cases) {
    CHECK_THAT(refusal([&](const tenon_partition_sink& sink) {
                 declare(sink);
                 for (int i = 1; i < each.times; ++i) {
                   (sink.*give)(sink.context, each.index, each.tag);
                 }
                 return (sink.*give)(sink.context, each.index, each.tag);
               }),
               ContainsSubstring(each.text));
  }
}

TEST_CASE("a backend is found by the id that programs name", "[aot][S0.9]") {
  FakeCompiler fake("Compiles");
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(fake.open()).ok());
  const auto found = PluginPreprocess::find(registry, "Compiles");
  INFO(found.text());
  REQUIRE(found.ok());
  CHECK(found->id() == "Compiles");
  CHECK(found->backend().id() == "Compiles");
  CHECK(found->has_partition());
  const auto missing = PluginPreprocess::find(registry, "Compile");
  CHECK(missing.error() == Error::NotFound);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("Compiles"));
}

TEST_CASE("a backend that cannot compile is refused, with those that can", "[aot]") {
  FakeCompiler late("Late");
  late.has_extension = false;
  FakeCompiler empty("Empty");
  empty.table.preprocess = nullptr;
  FakeCompiler one("One");
  FakeCompiler two("Two");
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(late.open()).ok());
  REQUIRE(registry.register_backend(empty.open()).ok());
  const auto alone = PluginPreprocess::find(registry, "Late");
  CHECK(alone.error() == Error::NotSupported);
  CHECK(alone.text() ==
        "backend Late cannot compile: its plugin has no ahead-of-time half (extension "
        "tenon.preprocess/1); no known backend can");

  REQUIRE(registry.register_backend(two.open()).ok());
  REQUIRE(registry.register_backend(one.open()).ok());
  const auto among = PluginPreprocess::find(registry, "Late");
  CHECK_THAT(std::string(among.text()), ContainsSubstring("; these can: One, Two"));
  const auto half = PluginPreprocess::find(registry, "Empty");
  CHECK(half.error() == Error::NotSupported);
  CHECK_THAT(std::string(half.text()),
             ContainsSubstring("its table of tenon.preprocess/1 has no `preprocess`"));
  CHECK(PluginPreprocess::of({}).error() == Error::InvalidArgument);
}

TEST_CASE("a table of an earlier version has the functions that it states", "[aot]") {
  FakeCompiler fake("Short");
  fake.table.struct_size = offsetof(tenon_preprocess_v1, preprocess);
  CHECK(PluginPreprocess::of(fake.ref()).error() == Error::NotSupported);
  fake.table.struct_size = 0;
  CHECK(PluginPreprocess::of(fake.ref()).error() == Error::NotSupported);
  fake.table.struct_size = sizeof fake.table + 64;  // A later one; what is unknown is not read.
  CHECK(PluginPreprocess::of(fake.ref()).ok());
}

TEST_CASE("a decision arrives with tags, specs, nodes and values", "[aot]") {
  FakeCompiler fake("Fake");
  std::string options_seen;
  fake.partition = [&](const tenon_edge_program& program, const tenon_compile_spec* options,
                       std::uint32_t num_options, const tenon_partition_sink& sink) {
    for (std::uint32_t i = 0; i < num_options; ++i) {
      options_seen += options[i].key + std::string(static_cast<const char*>(options[i].value),
                                                   static_cast<std::size_t>(options[i].value_size));
    }
    CHECK(program.num_nodes == 2);
    const tenon_compile_spec specs[] = {{sizeof specs[0], 0, "mode", "fast", 4},
                                        {sizeof specs[0], 0, "none", nullptr, 0}};
    CHECK(sink.struct_size == sizeof(tenon_partition_sink));
    CHECK(sink.add_partition(sink.context, "p", specs, 2) == TENON_STATUS_OK);
    CHECK(sink.tag_node(sink.context, 1, "p") == TENON_STATUS_OK);
    CHECK(sink.tag_value(sink.context, 2, "p") == TENON_STATUS_OK);
    return sink.add_partition(sink.context, "empty", nullptr, 0);
  };
  const OwnedEdgeProgram program = program_of_two();
  const auto result = compiler_of(fake).partition(
      program.view(), {{"a", SharedBytes::copy_of("1")}, {"b", SharedBytes::copy_of("22")}});
  INFO(result.text());
  REQUIRE(result.ok());
  CHECK(options_seen == "a1b22");
  REQUIRE(result->partition_tags.size() == 2);
  const DelegationSpec& spec = result->partition_tags.at("p");
  CHECK(spec.backend_id == "Fake");
  REQUIRE(spec.compile_specs.size() == 2);
  CHECK(spec.compile_specs[0].key == "mode");
  CHECK(spec.compile_specs[0].value.size() == 4);
  CHECK(spec.compile_specs[1].value.empty());
  CHECK(result->tag_of(0).empty());
  CHECK(result->tag_of(1) == "p");
  CHECK(result->tag_of_value(2) == "p");
  CHECK(result->tag_of_value(1).empty());
}

TEST_CASE("specs of a later version are walked in its steps", "[aot]") {
  struct Later {
    tenon_compile_spec known;
    std::uint64_t unknown;
  };
  FakeCompiler fake("Fake");
  fake.partition = [](const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                      const tenon_partition_sink& sink) {
    const Later specs[] = {{{sizeof(Later), 0, "a", "1", 1}, ~0ull},
                           {{sizeof(Later), 0, "b", "2", 1}, ~0ull}};
    return sink.add_partition(sink.context, "p", &specs[0].known, 2);
  };
  const OwnedEdgeProgram program = program_of_two();
  const auto result = compiler_of(fake).partition(program.view(), {});
  REQUIRE(result.ok());
  CHECK(result->partition_tags.at("p").compile_specs[1].key == "b");
}

TEST_CASE("a backend that does not choose gets the whole program", "[aot][S0.9]") {
  FakeCompiler fake("Whole");
  fake.table.partition = nullptr;
  const PluginPreprocess compiler = compiler_of(fake);
  CHECK_FALSE(compiler.has_partition());
  const OwnedEdgeProgram program = program_of_two();
  const auto result = compiler.partition(program.view(), {{"mode", SharedBytes::copy_of("fast")}});
  REQUIRE(result.ok());
  REQUIRE(result->partition_tags.size() == 1);
  const auto& [tag, spec] = *result->partition_tags.begin();
  CHECK(spec.backend_id == "Whole");
  REQUIRE(spec.compile_specs.size() == 1);
  CHECK(spec.compile_specs[0].key == "mode");
  CHECK(result->tag_of(0) == tag);
  CHECK(result->tag_of(1) == tag);
  CHECK(result->tag_of_value(*program.view().find_value("p_weight")) == tag);
  CHECK(result->tag_of_value(*program.view().find_value("b_count")) == tag);

  EdgeProgramBuilder graph("nothing");
  graph.user_output(graph.user_input("x", {ScalarType::Float, {2}}));
  const auto nothing = std::move(graph).build();
  REQUIRE(nothing.ok());
  const auto none = compiler.partition(nothing->view(), {});
  REQUIRE(none.ok());
  CHECK(none->partition_tags.empty());
}

TEST_CASE("a failure of partition keeps the backend's reason", "[aot]") {
  FakeCompiler fake("Fake");
  fake.partition = [&](const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                       const tenon_partition_sink&) {
    return fake.fail(TENON_STATUS_NOT_SUPPORTED, "option mode: expected fast, found slow");
  };
  const OwnedEdgeProgram program = program_of_two();
  const auto result = compiler_of(fake).partition(program.view(), {});
  CHECK(result.error() == Error::NotSupported);
  CHECK(result.text() == "backend Fake: partition: option mode: expected fast, found slow");

  fake.fail(TENON_STATUS_INTERNAL, "of an earlier call");
  fake.partition = [](const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                      const tenon_partition_sink&) -> tenon_status {
    return TENON_STATUS_INTERNAL;
  };
  const auto silent = compiler_of(fake).partition(program.view(), {});
  CHECK(silent.text() == "backend Fake: partition: the plugin gave no reason");
}

TEST_CASE("tags that make no sense are refused by name", "[aot]") {
  CHECK_THAT(refusal([](const tenon_partition_sink& sink) {
               return sink.add_partition(sink.context, nullptr, nullptr, 0);
             }),
             ContainsSubstring("a partition without a tag"));
  CHECK_THAT(refusal([](const tenon_partition_sink& sink) {
               return sink.add_partition(sink.context, "", nullptr, 0);
             }),
             ContainsSubstring("a partition without a tag"));
  CHECK_THAT(refusal([](const tenon_partition_sink& sink) {
               declare(sink);
               return declare(sink);
             }),
             ContainsSubstring("add_partition 'p': the tag was given twice"));
  CHECK_THAT(refusal([](const tenon_partition_sink& sink) {
               return sink.tag_node(sink.context, 0, nullptr);
             }),
             ContainsSubstring("tag_node 'add': NULL in place of a tag"));
  check_refused(&tenon_partition_sink::tag_node,
                {{0, "q", 1, "tag_node 'add': no partition has the tag 'q'"},
                 {2, "p", 1, "tag_node: node 2 of 2"},
                 {1, "p", 2, "tag_node 'mul': it has the tag 'p' and cannot get 'p' too"}});
}

TEST_CASE("values that a partition keeps are stored ones, tagged once", "[aot]") {
  check_refused(&tenon_partition_sink::tag_value,
                {{5, "p", 1, "tag_value: value 5 of 5"},
                 {0, "p", 1, "tag_value 'x': it is not a parameter, buffer or constant"},
                 {1, "q", 1, "tag_value 'p_weight': no partition has the tag 'q'"},
                 {1, "p", 2, "tag_value 'p_weight': it has the tag 'p'"}});
}

TEST_CASE("specs of a partition that make no sense are refused by their tag", "[aot]") {
  const auto with = [](const tenon_compile_spec* specs, std::uint32_t count) {
    return refusal([&](const tenon_partition_sink& sink) {
      return sink.add_partition(sink.context, "p", specs, count);
    });
  };
  CHECK_THAT(with(nullptr, 3),
             ContainsSubstring("add_partition 'p': NULL in place of 3 compile specs"));
  const tenon_compile_spec lying = {8, 0, "k", "v", 1};
  CHECK_THAT(with(&lying, 1), ContainsSubstring("compile specs: struct_size is 8, expected"));
  const tenon_compile_spec nameless = {sizeof nameless, 0, nullptr, "v", 1};
  CHECK_THAT(with(&nameless, 1), ContainsSubstring("a compile spec without a key"));
  const tenon_compile_spec hollow = {sizeof hollow, 0, "k", nullptr, 4};
  CHECK_THAT(with(&hollow, 1), ContainsSubstring("compile spec 'k': NULL in place of 4 bytes"));
}

TEST_CASE("what a sink refused counts, whatever the plugin makes of it", "[aot]") {
  // It continues as if nothing had happened.
  CHECK_THAT(refusal([](const tenon_partition_sink& sink) -> tenon_status {
               sink.tag_node(sink.context, 77, "p");
               CHECK(declare(sink) == TENON_STATUS_INVALID_ARGUMENT);
               return TENON_STATUS_OK;
             }),
             ContainsSubstring("node 77 of 2"));
  // It says something else.
  CHECK_THAT(refusal([](const tenon_partition_sink& sink) -> tenon_status {
               sink.tag_node(sink.context, 77, "p");
               return TENON_STATUS_OUT_OF_RESOURCES;
             }),
             ContainsSubstring("node 77 of 2"));
}

TEST_CASE("operators to keep arrive once each, and none from a backend that names none", "[aot]") {
  FakeCompiler fake("Fake");
  fake.ops_to_not_decompose = [](const tenon_edge_program&, const auto& sink) {
    sink("aten.linear.default");
    sink("aten.gelu.default");
    return sink("aten.linear.default");
  };
  const OwnedEdgeProgram program = program_of_two();
  const auto kept = compiler_of(fake).ops_to_not_decompose(program.view());
  REQUIRE(kept.ok());
  CHECK(*kept == std::vector<std::string>{"aten.linear.default", "aten.gelu.default"});

  for (const char* bad : {static_cast<const char*>(nullptr), ""}) {
    fake.ops_to_not_decompose = [&](const tenon_edge_program&, const auto& sink) {
      return sink(bad);
    };
    const auto refused = compiler_of(fake).ops_to_not_decompose(program.view());
    CHECK(refused.text() == "backend Fake: ops_to_not_decompose: an operator without a name");
  }
  fake.ops_to_not_decompose = [&](const tenon_edge_program&, const auto&) {
    return fake.fail(TENON_STATUS_NOT_SUPPORTED, "not today");
  };
  CHECK(compiler_of(fake).ops_to_not_decompose(program.view()).text() ==
        "backend Fake: ops_to_not_decompose: not today");
  fake.table.ops_to_not_decompose = nullptr;
  const auto none = compiler_of(fake).ops_to_not_decompose(program.view());
  REQUIRE(none.ok());
  CHECK(none->empty());
}

}  // namespace plugin_partition_test
