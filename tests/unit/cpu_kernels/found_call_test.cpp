// SPDX-License-Identifier: MIT
//
// Operators that models call by number and that another plugin has kernels for
// (tests/plugins/operators).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "operators/proxy.hpp"
#include "proxy_call.hpp"
#include "support/catch.hpp"
#include "tenon/backend/kernel_lookup.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/calls.hpp"

using namespace kernel_test;
using namespace tenon;

namespace found_call_test {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

/// A host that knows the plugin, as a backend has it inside of `init`.
struct Host {
  Host() { REQUIRE(registry.register_backend(std::filesystem::path(TENON_TEST_OPERATORS)).ok()); }

  /// Of a description with these nodes, or this one.
  Result<std::unique_ptr<const aoti::ProxyExecutor>> make_proxy(json nodes) const {
    if (!nodes.is_array()) nodes = json::array({std::move(nodes)});
    host::detail::KernelProviders providers({}, &registry);
    host::detail::PluginKernelLookup lookup(providers, {"forward"});
    return make_proxy_with(nodes, &lookup);
  }
  /// A proxy executor whose host looks for kernels in `lookup`, which may be null.
  Result<std::unique_ptr<const aoti::ProxyExecutor>> make_proxy_with(
      const json& nodes, host::detail::KernelLookup* lookup) const {
    const host::detail::Service service{&host::detail::KernelLookup::key, lookup};
    host::detail::InitCall context;
    context.services = &service;
    context.host = table.get();
    const InitContext asking(context);
    return cpu_aoti::make_proxy(json{{"nodes", nodes}}.dump(), &asking);
  }
  std::string refusal(const json& nodes, Error code) const {
    const auto proxy = make_proxy(nodes);
    INFO(proxy.text());
    CHECK(proxy.error() == code);
    return std::string(proxy.text());
  }

  host::BackendRegistry registry;
  host::HostTable table{host::all_layers(), ""};
};

/// The context of an `init` whose host looks for no kernels.
struct RawContext {
  explicit RawContext(const tenon_host* host) { raw.host = host; }

  host::detail::InitCall raw;
  InitContext shown{raw};
};

/// An array. Braces around one value are that value for some compilers.
template <class... Items>
json list(const Items&... items) {
  json out = json::array();
  (out.push_back(items), ...);
  return out;
}

json argument(const std::string& name, const json& value) {
  return {{"name", name}, {"arg", value}, {"kind", 1}};
}
json tensor_argument(const std::string& name) {
  return argument(name, {{"as_tensor", {{"name", "buf"}}}});
}
json tensor_facts(const std::vector<json>& sizes, const std::vector<bool>& dynamic) {
  json order = json::array();
  for (std::size_t i = 0; i < sizes.size(); ++i) order.push_back(i);
  return {{"dtype", 6}, {"sizes", sizes}, {"dim_order", order}, {"dynamic", dynamic}};
}
json tensor_facts(const std::vector<json>& sizes, bool dynamic = false) {
  return tensor_facts(sizes, std::vector<bool>(sizes.size(), dynamic));
}
const json tensor_output = {{"as_tensor", {{"name", "out"}}}};

/// A node whose metadata has `facts`.
json node(const std::string& target, const json& inputs, const json& outputs, const json& facts) {
  return {{"name", "buf0"},
          {"node",
           {{"target", target},
            {"inputs", inputs},
            {"outputs", outputs},
            {"metadata", {{"tenon", facts.dump()}}}}}};
}

json shift_facts(bool dynamic = false) {
  return {{"arguments", {"x", "by", "twice", "dims", "other"}},
          {"defaults", list(argument("other", {{"as_none", true}}))},
          {"tensors", {tensor_facts({2, 3}, dynamic), tensor_facts({2, 3}, dynamic)}}};
}
json shift_inputs() {
  return {tensor_argument("x"), argument("by", {{"as_float", 0.5}}),
          argument("twice", {{"as_bool", true}}), argument("dims", {{"as_ints", {1, 2}}})};
}
json shift_node(bool dynamic = false) {
  return node("tenon_test::shift", shift_inputs(), list(tensor_output), shift_facts(dynamic));
}
json split_node() {
  const json vector = tensor_facts({4}, true);
  return node("tenon_test::split",
              {tensor_argument("x"), argument("n", {{"as_sym_int", {{"as_name", "u0"}}}})},
              {tensor_output, tensor_output},
              {{"arguments", {"x", "n"}},
               {"defaults", json::array()},
               {"out", "tenon_test::split.out"},
               {"tensors", {vector, vector, vector}}});
}
json one_node(const std::string& target, const json& outputs, std::vector<json> tensors) {
  return node(target, list(tensor_argument("x")), outputs,
              {{"arguments", list("x")}, {"defaults", json::array()}, {"tensors", tensors}});
}

Call call(const aoti::ProxyExecutor& proxy, std::vector<ModelTensor*> tensors,
          std::vector<std::int64_t> integers, std::size_t num_results) {
  Call out(num_results, tensors);
  TensorPool& pool = aoti::current_pool();
  const std::size_t live = pool.num_live();
  const Status outcome = proxy.call(0, integers, tensors);
  CHECK(pool.num_live() == live);
  out.failure = std::string(outcome.text());
  return out;
}

const Host& host() {
  static const Host out;
  return out;
}

}  // namespace

