// SPDX-License-Identifier: MIT
//
// An application that captures runs of a delegate on its own stream, and launches the graph.
#include <memory>
#include <optional>
#include <utility>

#include "app_stream.hpp"
#include "cuda_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace capture_test {
namespace {

constexpr int global_mode = 0;
constexpr int relaxed_mode = 2;

/// A capture on a stream of the application, and its graph.
class AppGraph {
 public:
  AppGraph(const AppStream& stream, int mode) : stream_(stream.get()) {
    REQUIRE(driver_.in_context("cuStreamBeginCapture_v2", stream_, mode) == 0);
  }
  AppGraph(const AppGraph&) = delete;
  AppGraph& operator=(const AppGraph&) = delete;
  ~AppGraph() {
    if (executable_) static_cast<void>(driver_.in_context("cuGraphExecDestroy", executable_));
    if (graph_) static_cast<void>(driver_.in_context("cuGraphDestroy", graph_));
  }
  /// The driver's answer: 0 for a capture that nothing invalidated.
  int end() {
    const int ended = driver_.in_context("cuStreamEndCapture", stream_, &graph_);
    if (ended != 0) return ended;
    return driver_.in_context("cuGraphInstantiateWithFlags", &executable_, graph_, 0ull);
  }
  void launch() const {
    REQUIRE(driver_.in_context("cuGraphLaunch", executable_, stream_) == 0);
    REQUIRE(driver_.in_context("cuStreamSynchronize", stream_) == 0);
  }

 private:
  AppDriver driver_;
  void* stream_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

long calls_on(std::string_view name, const void* stream) {
  long count = 0;
  for (long i = 0; i < cuda().num_calls(); ++i) {
    count += cuda().call(i).name == name && cuda().call(i).stream == stream;
  }
  return count;
}

/// A method with a MiB of working memory for each number of its input.
struct Growing {
  Growing(CudaHost& host, const AppStream& stream)
      : x(host.backend(), 1), weight(host.backend(), 0), state(host.backend(), 0) {
    auto loaded = host.load({.model = "scratch",
                             .input_on_device = true,
                             .outputs_on_device = true,
                             .is_dynamic = true});
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    method = *std::move(loaded);
    REQUIRE(method->set_output(0, weight.bytes(), AppBlock::device).ok());
    REQUIRE(method->set_output(1, state.bytes(), AppBlock::device).ok());
    REQUIRE(method->set_stream("CudaBackend", stream.get()).ok());
  }
  void run(const std::int64_t& size) const {
    REQUIRE(method->set_input(0, x.input(size)).ok());
    const Status status = method->execute();
    INFO(status.text() << misuses());
    REQUIRE(status.ok());
  }

