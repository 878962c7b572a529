// SPDX-License-Identifier: MIT
//
// The bridge in a stand-in of ONNX Runtime, with the example hello.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "stand_ins/onnxruntime/stand_in.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/onnxruntime/library.hpp"

namespace onnxruntime_provider_test {

using namespace tenon;
using tenon::test::OnnxRuntimeStandIn;
using tenon::test::TemporaryDirectory;
using Sizes = std::vector<std::int64_t>;

const std::string rank_2{"\2\0\0\0", 4};

/// A model: y = Add(a, b), with the node that ONNX Runtime makes of the context node.
struct Model {
  ort::ValueInfo a;
  ort::ValueInfo b;
  ort::ValueInfo y;
  ort::Node node;
  ort::Node fused;
  ort::Graph graph;

  explicit Model(Sizes sizes = {2, 3}, bool is_twice = false)
      : a{"a", {{ort::ElementType::Float, sizes}}},
        b{"b", {{ort::ElementType::Float, sizes}}},
        y{"y", {{ort::ElementType::Float, sizes}}} {
    node.name = "context";
    set("source", "Add");
    set("ep_cache_context", rank_2);
    node.inputs = {&a, is_twice ? &a : &b};
    node.outputs = {&y};
    fused.inputs = is_twice ? std::vector<const ort::ValueInfo*>{&a}
                            : std::vector<const ort::ValueInfo*>{&b, &a};
    fused.outputs = {&y};
    graph.nodes = {&node};
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void set(std::string name, std::string text) {
    std::erase_if(node.attributes, [&](const ort::OpAttr& each) { return each.name == name; });
    node.attributes.push_back({std::move(name), ort::OpAttrType::String, 0, std::move(text)});
  }
  void set(std::string name, std::int64_t number) {
    node.attributes.push_back({std::move(name), ort::OpAttrType::Int, number});
  }
  void set(std::string name, std::vector<std::string> texts) {
    node.attributes.push_back({std::move(name), ort::OpAttrType::Strings, 0, {}, std::move(texts)});
  }
};

/// The text of a failure, which is released; empty for success.
std::string text_of(const ort::Runtime& runtime, ort::StatusPointer status) {
  if (!status) return {};
  std::string out = runtime.call(ort::api::GetErrorMessage, status);
  runtime.call(ort::api::ReleaseStatus, status);
  return out;
}

/// The library as ONNX Runtime registers it, and the provider of "Add".
class Session {
 public:
  explicit Session(const char* version = "1.32.0", ort::SessionOptions options = {})
      : stand_in_(version), runtime_(*ort::Runtime::open(stand_in_.base())) {
    failure_ = text_of(runtime_, ort::create_factories("tenon", stand_in_.base(), &logger_,
                                                       factories_, 4, &count_, {}));
    INFO(failure_);
    REQUIRE(count_ == 1);
    failure_ = text_of(
        runtime_, factory().create_ep(&factory(), nullptr, nullptr, 0, &options, &logger_, &ep_));
  }
  ~Session() {
    if (info_) ep_->release_node_compute_infos(ep_, &info_, 1);
    if (ep_) factory().release_ep(&factory(), ep_);
    for (std::size_t i = 0; i < count_; ++i) {
      CHECK(ort::release_factory(factories_[i]) == nullptr);
    }
    CHECK(OnnxRuntimeStandIn::live_statuses() == 0);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] ort::EpFactory& factory() { return *factories_[0]; }
  [[nodiscard]] OnnxRuntimeStandIn& runtime() { return stand_in_; }
  [[nodiscard]] const ort::Logger& logger() const { return logger_; }
  [[nodiscard]] ort::Ep& ep() { return *ep_; }

  /// Null where the provider has no profiler more.
  ort::EpProfiler* make_profiler() {
    ort::EpProfiler* out = nullptr;
    CHECK(text_of(runtime_, ep_->create_profiler(ep_, &out)).empty());
    return out;
  }