TEST_CASE("a call runs with the kernel of another plugin", "[cpu_aoti][kernels]") {
  Fixture fixture;
  const auto proxy = host().make_proxy(list(shift_node()));
  INFO(proxy.text());
  REQUIRE(proxy.ok());
  const Handle x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Call plain = call(**proxy, {x.get()}, {1, 2}, 1);
  CHECK(plain.failure.empty());
  CHECK(plain.results[0].sizes() == Shape{2, 3});
  CHECK(plain.results[0].values() == Values{5, 6, 7, 8, 9, 10});
  // The model may pass other integers and other strides than the export did.
  const Handle turned = tensor({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Float, {1, 2});
  CHECK(call(**proxy, {turned.get()}, {10, -10}, 1).results[0].values() ==
        Values{2, 3, 4, 5, 6, 7});
}

TEST_CASE("a call of dynamic sizes takes any below the limits", "[cpu_aoti][kernels]") {
  Fixture fixture;
  const auto proxy = host().make_proxy(list(shift_node(true)));
  REQUIRE(proxy.ok());
  for (const Shape& sizes : {Shape{1, 2}, Shape{2, 3}, Shape{0, 3}, Shape{2, 1}}) {
    const Handle x = make(sizes);
    const Call some = call(**proxy, {x.get()}, {0, 0}, 1);
    CHECK(some.failure.empty());
    CHECK(some.results[0].sizes() == sizes);
  }
  const Handle large = make({3, 3});
  CHECK_THAT(call(**proxy, {large.get()}, {0, 0}, 1).failure,
             ContainsSubstring("tenon_test::shift: tensor 0: expected Float of at most [2, 3], "
                               "found Float [3, 3]"));
  const Handle whole = make({2, 3}, ScalarType::Long);
  CHECK_THAT(call(**proxy, {whole.get()}, {0, 0}, 1).failure, ContainsSubstring("found Long"));
  const Handle flat = make({3});
  CHECK_THAT(call(**proxy, {flat.get()}, {0, 0}, 1).failure, ContainsSubstring("found Float [3]"));
  const Handle x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(call(**proxy, {x.get()}, {0, 0}, 1).results[0].at(0) == 2);  // After failures.
}

TEST_CASE("static sizes are exactly those that were described", "[cpu_aoti][kernels]") {
  Fixture fixture;
  const auto proxy = host().make_proxy(list(shift_node()));
  REQUIRE(proxy.ok());
  const Handle small = make({1, 3});
  CHECK_THAT(call(**proxy, {small.get()}, {0, 0}, 1).failure,
             ContainsSubstring("expected Float [2, 3], found Float [1, 3]"));
}

TEST_CASE("an operator without a kernel runs as its out overload, whose results are resized",
          "[cpu_aoti][kernels]") {
  Fixture fixture;
  const auto proxy = host().make_proxy(list(split_node()));
  INFO(proxy.text());
  REQUIRE(proxy.ok());
  const Handle x = tensor({4}, {1, 2, 3, 4});
  for (const std::int64_t n : {1, 4, 0, 3}) {
    const Call parts = call(**proxy, {x.get()}, {n}, 2);
    CHECK(parts.failure.empty());
    CHECK(parts.results[0].sizes() == Shape{n});
    CHECK(parts.results[1].sizes() == Shape{4 - n});
    if (n > 0) CHECK(parts.results[0].at(n - 1) == static_cast<double>(n));
    if (n < 4) CHECK(parts.results[1].at(0) == static_cast<double>(n + 1));
  }
  CHECK_THAT(call(**proxy, {x.get()}, {5}, 2).failure,
             ContainsSubstring("tenon_test::split: kernel tenon_test::split.out (OperatorKernels): "
                               "n: expected 0 to 4, found 5"));
  CHECK(call(**proxy, {x.get()}, {2}, 2).failure.empty());
}

TEST_CASE("lists of tensors, dtypes and scalars are arguments of kernels", "[cpu_aoti][kernels]") {
  Fixture fixture;
  const json tensors = {{"as_tensors", {{{"name", "a"}}, {{"name", "b"}}}}};
  const json facts = {{"arguments", {"xs", "n", "dtype"}},
                      {"defaults", json::array()},
                      {"tensors",
                       {tensor_facts({2}), tensor_facts({3}), tensor_facts({}), tensor_facts({2}),
                        tensor_facts({3})}}};
  const auto proxy =
      host().make_proxy({node("tenon_test::pair",
                              {argument("xs", tensors), argument("n", {{"as_int", 3}}),
                               argument("dtype", {{"as_scalar_type", 7}})},
                              {tensor_output, tensors}, facts)});
  INFO(proxy.text());
  REQUIRE(proxy.ok());
  const Handle a = tensor({2}, {1, 2}), b = tensor({3}, {3, 4, 5});
  const Call both = call(**proxy, {a.get(), b.get()}, {3}, 3);
  CHECK(both.failure.empty());
  CHECK(both.results[0].values() == Values{3});
  CHECK(both.results[1].values() == Values{3, 6});
  CHECK(both.results[2].values() == Values{9, 12, 15});
}

TEST_CASE("sizes that do not vary are the export's, in arguments and results",
          "[cpu_aoti][kernels]") {
  Fixture fixture;
  const json rows = tensor_facts({64, 4}, {true, false});
  const auto proxy =
      host().make_proxy(list(one_node("tenon_test::column", list(tensor_output), {rows, rows}),
                             one_node("tenon_test::fail", list(tensor_output), {rows, rows})));
  INFO(proxy.text());
  REQUIRE(proxy.ok());
  const Handle x = make({16, 4});
  CHECK_THAT(call(**proxy, {x.get()}, {}, 1).failure,
             ContainsSubstring("tenon_test::column: result 0: expected Float of at most [64, 4], "
                               "the kernel gave [64, 1]"));
  const Handle narrow = make({64, 1});
  CHECK_THAT(call(**proxy, {narrow.get()}, {}, 1).failure,
             ContainsSubstring("tensor 0: expected Float of at most [64, 4], found Float [64, 1]"));

  const json column = tensor_facts({256, 1}, {true, false});
  const auto other =
      host().make_proxy(list(one_node("tenon_test::column", list(tensor_output), {rows, column})));
  REQUIRE(other.ok());
  for (const std::int64_t n : {16, 64, 0, 1}) {
    const Handle some = make({n, 4});
    const Call called = call(**other, {some.get()}, {}, 1);
    CHECK(called.failure.empty());
    CHECK(called.results[0].sizes() == Shape{n * 4, 1});
  }
}

TEST_CASE("a kernel may neither grow nor shrink the tensors that it is given",
          "[cpu_aoti][kernels]") {
  Fixture fixture;
  json written = tensor_facts({4}, true);
  written["written"] = true;
  const auto proxy = host().make_proxy(list(node(
      "tenon_test::resize_", {tensor_argument("x"), argument("n", {{"as_int", 2}})}, json::array(),
      {{"arguments", {"x", "n"}}, {"defaults", json::array()}, {"tensors", list(written)}})));
  INFO(proxy.text());
  REQUIRE(proxy.ok());
  const Handle x = make({2});
  CHECK(call(**proxy, {x.get()}, {2}, 0).failure.empty());
  // Within the bounds, and beyond the tensor's memory.
  CHECK_THAT(call(**proxy, {x.get()}, {4}, 0).failure, ContainsSubstring("tenon_test::resize_"));
  CHECK_THAT(call(**proxy, {x.get()}, {1}, 0).failure,
             ContainsSubstring("tensor 0: expected an argument of the same sizes [2] and memory"));
  CHECK(call(**proxy, {x.get()}, {2}, 0).failure.empty());
  const Handle large = make({4});
  CHECK(call(**proxy, {large.get()}, {4}, 0).failure.empty());
}

TEST_CASE("a result has the largest sizes until its kernel resizes it", "[cpu_aoti][kernels]") {
  Fixture fixture;
  json node = split_node();
  const auto proxy = host().make_proxy(list(node));
  REQUIRE(proxy.ok());
  const Handle x = tensor({4}, {1, 2, 3, 4});
  CHECK(call(**proxy, {x.get()}, {1}, 2).results[0].sizes() == Shape{1});
  CHECK(call(**proxy, {x.get()}, {-1}, 2).results[0].sizes() == Shape{4});
}

TEST_CASE("an operator that changes its argument writes to the model's tensor",
          "[cpu_aoti][kernels]") {
  Fixture fixture;
  json written = tensor_facts({2, 2});
  written["written"] = true;
  const auto proxy = host().make_proxy({node(
      "tenon_test::increase_", {tensor_argument("x"), argument("by", {{"as_int", 2}})},
      json::array(),
      {{"arguments", {"x", "by"}}, {"defaults", json::array()}, {"tensors", list(written)}})});
  INFO(proxy.text());
  REQUIRE(proxy.ok());
  const Handle x = tensor({2, 2}, {1, 2, 3, 4});
  CHECK(call(**proxy, {x.get()}, {2}, 0).failure.empty());
  CHECK(x.values() == Values{3, 4, 5, 6});
  const Handle turned = tensor({2, 2}, {1, 2, 3, 4}, ScalarType::Float, {1, 2});
  CHECK_THAT(call(**proxy, {turned.get()}, {2}, 0).failure,
             ContainsSubstring("tensor 0, which the operator changes: expected one without gaps"));
  CHECK(turned.values() == Values{1, 2, 3, 4});
  x.get()->storage->is_fixed = true;
  CHECK_THAT(call(**proxy, {x.get()}, {2}, 0).failure,
             ContainsSubstring("tensor 0, which the operator changes: expected no constant"));
  CHECK(x.values() == Values{3, 4, 5, 6});
}

TEST_CASE("a kernel that fails is reported, and runs again", "[cpu_aoti][kernels]") {
  Fixture fixture;
  const auto vector = tensor_facts({2}, true);
  const auto proxy =
      host().make_proxy({one_node("tenon_test::fail", list(tensor_output), {vector, vector})});
  REQUIRE(proxy.ok());
  const Handle none = make({0}), some = make({2});
  CHECK_THAT(
      call(**proxy, {none.get()}, {}, 1).failure,
      ContainsSubstring("kernel tenon_test::fail (OperatorKernels): x: expected an element"));
  CHECK(call(**proxy, {some.get()}, {}, 1).results[0].values() == Values{0, 0});

  const auto view = host().make_proxy(
      {one_node("tenon_test::view", list(tensor_output), {tensor_facts({2}), tensor_facts({2})})});
  REQUIRE(view.ok());
  CHECK_THAT(call(**view, {some.get()}, {}, 1).failure,
             ContainsSubstring("result 0: expected elements in the given memory"));
}

TEST_CASE("steady calls of a kernel of another plugin allocate nothing", "[cpu_aoti][kernels]") {
  Fixture fixture;
  const auto proxy = host().make_proxy(list(shift_node()));
  REQUIRE(proxy.ok());
  const Handle x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}, ScalarType::Float, {1, 2});
  std::size_t before = 0;
  for (int run = 0; run < 4; ++run) {
    if (run == 1) before = allocations();
    CHECK(call(**proxy, {x.get()}, {0, 0}, 1).failure.empty());
  }
  CHECK(allocations() == before);
}

