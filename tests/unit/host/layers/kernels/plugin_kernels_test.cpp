// SPDX-License-Identifier: MIT
//
// Operators that are left in a program and that plugins have kernels for (tenon.kernels/1).
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/schema/program_generated.h"
#include "unit/host/loader/method/method_support.hpp"
#include "unit/host/loader/method/test_backend.hpp"

using namespace tenon;
using namespace tenon::test;

namespace plugin_kernels_test {

using Calls = std::vector<std::string>;

/// A registry that knows the plugins of test_kernels.cpp, and nothing else.
struct KernelRegistry {
  KernelRegistry() { REQUIRE(registry.register_backend(tenon_static_plugin_FirstKernels).ok()); }
  [[nodiscard]] host::MethodOptions options() const {
    host::MethodOptions out;
    out.registry = &registry;
    return out;
  }
  host::BackendRegistry registry;
};

/// A program that calls operators of one input and one output of four floats.
ProgramBuilder program_calling(const std::vector<std::string>& operators, bool dynamic = false) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  auto in = planned_tensor(ScalarType::Float, {4}, memory, 0);
  auto out = planned_tensor(ScalarType::Float, {4}, memory, 16);
  if (dynamic) {
    in.shape_dynamism = out.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND;
  }
  const auto x = plan.input(std::move(in));
  const auto y = plan.output(std::move(out));
  for (const std::string& op : operators) {
    const auto dot = op.find('.');
    const auto name = op.substr(0, dot);
    const auto overload = dot == std::string::npos ? std::string() : op.substr(dot + 1);
    plan.instruction(kernel_call(plan.op(name, overload), {x, y}));
  }
  return builder;
}

constexpr std::array<float, 4> ramp = {1, 2, 3, 4};

/// The calls since the last time, without opening and closing.
Calls kernel_calls() {
  Calls out;
  for (const std::string& call : std::exchange(calls(), {})) {
    if (call.find(": ") != std::string::npos) out.push_back(call);
  }
  return out;
}

std::vector<std::string> served_by(const std::vector<std::string>& recorded) {
  std::vector<std::string> out;
  for (const std::string& call : recorded) {
    if (call.find(": create ") != std::string::npos) out.push_back(call.substr(0, call.find(':')));
  }
  return out;
}

/// A backend whose table is made by hand, with a record that says what the test wants.
struct HandMade {
  static inline tenon_kernels_v1 table{};
  static inline int destroyed = 0;
  static inline bool has_table = true;
  static tenon_status open(const tenon_host* host, tenon_backend** out) {
    *out = reinterpret_cast<tenon_backend*>(const_cast<tenon_host*>(host));
    return TENON_STATUS_OK;
  }
  static void close(tenon_backend*) {}
  static tenon_status init(tenon_backend*, const tenon_init_context*, tenon_delegate**) {
    return TENON_STATUS_NOT_SUPPORTED;
  }
  static tenon_status execute(tenon_backend*, tenon_delegate*, const tenon_execution_context*,
                              tenon_value* const*, std::uint32_t) {
    return TENON_STATUS_NOT_SUPPORTED;
  }
  static void destroy(tenon_backend*, tenon_delegate*) {}
  static const void* get_extension(tenon_backend*, const char* id) {
    const bool is_it = std::string_view(id) == TENON_EXTENSION_KERNELS;
    return is_it && has_table ? &table : nullptr;
  }

  static tenon_status create_nothing(tenon_backend*, const tenon_kernel_context*, tenon_kernel**) {
    return TENON_STATUS_OK;
  }
  static tenon_status no_status(tenon_backend*, const tenon_kernel_context*, tenon_kernel**) {
    return 0x7777;
  }
  static tenon_status wordless(tenon_backend*, const tenon_kernel_context*, tenon_kernel**) {
    return TENON_STATUS_OPERATOR_MISSING;
  }
  static tenon_status run(tenon_kernel*, const tenon_execution_context*) { return TENON_STATUS_OK; }
  static void destroy_kernel(tenon_backend*, tenon_kernel*) { ++destroyed; }

  HandMade() {
    table = {sizeof table, 0, nullptr, &create_nothing, &run, &destroy_kernel};
    destroyed = 0;
    has_table = true;
    record.id = "HandMade";
    record.offers_kernels = true;
    const tenon_backend_api api = {sizeof api, 0,        &open,    &close,        nullptr,
                                   &init,      &execute, &destroy, &get_extension};
    auto opened = host::LoadedBackend::open(record, host.get(), api);
    REQUIRE(opened.ok());
    backend = host::BackendRef(std::make_shared<const host::LoadedBackend>(*std::move(opened)));
  }
  [[nodiscard]] host::MethodOptions options() const {
    host::MethodOptions out;
    out.backends = {backend};
    out.layers = {host::PluginKernels()};
    return out;
  }