  /// The nodes that the provider takes.
  std::size_t claim(const Model& model) {
    ort::EpGraphSupportInfo info;
    CHECK(text_of(runtime_, ep_->get_capability(ep_, &model.graph, &info)).empty());
    return info.claimed.size();
  }

  std::string compile(const Model& model) {
    const ort::Graph* graph = &model.graph;
    const ort::Node* fused = &model.fused;
    ort::Node* context = nullptr;
    return text_of(runtime_, ep_->compile(ep_, &graph, &fused, 1, &info_, &context));
  }

  std::string run(ort::KernelContext& context) {
    void* state = nullptr;
    std::string out = text_of(runtime_, info_->create_state(info_, nullptr, &state));
    if (out.empty()) out = text_of(runtime_, info_->compute(info_, state, &context));
    info_->release_state(info_, state);
    return out;
  }

 private:
  ort::Logger logger_;
  OnnxRuntimeStandIn stand_in_;
  ort::Runtime runtime_;
  ort::EpFactory* factories_[4] = {};
  std::size_t count_ = 0;
  std::string failure_;
  ort::Ep* ep_ = nullptr;
  ort::NodeComputeInfo* info_ = nullptr;
};

ort::Value tensor(Sizes sizes, std::vector<float> data) {
  return {{ort::ElementType::Float, std::move(sizes)}, std::move(data)};
}

const ::test::Variables with_hello{{"TENON_PLUGIN_FILES", TENON_HELLO_PLUGIN}};

TEST_CASE("a factory describes its backend, and is for the CPU", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  Session session;
  ort::EpFactory& factory = session.factory();
  CHECK(factory.version == 23);
  CHECK(factory.get_name(&factory) == std::string_view("Add"));
  CHECK(factory.get_vendor(&factory) == std::string_view("Tenon"));
  const ort::HardwareDevice npu{ort::HardwareDeviceType::Npu};
  const ort::HardwareDevice cpu{ort::HardwareDeviceType::Cpu};
  const ort::HardwareDevice* const devices[] = {&npu, &cpu, &cpu};
  ort::EpDevice* made[8] = {};
  std::size_t count = 0;
  CHECK(factory.get_supported_devices(&factory, devices, 3, made, 8, &count) == nullptr);
  REQUIRE(count == 1);
  CHECK(made[0]->device == &cpu);
  delete made[0];
  CHECK(factory.get_supported_devices(&factory, devices, 1, made, 8, &count) == nullptr);
  CHECK(count == 0);
  ort::Compatibility compatibility{};
  CHECK(factory.validate_compiled_model_compatibility_info(
            &factory, nullptr, 0, "tenon_payload_version=1", &compatibility) == nullptr);
  CHECK(compatibility == ort::Compatibility::Optimal);
}

TEST_CASE("a node runs in every version of ONNX Runtime", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  for (const char* const version : {"1.23.2", "1.24.0", "1.32.0"}) {
    INFO(version);
    Session session(version);
    if (version == std::string_view("1.23.2")) {
      session.runtime().remove(ort::api::GetTensorElementTypeAndShapeDataReference);
    }
    const Model model;
    CHECK(session.claim(model) == 1);
    REQUIRE(session.compile(model) == "");
    const ort::Value a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
    const ort::Value b = tensor({2, 3}, {10, 20, 30, 40, 50, 60});
    ort::KernelContext context{{&b, &a}, std::vector<ort::Value>(1)};
    REQUIRE(session.run(context) == "");
    CHECK(context.outputs[0].info.sizes == Sizes{2, 3});
    CHECK(context.outputs[0].data == std::vector<float>{11, 22, 33, 44, 55, 66});
  }
}

TEST_CASE("a tensor that a node has twice is there once in ONNX Runtime", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  Session session;
  const Model model({2, 3}, true);
  REQUIRE(session.compile(model) == "");
  const ort::Value a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  ort::KernelContext context{{&a}, std::vector<ort::Value>(1)};
  REQUIRE(session.run(context) == "");
  CHECK(context.outputs[0].data == std::vector<float>{2, 4, 6, 8, 10, 12});
}

TEST_CASE("an output that nothing uses has memory of its own", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  for (const bool is_dynamic : {false, true}) {
    Session session;
    Model model;
    model.fused.outputs.clear();
    if (is_dynamic) {
      model.set("tenon_inputs", std::vector<std::string>(2, "Float:4,3:dynamic"));
      model.set("tenon_outputs", std::vector<std::string>{"Float:4,3:dynamic"});
    }
    REQUIRE(session.compile(model) == "");
    const ort::Value a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
    ort::KernelContext context{{&a, &a}, {}};
    CHECK(session.run(context) == "");
  }
}

TEST_CASE("sizes change within the bounds of the context", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  Session session;
  Model model({-1, 3});
  model.set("tenon_inputs", std::vector<std::string>(2, "Float:4,3:dynamic"));
  model.set("tenon_outputs", std::vector<std::string>{"Float:4,3:dynamic"});
  REQUIRE(session.compile(model) == "");
  for (const std::int64_t rows : {1, 4, 0, 2}) {
    INFO(rows);
    const std::vector<float> ones(static_cast<std::size_t>(3 * rows), 1.0f);
    const ort::Value a = tensor({rows, 3}, ones);
    ort::KernelContext context{{&a, &a}, std::vector<ort::Value>(1)};
    REQUIRE(session.run(context) == "");
    CHECK(context.outputs[0].info.sizes == Sizes{rows, 3});
    CHECK(context.outputs[0].data == std::vector<float>(ones.size(), 2.0f));
  }
  const ort::Value large = tensor({5, 3}, std::vector<float>(15));
  ort::KernelContext context{{&large, &large}, std::vector<ort::Value>(1)};
  CHECK(session.run(context).starts_with("Tenon: NotSupported (0x10): EPContext node 'context'"));
}

TEST_CASE("only context nodes of the provider's backend are taken", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  Session session;
  Model other;
  other.set("source", "Other");
  CHECK(session.claim(other) == 0);
  Model add;
  add.node.type = "Add";
  CHECK(session.claim(add) == 0);
  Model domain;
  domain.node.domain = "";
  CHECK(session.claim(domain) == 0);
  Model without;
  without.node.attributes.clear();
  CHECK(session.claim(without) == 0);
}

TEST_CASE("a node that cannot be loaded says why, also in the log", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  const TemporaryDirectory directory;
  directory.write("secret.bin", rank_2);
  struct Case {
    std::string_view text;
    void (*change)(Model&);
  };
  const std::vector<Case> cases{
      {"expected 4 bytes, found 2", [](Model& model) { model.set("ep_cache_context", "\2x"); }},
      {"ep_cache_context is empty", [](Model& model) { model.set("ep_cache_context", ""); }},
      {"leaves the model's folder",
       [](Model& model) {
         model.set("embed_mode", 0);
         model.set("ep_cache_context", "../secret.bin");
       }},
      {"the model was given as bytes",
       [](Model& model) {
         model.graph.model.clear();
         model.set("embed_mode", 0);
         model.set("ep_cache_context", "secret.bin");
       }},
      {"InvalidProgram", [](Model& model) { model.set("tenon_method", "forward"); }},
      {"the context has 1 inputs, the node 2",
       [](Model& model) { model.set("tenon_inputs", std::vector<std::string>{"Float:2,3"}); }},
      {"the context has Half, the model Float",
       [](Model& model) {
         model.set("tenon_inputs", std::vector<std::string>{"Half:2,3", "Float:2,3"});
       }},
      {"size 0 is not known", [](Model& model) { model.a.type.tensor.sizes = {-1, 3}; }},
      {"expected a tensor of a dtype",
       [](Model& model) { model.a.type.tensor.type = ort::ElementType::String; }},
      {"input 1 is absent", [](Model& model) { model.fused.inputs = {&model.a}; }},
      {"expected a graph of one node", [](Model& model) { model.graph.nodes.clear(); }}};
  for (const Case& each : cases) {
    INFO(each.text);
    Session session;
    Model model;
    model.graph.model = directory.file("models/model.onnx");
    each.change(model);
    const std::string failure = session.compile(model);
    CHECK(failure.find(each.text) != std::string::npos);
    CHECK(failure.starts_with("Tenon: "));
    const bool is_read = !model.graph.nodes.empty();
    CHECK(session.logger().lines.size() == (is_read ? 1 : 0));
  }
}

TEST_CASE("a run of other tensors fails, and the next one does not", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  Session session;
  const Model model;
  REQUIRE(session.compile(model) == "");
  const ort::Value a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  ort::Value wrong = a;
  wrong.info.type = ort::ElementType::Int32;
  ort::Value text = a;
  text.info.type = ort::ElementType::String;
  const std::vector<std::pair<const ort::Value*, std::string_view>> cases{
      {&wrong, "InvalidArgument"}, {&text, "no dtype of a program"}, {nullptr, "is absent"}};
  for (const auto& [value, expected] : cases) {
    ort::KernelContext context{{&a, value}, std::vector<ort::Value>(1)};
    CHECK(session.run(context).find(expected) != std::string::npos);
    ort::KernelContext good{{&a, &a}, std::vector<ort::Value>(1)};
    CHECK(session.run(good) == "");
  }
  ort::KernelContext no_output{{&a, &a}, {}};
  CHECK(session.run(no_output).find("KernelContext_GetOutput of ONNX Runtime: no such output") !=
        std::string::npos);
}

TEST_CASE("calls of one node from two threads get their own tensors", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  Session session;
  const Model model;
  REQUIRE(session.compile(model) == "");
  constexpr int runs = 500;
  std::atomic<int> failures = 0;
  const auto work = [&](float number) {
    const ort::Value a = tensor({2, 3}, std::vector<float>(6, number));
    for (int i = 0; i < runs; ++i) {
      ort::KernelContext context{{&a, &a}, std::vector<ort::Value>(1)};
      if (session.run(context) != "") ++failures;
      if (context.outputs[0].data != std::vector<float>(6, 2 * number)) ++failures;
    }
  };
  std::thread other(work, 1.0f);
  work(2.0f);
  other.join();
  CHECK(failures == 0);
}

TEST_CASE("a wrong option fails the load of a node", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  const std::vector<std::pair<const char*, std::string_view>> cases{
      {"ep.add.tenon.nothing", "option tenon.nothing: is unknown"},
      {"ep.add.tenon.limit.nothing", "option tenon.limit.nothing: "},
      {"ep.add.threads", "option 'threads' is unknown"}};
  for (const auto& [key, text] : cases) {
    Session session("1.32.0", {{{key, "1"}, {"ep.other.threads", "1"}}});
    CHECK(session.failure() == "");
    CHECK(session.compile(Model()).find(text) != std::string::npos);
  }
}

TEST_CASE("a session's profile has the load and the runs on its clock", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  Session session;
  CHECK(session.ep().version == 25);
  ort::EpProfiler* const profiler = session.make_profiler();
  REQUIRE(profiler != nullptr);
  CHECK(session.make_profiler() == nullptr);
  constexpr std::int64_t start_us = 1'000'000;
  CHECK(profiler->start_profiling(profiler, start_us * 1000) == nullptr);
  REQUIRE(session.compile(Model()) == "");
  const ort::Value a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  ort::KernelContext context{{&a, &a}, std::vector<ort::Value>(1)};
  for (int i = 0; i < 2; ++i) CHECK(session.run(context) == "");

  ort::ProfilingEventsContainer found;
  CHECK(profiler->end_profiling(profiler, &found) == nullptr);
  std::vector<std::string> names;
  for (const ort::ProfilingEvent& each : found.events) {
    names.push_back(each.name);
    CHECK(each.category == ort::ProfilingEventCategory::Api);
    CHECK(each.start_us >= start_us);
    CHECK(each.duration_us >= 0);
  }
  CHECK(names == std::vector<std::string>{"Add: init", "Add: DELEGATE_CALL", "Add: execute",
                                          "Add: DELEGATE_CALL", "Add: execute"});
  // It has ended.
  CHECK(session.run(context) == "");
  ort::ProfilingEventsContainer later;
  CHECK(profiler->end_profiling(profiler, &later) == nullptr);
  CHECK(later.events.empty());
  profiler->release(profiler);
}

TEST_CASE("a session without a profile records nothing", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  {
    Session session;
    ort::EpProfiler* const profiler = session.make_profiler();
    REQUIRE(session.compile(Model()) == "");
    ort::ProfilingEventsContainer found;
    CHECK(profiler->end_profiling(profiler, &found) == nullptr);
    CHECK(found.events.empty());
    profiler->release(profiler);
  }
  Session loaded;
  REQUIRE(loaded.compile(Model()) == "");
  CHECK(loaded.make_profiler() == nullptr);
  Session old("1.24.0");
  CHECK(old.ep().version == 23);
}

TEST_CASE("a plugin says that a context is not optimal", "[onnxruntime]") {
  const ::test::Variables with_judge{{"TENON_PLUGIN_FILES", TENON_JUDGE_PLUGIN}};
  const ::test::ScopedEnvironment variables(with_judge);
  const std::string usable = "the context is usable, not optimal: made for an older compiler";
  struct Case {
    std::string_view blob;
    std::string_view must_be_optimal;
    std::string_view failure;
    std::string_view logged;
  };
  const std::vector<Case> cases{{"usable, loads", "0", "", usable},
                                {"usable, loads", "1", usable, usable},
                                {"loads", "1", "", ""},
                                {"incompatible", "0", "the context: made for chip 2", "chip 2"}};
  for (const Case& each : cases) {
    INFO(each.blob << " " << each.must_be_optimal);
    Session session(
        "1.32.0",
        {{{"session.fail_on_suboptimal_compiled_model", std::string(each.must_be_optimal)}}});
    Model model;
    model.set("source", "JudgeBackend");
    model.set("ep_cache_context", std::string(each.blob));
    const std::string failure = session.compile(model);
    CHECK(failure.empty() == each.failure.empty());
    CHECK(failure.find(each.failure) != std::string::npos);
    const auto& lines = session.logger().lines;
    REQUIRE(lines.size() == (each.logged.empty() ? 0 : 1));
    if (!lines.empty()) CHECK(lines[0].second.find(each.logged) != std::string::npos);
  }
}

TEST_CASE("an ONNX Runtime that is too old is refused", "[onnxruntime]") {
  const ::test::ScopedEnvironment variables(with_hello);
  for (const char* const version : {"1.22.1", "2.0.0", ""}) {
    const OnnxRuntimeStandIn old(version);
    ort::EpFactory* factories[4] = {};
    std::size_t count = 1;
    ort::StatusPointer status =
        ort::create_factories("tenon", old.base(), nullptr, factories, 4, &count, {});
    REQUIRE(status != nullptr);
    CHECK(status->text.find("expected ONNX Runtime 1.23 or later") != std::string::npos);
    CHECK(count == 0);
    OnnxRuntimeStandIn::release(status);
  }
}

TEST_CASE("a host without plugins makes no provider, and says so", "[onnxruntime]") {
  const TemporaryDirectory empty;
  const ::test::ScopedEnvironment variables({});
  const OnnxRuntimeStandIn stand_in;
  const ort::Logger logger;
  ort::EpFactory* factories[4] = {};
  std::size_t count = 1;
  CHECK(ort::create_factories("tenon", stand_in.base(), &logger, factories, 4, &count,
                              {.plugins = empty.path(), .worker = {}}) == nullptr);
  CHECK(count == 0);
  REQUIRE(logger.lines.size() == 1);
  CHECK(logger.lines[0].second.find("no plugin was found") != std::string::npos);
}

}  // namespace onnxruntime_provider_test