TEST_CASE("each instance has a kernel of its own, which outlives the proxy",
          "[cpu_aoti][kernels]") {
  Fixture first;
  auto proxy = host().make_proxy(list(shift_node()));
  REQUIRE(proxy.ok());
  const Handle x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(call(**proxy, {x.get()}, {0, 0}, 1).results[0].at(0) == 2);
  {
    Fixture second;
    const Handle y = tensor({2, 3}, {6, 5, 4, 3, 2, 1});
    CHECK(call(**proxy, {y.get()}, {0, 0}, 1).results[0].at(0) == 7);
    proxy->reset();
  }
  auto other = host().make_proxy(list(split_node()));
  REQUIRE(other.ok());
  const Handle z = tensor({4}, {1, 2, 3, 4});
  CHECK(call(**other, {z.get()}, {1}, 2).results[1].values() == Values{2, 3, 4});
}

TEST_CASE("a model that passes other numbers of arguments than described is refused",
          "[cpu_aoti][kernels]") {
  Fixture fixture;
  const auto proxy = host().make_proxy(list(shift_node()));
  REQUIRE(proxy.ok());
  CHECK_THAT(call(**proxy, {}, {1}, 1).failure,
             ContainsSubstring("number 0, tenon_test::shift: expected 2 integers and 1 + 1 "
                               "tensors, the model passes 1 and 1"));
}