  AppBlock x;
  AppBlock weight;
  AppBlock state;
  std::unique_ptr<host::Method> method;
};

constexpr std::int64_t small_size = 2;
constexpr std::int64_t middle_size = 5;
constexpr std::int64_t large_size = 16;

}  // namespace

TEST_CASE("an application captures a run on its stream and launches the graph",
          "[cuda][TN-STR-3]") {
  const int mode = GENERATE(global_mode, relaxed_mode);
  OnStream on;
  on.model.execute();
  AppGraph graph(on.stream, mode);
  on.model.execute();
  REQUIRE(graph.end() == 0);
  float state = 1;  // The state is the input of the run before.
  for (int i = 2; i < 6; ++i) {
    on.model.x.fill(static_cast<float>(i));
    // A run of its own is as good as a launch.
    if (i % 2 == 0) {
      graph.launch();
    } else {
      on.model.execute();
    }
    CHECK(on.model.state.first() == state);
    CHECK(on.model.weight.first() == 3.0f);
    state = static_cast<float>(i);
  }
}

TEST_CASE("working memory of a captured run is the delegate's, and stays", "[cuda]") {
  const int mode = GENERATE(global_mode, relaxed_mode);
  CudaHost host;
  const AppStream stream;
  const Growing model(host, stream);
  model.run(small_size);
  std::optional<AppGraph> graph(std::in_place, stream, mode);
  const long allocations = calls_on("cuMemAllocFromPoolAsync", stream.get());
  const long frees = calls_on("cuMemFreeAsync", stream.get());
  model.run(large_size);
  CHECK(calls_on("cuMemAllocFromPoolAsync", stream.get()) == allocations);
  CHECK(calls_on("cuMemFreeAsync", stream.get()) == frees);
  REQUIRE(graph->end() == 0);
  // Other shapes leave what the graph uses.
  for (const std::int64_t& size : {middle_size, small_size, large_size}) model.run(size);
  model.x.fill(7);
  graph->launch();
  graph->launch();
  CHECK(model.state.first() == 7.0f);
  CHECK(model.weight.first() == 3.0f);
  graph.reset();
  model.run(large_size);
  CHECK(model.state.first() == 7.0f);
}

TEST_CASE("a run that cannot be captured is refused, and the capture remains valid", "[cuda]") {
  CudaHost host;
  const AppStream stream;
  SECTION("with an input in the host's memory") {
    const Resident model(host, true);
    REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
    const auto bytes = filled(5, 64);
    REQUIRE(model.method->set_input(0, {ScalarType::Float, {&Resident::size, 1}, bytes}).ok());
    model.execute();
    AppGraph graph(stream, global_mode);
    const Status status = model.method->execute();
    CHECK(status.error() == Error::NotSupported);
    CHECK_THAT(std::string(status.text()), ContainsSubstring("argument 0") &&
                                               ContainsSubstring("captures its stream") &&
                                               ContainsSubstring("on the device"));
    CHECK(graph.end() == 0);
    model.execute();
  }
  SECTION("with an output in the host's memory") {
    const AppBlock x(host.backend(), 4);
    const auto method = host.load_ok({.input_on_device = true});
    REQUIRE(method->set_stream("CudaBackend", stream.get()).ok());
    REQUIRE(method->set_input(0, x.input(Resident::size)).ok());
    REQUIRE(run_and_read(*method).ok());
    AppGraph graph(stream, global_mode);
    const Status status = method->execute();
    CHECK(status.error() == Error::NotSupported);
    CHECK_THAT(std::string(status.text()), ContainsSubstring("argument 1"));
    CHECK(graph.end() == 0);
    CHECK(run_and_read(*method)->state == 4.0f);
  }
  SECTION("as the first run") {
    const Resident model(host);
    REQUIRE(model.method->set_stream("CudaBackend", stream.get()).ok());
    AppGraph graph(stream, global_mode);
    const Status status = model.method->execute();
    CHECK(status.error() == Error::NotSupported);
    CHECK_THAT(std::string(status.text()), ContainsSubstring("run it once before"));
    CHECK(graph.end() == 0);
    model.execute();
    CHECK(model.state.first() == 10.0f);
  }
}

TEST_CASE("a stream in capture is not replaced, and a delegate is destroyed without it",
          "[cuda][TN-STR-4]") {
  OnStream on;
  on.model.execute();
  AppGraph graph(on.stream, relaxed_mode);
  const Status status = on.model.method->set_stream("CudaBackend", nullptr);
  CHECK(status.error() == Error::NotSupported);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("captures"));
  on.model.method.reset();
  CHECK(graph.end() == 0);
}

TEST_CASE("a delegate loads and runs and is destroyed while an application captures elsewhere",
          "[cuda]") {
  const int mode = GENERATE(global_mode, relaxed_mode);
  CudaHost host;
  const AppStream stream;
  AppGraph graph(stream, mode);
  {
    const auto method = host.load_ok({.generation = 3, .model = "scratch"});
    for (const float x : {1.0f, 2.0f}) {
      const auto out = run(*method, x);
      INFO(out.text() << misuses());
      REQUIRE(out.ok());
      CHECK(out->weight == 3.0f);
    }
  }
  CHECK(graph.end() == 0);
}

}  // namespace capture_test