  host::HostTable host{tenon::host::all_layers(), "/hand/made.so"};
  host::BackendRecord record;
  host::BackendRef backend;
};

}  // namespace plugin_kernels_test

using namespace plugin_kernels_test;

TEST_CASE("operators that are left in a program run with kernels of plugins", "[method][kernels]") {
  const KernelRegistry plugins;
  const auto method = load_ok(program_calling({"test::scale.out"}), plugins.options());
  REQUIRE(set_floats(*method, 0, ramp, {4}).ok());
  REQUIRE(method->execute().ok());
  CHECK(floats(method->output(0)) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("kernels of plugins resize outputs of dynamic shape", "[method][kernels]") {
  const KernelRegistry plugins;
  const auto method = load_ok(program_calling({"test::quiet_scale.out"}, true), plugins.options());
  for (const std::int64_t size : {4, 1, 0, 3}) {
    const std::span values(ramp.data(), static_cast<std::size_t>(size));
    REQUIRE(set_floats(*method, 0, values, {size}).ok());
    REQUIRE(method->execute().ok());
    CHECK(floats(method->output(0)).size() == static_cast<std::size_t>(size));
  }
}

TEST_CASE("plugins are asked by priority, then by id, each once", "[method][kernels]") {
  const KernelRegistry plugins;
  CHECK(host::find_kernel_backends({}, &plugins.registry) ==
        std::vector<std::string>{"AbsentKernels", "FirstKernels", "SecondKernels"});
  calls().clear();
  {
    const auto method =
        load_ok(program_calling({"test::both", "test::picky", "test::second"}), plugins.options());
  }
  // The first is not available, the second comes before the third, and passes on what it may.
  CHECK(served_by(calls()) == std::vector<std::string>{"First", "Second", "Second"});
  CHECK(std::ranges::count(calls(), "open First") == 1);
  CHECK(std::ranges::count(calls(), "open Second") == 1);
}

TEST_CASE("the application's kernels and backends come before a registry's", "[method][kernels]") {
  const KernelRegistry plugins;
  auto options = plugins.options();
  auto second = plugins.registry.lookup_backend("SecondKernels");
  REQUIRE(second.ok());
  options.backends = {*second};
  calls().clear();
  {
    const auto method = load_ok(program_calling({"test::both"}), options);
  }
  CHECK(served_by(calls()) == std::vector<std::string>{"Second"});

  host::KernelTable kernels;
  const auto nothing = [](void*, const tenon_execution_context*, tenon_value* const*,
                          std::uint32_t) -> tenon_status { return TENON_STATUS_OK; };
  REQUIRE(kernels.add("test::both", {nothing, nullptr}).ok());
  options.kernels = &kernels;
  calls().clear();
  {
    const auto method = load_ok(program_calling({"test::both"}), options);
  }
  CHECK(served_by(calls()).empty());
}

TEST_CASE("no plugin is loaded as long as no kernel is missing, and none is kept in vain",
          "[method][kernels]") {
  const KernelRegistry plugins;
  calls().clear();
  {
    const auto method = load_ok(program_calling({}), plugins.options());
  }
  CHECK(calls().empty());

  const auto method = load_ok(program_calling({"test::second"}), plugins.options());
  const auto has = [](std::string_view call) { return std::ranges::count(calls(), call) == 1; };
  CHECK(has("open First"));
  const auto state_of = [&](std::string_view id) {
    for (const host::BackendInfo& info : plugins.registry.enumerate_backends()) {
      if (info.id() == id) return info.state;
    }
    return host::BackendState::refused;
  };
  CHECK(state_of("FirstKernels") == host::BackendState::known);
  CHECK(state_of("SecondKernels") == host::BackendState::loaded);
}

TEST_CASE("a kernel belongs to one instruction and is destroyed before its backend is closed",
          "[method][kernels][TN-KRN-5]") {
  const KernelRegistry plugins;
  calls().clear();
  {
    const auto method =
        load_ok(program_calling({"test::scale.out", "test::fails_first", "test::scale.out"}),
                plugins.options());
    CHECK(kernel_calls() ==
          Calls{"First: create scale.out", "First: create fails_first", "First: create scale.out"});
  }
  const Calls recorded = calls();
  REQUIRE(recorded.size() >= 4);
  CHECK(std::ranges::count(recorded, "First: destroy scale.out") == 2);
  CHECK(std::ranges::count(recorded, "First: destroy fails_first") == 1);
  CHECK(recorded.back() == "close First");
}

TEST_CASE("a load that fails destroys the kernels that were made", "[method][kernels][TN-KRN-5]") {
  const KernelRegistry plugins;
  for (const char* last : {"test::nobody_has_it", "test::refuse"}) {
    calls().clear();
    CHECK_FALSE(
        load(program_calling({"test::scale.out", "test::both", last}), plugins.options()).ok());
    CHECK(kernel_calls() == Calls{"First: create scale.out", "First: create both",
                                  "First: destroy both", "First: destroy scale.out"});
  }
}

TEST_CASE(
    "a kernel that fails is reported with its instruction, operator and plugin, and runs again",
    "[method][kernels]") {
  const KernelRegistry plugins;
  const auto method =
      load_ok(program_calling({"test::scale.out", "test::fails_first"}), plugins.options());
  REQUIRE(set_floats(*method, 0, ramp, {4}).ok());
  const Status failed = method->execute();
  CHECK(failed.error() == Error::OutOfResources);
  CHECK(failed.text() ==
        "method forward: instruction 0:1: kernel test::fails_first (FirstKernels): the first run "
        "fails");
  CHECK(method->execute().ok());
}

TEST_CASE("a plugin that has the operator and refuses the call ends the load",
          "[method][kernels]") {
  const KernelRegistry plugins;
  const auto method = load(program_calling({"test::refuse"}), plugins.options());
  CHECK(method.error() == Error::InvalidArgument);
  CHECK(method.text() ==
        "test.pte: method forward: instruction 0:0: kernel test::refuse (FirstKernels): argument "
        "0: expected less, found more");
}

TEST_CASE("the error for a missing kernel lists the plugins that were asked and their answers",
          "[method][kernels][TN-KRN-2]") {
  const KernelRegistry plugins;
  const auto method = load(program_calling({"test::second", "test::third.out", "test::third.out"}),
                           plugins.options());
  CHECK(method.error() == Error::OperatorMissing);
  CHECK(method.text() ==
        "test.pte: method forward: no kernel for test::third.out (instruction 0:1, 0:2)\n"
        "  AbsentKernels: backend AbsentKernels is not available: no driver: libacme.so.1 not "
        "found\n"
        "  FirstKernels: backend FirstKernels has no kernel for test::second\n"
        "  FirstKernels: backend FirstKernels has no kernel for test::third.out\n"
        "  SecondKernels: only three operators, found test::third.out");

  host::BackendRegistry empty;
  host::MethodOptions options;
  options.registry = &empty;
  CHECK_THAT(std::string(load(program_calling({"test::third.out"}), options).text()),
             ContainsSubstring("(instruction 0:0)\n  no plugin that is known offers kernels"));
  CHECK(std::string(load(program_calling({"test::third.out"}), {}).text()) ==
        "test.pte: method forward: no kernel for test::third.out (instruction 0:0)");
}

TEST_CASE("operators without a kernel are listed by name, each with its calls in their order",
          "[method][kernels]") {
  std::vector<std::string> calls(12, "test::b");
  calls.insert(calls.begin() + 1, "test::a");
  calls.push_back("test::b.out");
  calls.push_back("test::a");
  CHECK(std::string(load(program_calling(calls), {}).text()) ==
        "test.pte: method forward: no kernel for test::a (instruction 0:1, 0:14); "
        "test::b (instruction 0:0, 0:2, 0:3, 0:4, 0:5, 0:6, 0:7, 0:8, 0:9, 0:10, 0:11, 0:12); "
        "test::b.out (instruction 0:13)");
}

TEST_CASE("a plugin that breaks the extension's rules is reported and not trusted",
          "[method][kernels][TN-KRN-1][TN-KRN-7]") {
  HandMade plugin;
  const auto refusal = [&] {
    const auto method = load(program_calling({"test::any"}), plugin.options());
    return std::pair(method.error(), std::string(method.text()));
  };
  auto [nothing, nothing_text] = refusal();
  CHECK(nothing == Error::Internal);
  CHECK_THAT(nothing_text, ContainsSubstring("kernel test::any (HandMade): create_kernel succeeded "
                                             "without a kernel (TN-KRN-7)"));

  HandMade::table.create_kernel = &HandMade::no_status;
  CHECK_THAT(refusal().second, ContainsSubstring("which is not a status number"));

  HandMade::table.create_kernel = &HandMade::wordless;
  auto [wordless, wordless_text] = refusal();
  CHECK(wordless == Error::OperatorMissing);
  CHECK_THAT(wordless_text, ContainsSubstring("HandMade: the plugin gave no reason"));

  for (int i = 0; i < 2; ++i) {
    if (i == 0) HandMade::table.run_kernel = nullptr;
    HandMade::has_table = i == 0;
    auto [without, text] = refusal();
    CHECK(without == Error::OperatorMissing);
    CHECK_THAT(text, ContainsSubstring("HandMade: it says that it offers kernels, but has no "
                                       "complete tenon.kernels/1 (TN-KRN-1)"));
  }
  CHECK(HandMade::destroyed == 0);

  // A plugin that does not say so is not asked.
  plugin.record.offers_kernels = false;
  CHECK_THAT(refusal().second, ContainsSubstring("no plugin that is known offers kernels"));
}

TEST_CASE("kernels of plugins are events with their operator and backend, and trace their own",
          "[method][kernels]") {
  const KernelRegistry plugins;
  host::Trace trace;
  auto options = plugins.options();
  options.layers.add(trace);
  const auto method = load_ok(program_calling({"test::count"}), options);
  REQUIRE(set_floats(*method, 0, ramp, {4}).ok());
  REQUIRE(method->execute().ok());
  const std::string json = trace.json();
  CHECK_THAT(json, ContainsSubstring("\"operator\":\"test::count\"") &&
                       ContainsSubstring("\"backend\":\"FirstKernels\"") &&
                       ContainsSubstring("\"counting\""));
}

TEST_CASE("a run with kernels of plugins asks for no memory", "[method][kernels]") {
  const KernelRegistry plugins;
  const auto method = load_ok(program_calling({"test::quiet_scale.out"}), plugins.options());
  REQUIRE(set_floats(*method, 0, ramp, {4}).ok());
  REQUIRE(method->execute().ok());
  const std::size_t before = num_allocations();
  for (int i = 0; i < 100; ++i) REQUIRE(method->execute().ok());
  CHECK(num_allocations() == before);
}

TEST_CASE("kernels are made, run and destroyed by several threads at once", "[threads][kernels]") {
  const KernelRegistry plugins;
  const auto program =
      open_program(program_calling({"test::quiet_scale.out", "test::quiet_scale.out"}));
  std::array<int, 4> good{};
  {
    std::vector<std::jthread> threads;
    for (int& count : good) {
      threads.emplace_back([&plugins, &program, &count] {
        for (int round = 0; round < 20; ++round) {
          auto method = host::Method::load(program, "forward", plugins.options());
          if (!method.ok()) return;
          const std::vector<std::int64_t> sizes = {4};
          const host::InputTensor input{ScalarType::Float, sizes, std::as_bytes(std::span(ramp))};
          if (!(*method)->set_input(0, input).ok() || !(*method)->execute().ok()) return;
          const Tensor<const float> out(*(*method)->output(0).as.tensor);
          if (std::ranges::equal(out, std::array<float, 4>{2, 4, 6, 8})) ++count;
        }
      });
    }
  }
  CHECK(good == std::array<int, 4>{20, 20, 20, 20});
}

TEST_CASE("what a search found with a tag for few is not asked, what the application registered is",
          "[kernels]") {
  const auto linked =
      host::Plugin::from_static(tenon_static_plugin_FirstKernels, host::all_layers());
  REQUIRE(linked.ok());
  host::BackendRegistry registry;
  registry.add_search([&] {
    auto source = std::make_shared<host::PluginSource>();
    source->search_path_kind = host::SearchPathKind::directory;
    source->opener = host::static_plugin_opener(tenon_static_plugin_FirstKernels);
    source->record = (*linked)->record();
    source->backends = source->record->backends;
    source->backends[0].tags = {"experimental"};
    source->backends[2].tags = {"cpu"};
    host::SearchReport report;
    report.sources.push_back(std::move(source));
    return report;
  });
  CHECK(host::find_kernel_backends({}, &registry) ==
        std::vector<std::string>{"AbsentKernels", "SecondKernels"});

  host::BackendRegistry own;
  REQUIRE(own.register_debug_backend(tenon_static_plugin_FirstKernels).ok());
  CHECK(host::find_kernel_backends({}, &own) ==
        std::vector<std::string>{"AbsentKernels", "FirstKernels", "SecondKernels"});
}

TEST_CASE("operators of a backend are listed by the host", "[kernels]") {
  const KernelRegistry plugins;
  const auto second = plugins.registry.lookup_backend("SecondKernels");
  REQUIRE(second.ok());
  const auto operators = host::list_operators(**second);
  REQUIRE(operators.ok());
  CHECK(*operators == std::vector<std::string>{"test::picky", "test::both", "test::second"});
  const auto none = test_registry().lookup_backend("Test");
  REQUIRE(none.ok());
  CHECK(host::list_operators(**none)->empty());
}