TEST_CASE("what no plugin has is named with what was asked", "[cpu_aoti][kernels]") {
  json other = shift_node();
  other["node"]["target"] = "acme::turn.left";
  json bare = shift_node();
  bare["node"]["target"] = "acme::two";
  bare["node"]["metadata"] = json::object();
  json doubles = shift_facts();
  doubles["tensors"][0]["dtype"] = 7;
  const std::string text =
      host().refusal({other, shift_node(), bare,
                      node("tenon_test::shift", shift_inputs(), list(tensor_output), doubles)},
                     Error::OperatorMissing);
  CHECK_THAT(text, ContainsSubstring("no code here for 3 operators: acme::turn.left, acme::two, "
                                     "tenon_test::shift; have them decomposed"));
  CHECK_THAT(text, ContainsSubstring("or compile it with tenon.aoti.describe_calls"));
  CHECK_THAT(text, ContainsSubstring("no plugin has a kernel for acme::turn.left: "
                                     "OperatorKernels: "));
  CHECK_THAT(text, ContainsSubstring("; no plugin has a kernel for tenon_test::shift: "
                                     "OperatorKernels: tenon_test::shift: only of Float"));
  const json alone = list(node("tenon_test::shift", shift_inputs(), list(tensor_output), doubles));
  CHECK_THAT(host().refusal(alone, Error::OperatorMissing),
             ContainsSubstring("tenon_test::shift: only of Float"));
  json overload = alone;
  overload[0]["node"]["metadata"]["tenon"] = [&] {
    doubles["out"] = "acme::shift.out";
    return doubles.dump();
  }();
  const std::string both = host().refusal(overload, Error::OperatorMissing);
  CHECK_THAT(both, ContainsSubstring("tenon_test::shift: only of Float"));
  CHECK_THAT(both, ContainsSubstring("no plugin has a kernel for acme::shift.out"));
  CHECK(cpu_aoti::make_proxy(json{{"nodes", list(shift_node())}}.dump()).error() ==
        Error::OperatorMissing);
}

TEST_CASE("one answer of another plugin is shortened, and each text is listed once",
          "[cpu_aoti][kernels]") {
  json nodes = json::array();
  json gaps = shift_facts();
  gaps["tensors"][1]["dim_order"] = nullptr;
  for (const char* name : {"acme::a", "acme::b", "acme::a"}) {
    nodes.push_back(node(name, shift_inputs(), list(tensor_output), gaps));
  }
  json facts = shift_facts();
  facts["defaults"] = list(argument("other", {{std::string(900, 'q'), true}}));
  nodes.push_back(node("acme::c", shift_inputs(), list(tensor_output), facts));
  const std::string text = host().refusal(nodes, Error::OperatorMissing);
  CHECK_THAT(text, ContainsSubstring("3 operators: acme::a, acme::b, acme::c;"));
  CHECK_THAT(text,
             ContainsSubstring(
                 "; call 0, acme::a: metadata.tenon: tensors[1].dim_order: a result with gaps"));
  CHECK_THAT(text,
             ContainsSubstring(
                 "; call 1, acme::b: metadata.tenon: tensors[1].dim_order: a result with gaps"));
  CHECK_THAT(text, !ContainsSubstring("call 2"));
  CHECK_THAT(text, ContainsSubstring("qqq ..."));
  CHECK(text.size() < 1200);
  const auto alone = cpu_aoti::make_proxy(json{{"nodes", nodes}}.dump());
  CHECK_THAT(std::string(alone.text()),
             Catch::Matchers::EndsWith("(docs/aoti/operators.md); the host has no kernels of other "
                                       "plugins"));
}

TEST_CASE("kernels are missing where the host looks for none", "[cpu_aoti][kernels]") {
  const auto proxy = host().make_proxy_with(list(shift_node()), nullptr);
  CHECK(proxy.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(proxy.text()),
             ContainsSubstring("the host has no kernels of other plugins"));
}

TEST_CASE("names of no operator are refused before a plugin is asked", "[cpu_aoti][kernels]") {
  const RawContext context(host().table.get());
  for (const std::string& name : {std::string(), std::string(257, 'a'), std::string("a::b\n"),
                                  std::string("a::b\0c", 6), std::string("a::\x7f")}) {
    CHECK(FoundKernel::find(context.shown, name, {}).error() == Error::InvalidArgument);
    json target = shift_node(), overload = shift_node();
    target["node"]["target"] = name;
    CHECK_THAT(host().refusal(list(target), Error::InvalidProgram),
               ContainsSubstring("nodes[0].node.target: expected the name of an operator, found"));
    json facts = shift_facts();
    facts["out"] = name;
    overload["node"]["metadata"]["tenon"] = facts.dump();
    CHECK_THAT(host().refusal(list(overload), Error::InvalidProgram),
               ContainsSubstring("metadata.tenon: out: expected the name of an operator, found"));
  }
  const std::string longest(256, 'a');
  CHECK(FoundKernel::find(context.shown, longest, {}).error() == Error::OperatorMissing);
}

TEST_CASE("a host that reports a kernel and gives none has failed", "[cpu_aoti][kernels]") {
  static tenon_kernel_lookup_v1 table{};
  table.struct_size = sizeof table;
  table.find_kernel = [](const tenon_init_context*, const tenon_kernel_context*,
                         tenon_found_kernel**) { return tenon_status{TENON_STATUS_OK}; };
  tenon_host raw{};
  raw.struct_size = sizeof raw;
  raw.get_extension = [](const tenon_host*, const char*) -> const void* { return &table; };
  CHECK(FoundKernel::find(RawContext(&raw).shown, "a::b", {}).error() == Error::Internal);
}

TEST_CASE("a host without the extension, or with a shorter table, has no kernels",
          "[cpu_aoti][kernels]") {
  static tenon_kernel_lookup_v1 table{};
  table.struct_size = offsetof(tenon_kernel_lookup_v1, last_failure);
  tenon_host short_host{};
  short_host.struct_size = sizeof short_host;
  short_host.get_extension = [](const tenon_host*, const char*) -> const void* { return &table; };
  tenon_host without = short_host;
  without.get_extension = [](const tenon_host*, const char*) -> const void* { return nullptr; };
  for (const tenon_host& one : {short_host, without}) {
    const RawContext context(&one);
    CHECK_FALSE(FoundKernel::is_offered_by(HostServices(&one)));
    CHECK(FoundKernel::find(context.shown, "a::b", {}).error() == Error::OperatorMissing);
    const std::string calls = json{{"nodes", list(shift_node())}}.dump();
    const auto proxy = cpu_aoti::make_proxy(calls, &context.shown);
    CHECK(proxy.error() == Error::OperatorMissing);
    CHECK_THAT(std::string(proxy.text()),
               ContainsSubstring("the host has no kernels of other plugins"));
  }
}

TEST_CASE("a kernel that is not for such a call refuses it when the model is loaded",
          "[cpu_aoti][kernels]") {
  const json vector = tensor_facts({2});
  CHECK_THAT(host().refusal({one_node("tenon_test::fail", {tensor_output, tensor_output},
                                      {vector, vector, vector})},
                            Error::InvalidArgument),
             ContainsSubstring("call 0, tenon_test::fail: kernel tenon_test::fail "
                               "(OperatorKernels): number of arguments: expected 2, found 3"));
}

TEST_CASE("facts about a call that are none are refused by call and tensor",
          "[cpu_aoti][kernels]") {
  const auto with = [](const std::string& member, const json& value) {
    json facts = shift_facts();
    facts[member] = value;
    return json{node("tenon_test::shift", shift_inputs(), list(tensor_output), facts)};
  };
  const auto with_tensor = [&](const std::string& member, const json& value) {
    json tensors = shift_facts()["tensors"];
    tensors[1][member] = value;
    return with("tensors", tensors);
  };
  const auto with_text = [](const std::string& facts) {
    json text = shift_node();
    text["node"]["metadata"]["tenon"] = facts;
    return list(text);
  };
  const json device = {{"as_device", {{"type", "cpu"}}}};
  json odd = shift_node();
  odd["node"]["outputs"] = list(json{{"as_int", 1}});
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  constexpr Error invalid = Error::InvalidProgram;
  constexpr Error missing = Error::OperatorMissing;
  const struct {
    json nodes;
    std::string_view text;
    Error error = invalid;
  } rows[] = {
      {with("arguments", 1), "arguments: expected an array, found '1'"},
      {with("arguments", {"x", 1}), "arguments[1]: expected a text"},
      {with("arguments", {"x", "by", "twice", "dims", "more"}),
       "expected a value of argument 'more'"},
      {with("arguments", {"x", "by", "twice", "dims"}), "that is not among 'arguments'"},
      {with("defaults", list(argument("other", json::object()))),
       "defaults[0].arg: expected an object with one member"},
      {with("defaults", list(argument("other", device))), "argument 'other' has the type as_device",
       missing},
      {with("defaults", list(argument("other", {{"as_int", std::uint64_t{1} << 63}}))),
       "argument 'other' has the type as_int", missing},
      {with("tensors", json::array()), "expected 2 tensors"},
      {with("out", 1), "out: expected a text"},
      {with_tensor("dtype", 99), "tensors[1].dtype: expected the number"},
      {with_tensor("sizes", list(2)), "found 1 and 2"},
      {with_tensor("sizes", {-1, 2}), "sizes of at least 0"},
      {with_tensor("sizes", {std::int64_t{1} << 62, 4}), "no overflow"},
      {with_tensor("sizes", {nullptr, 2}), "tensors[1].sizes: a size without a limit", missing},
      {with_tensor("dim_order", {0, 0}), "each dimension once"},
      {with_tensor("dim_order", {0, 2}), "each dimension once"},
      {with_tensor("dim_order", nullptr), "tensors[1].dim_order: a result with gaps in memory",
       missing},
      {with_tensor("dynamic", true), "tensors[1].dynamic: expected an array"},
      {with_tensor("dynamic", list(true)), "each of 2 dimensions"},
      {with_tensor("dynamic", {1, 0}), "true or false"},
      {list(odd), "an output has the type as_int", missing},
      {with_text(""), "is not JSON"},
      {with_text("{"), "is not JSON"},
      {with_text("[]"), "expected an object, found"},
      {with_text("1"), "expected an object, found"},
      {with_text(deep), "is nested deeper than 32 levels"},
      {with_text(R"({"tensors": [], "tensors": []})"), "the key 'tensors' is written twice"},
  };
  for (const auto& [nodes, text, error] : rows) {
    const std::string refusal = host().refusal(nodes, error);
    CHECK_THAT(refusal, ContainsSubstring(std::string(text)));
    CHECK_THAT(refusal, ContainsSubstring("call 0, tenon_test::shift: "));
  }
}

}  // namespace found_call_test
