// SPDX-License-Identifier: MIT
//
// CUDA graphs and streams, through the plugin, on the stand-in for the driver.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace graph_test {
namespace {

const Options as_graph = {option("enable_cuda_graph_for_method", std::string("other , forward"))};

}  // namespace

TEST_CASE("a graph is captured after three runs and replayed with the same numbers", "[cuda]") {
  const int generation = GENERATE(1, 2, 3);
  CudaHost host;
  const auto method = host.load_ok({.generation = generation}, as_graph);
  for (int i = 0; i < 8; ++i) {
    const auto out = run(*method, static_cast<float>(i));
    INFO(out.text() << misuses());
    REQUIRE(out.ok());
    CHECK(out->weight == 3.0f);
    CHECK(out->state == (i == 0 ? 10.0f : static_cast<float>(i - 1)));
    CHECK(count_calls("cuStreamBeginCapture") == (i < 3 ? 0 : 1));
    CHECK(count_calls("cuGraphLaunch") == (i < 3 ? 0 : i - 2));
  }
  CHECK(cuda().live().graphs == 0);
  CHECK(cuda().live().executables == 1);
}

namespace {

/// Graphs captured and launched so far, and those that exist now.
struct Graphs {
  long captured;
  long launched;
  long existing;
  bool operator==(const Graphs&) const = default;
};
Graphs graphs() {
  return {count_calls("cuStreamBeginCapture"), count_calls("cuGraphLaunch"),
          cuda().live().executables};
}

}  // namespace

TEST_CASE("a graph is captured again when an input on the device first has another address",
          "[cuda]") {
  CudaHost host;
  const AppBlock first(host.backend(), 1);
  auto second = std::make_unique<AppBlock>(host.backend(), 2);
  const auto method = host.load_ok({.input_on_device = true}, as_graph);
  static constexpr std::int64_t size = 16;
  float state = 10;  // The next run reads the input of the previous one.
  const auto run_with = [&](const AppBlock& block, float value, const Graphs& expected) {
    REQUIRE(method->set_input(0, block.input(size)).ok());
    const auto out = run_and_read(*method);
    INFO(out.text() << misuses());
    REQUIRE(out.ok());
    CHECK(out->weight == 3.0f);
    CHECK(out->state == state);
    state = value;
    CHECK(graphs() == expected);
  };
  for (int i = 0; i < 3; ++i) run_with(first, 1, {0, 0, 0});
  run_with(first, 1, {1, 1, 1});
  first.fill(5);  // A replay reads what is there by then.
  run_with(first, 5, {1, 2, 1});
  run_with(*second, 2, {1, 2, 0});
  run_with(*second, 2, {2, 3, 1});
  run_with(*second, 2, {2, 4, 1});
  run_with(first, 5, {2, 5, 1});
  second.reset();  // Nothing refers to it any more.
  run_with(first, 5, {2, 6, 1});
  CHECK(count_calls("cuGraphExecDestroy") == 1);
}

TEST_CASE("two addresses of an input that alternate are one graph", "[cuda]") {
  // With the fourth run, which is captured, the addresses begin to alternate, or before.
  const int num_same = GENERATE(0, 4);
  CudaHost host;
  const AppBlock first(host.backend(), 1);
  const AppBlock second(host.backend(), 2);
  const auto method = host.load_ok({.input_on_device = true}, as_graph);
  static constexpr std::int64_t size = 16;
  float state = 10;
  const int num_runs = 4 + 20;
  for (int i = 0; i < num_runs; ++i) {
    const bool is_second = i >= num_same && i % 2 == 1;
    REQUIRE(method->set_input(0, (is_second ? second : first).input(size)).ok());
    const auto out = run_and_read(*method);
    INFO(i << ": " << out.text() << misuses());
    REQUIRE(out.ok());
    CHECK(out->state == state);
    state = is_second ? 2.0f : 1.0f;
  }
  const long captures = num_same == 0 ? 1 : 2;
  CHECK(graphs() == Graphs{captures, num_runs - 3 - (captures - 1), 1});
}

TEST_CASE("a graph is captured again when an input has another shape", "[cuda]") {
  const bool on_device = GENERATE(false, true);
  CudaHost host;
  const AppBlock block(host.backend(), 7);
  const auto method = host.load_ok({.input_on_device = on_device, .is_dynamic = true}, as_graph);
  bool is_first = true;
  const auto run_with = [&](const std::int64_t& size, const Graphs& expected) {
    if (on_device) REQUIRE(method->set_input(0, block.input(size)).ok());
    const auto out = on_device ? run_and_read(*method) : run(*method, 7, size);
    INFO(out.text() << misuses());
    REQUIRE(out.ok());
    CHECK(method->output(0).as.tensor->dl.shape[0] == size);
    CHECK(out->weight == 3.0f);
    CHECK(out->state == (std::exchange(is_first, false) ? 10.0f : 7.0f));
    CHECK(graphs() == expected);
  };
  for (int i = 0; i < 3; ++i) run_with(16, {0, 0, 0});
  run_with(16, {1, 1, 1});
  run_with(16, {1, 2, 1});
  run_with(4, {1, 2, 0});
  run_with(4, {2, 3, 1});
  run_with(4, {2, 4, 1});
  run_with(16, {2, 4, 0});
  run_with(16, {3, 5, 1});
  run_with(16, {3, 6, 1});
}

TEST_CASE("programs that ExecuTorch's exporter made replay", "[cuda]") {
  const std::string name = GENERATE("cuda_addmul", "cuda_mlp");
  CudaHost host;
  const auto method = host.load_fixture_ok(name, as_graph);
  const ZeroInputs inputs(*method);
  REQUIRE(inputs.status.ok());
  for (int i = 0; i < 6; ++i) REQUIRE(method->execute().ok());
  CHECK(count_calls("cuGraphLaunch") == 3);
  CHECK(count_calls("cuStreamBeginCapture") == 1);
}

TEST_CASE("a method that is not listed runs without a graph", "[cuda]") {
  CudaHost host;
  const auto method =
      host.load({}, {option("enable_cuda_graph_for_method", std::string("forwards,for, ,"))});
  REQUIRE(method.ok());
  for (int i = 0; i < 5; ++i) REQUIRE(run(**method, 1).ok());
  CHECK(count_calls("cuGraphLaunch") == 0);
}

TEST_CASE("a model that cannot be captured runs without a graph, and its stream is usable",
          "[cuda][D20]") {
  CudaHost host;
  const auto method = host.load_ok({.model = "waits"}, as_graph);
  for (int i = 0; i < 8; ++i) {
    const auto out = run(*method, static_cast<float>(i));
    INFO(out.text() << misuses());
    REQUIRE(out.ok());
    CHECK(out->state == (i == 0 ? 10.0f : static_cast<float>(i - 1)));
  }
  CHECK(count_calls("cuStreamBeginCapture") == 1);
  CHECK(count_calls("cuStreamEndCapture") == 1);
  CHECK(count_calls("cuGraphLaunch") == 0);
  CHECK(cuda().live().graphs == 0);
}

TEST_CASE("a graph does not run on the caller's stream", "[cuda][TN-STR-1]") {
  CudaHost host;
  const auto method = host.load_ok({}, as_graph);
  int not_a_stream = 0;
  const Status status = method->set_stream("CudaBackend", &not_a_stream);
  CHECK(status.error() == Error::NotSupported);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("CUDA graph"));
  CHECK(run(*method, 1).ok());
}

TEST_CASE("a run is enqueued on the caller's stream, and later on its own",
          "[cuda][TN-STR-2][TN-STR-3]") {
  CudaHost host;
  const auto method = host.load({});
  // A stream of another delegate is as good as an application's.
  const auto other = host.load({});
  REQUIRE((method.ok() && other.ok()));
  REQUIRE(run(**other, 1).ok());
  const void* stream = nullptr;
  for (long i = 0; i < cuda().num_calls(); ++i) {
    if (std::string_view(cuda().call(i).name) == "cuMemcpyDtoHAsync")
      stream = cuda().call(i).stream;
  }
  REQUIRE(stream != nullptr);
  REQUIRE((*method)->set_stream("CudaBackend", const_cast<void*>(stream)).ok());
  const auto ran_on = [&](float x) {
    const long before = cuda().num_calls();
    const auto out = run(**method, x);
    INFO(out.text() << misuses());
    REQUIRE(out.ok());  // Outputs in the host's memory are complete (TN-STR-2).
    CHECK(out->weight == 3.0f);
    const void* found = nullptr;
    for (long i = before; i < cuda().num_calls(); ++i) {
      if (std::string_view(cuda().call(i).name).starts_with("cuMemcpy")) {
        CHECK((found == nullptr || found == cuda().call(i).stream));
        found = cuda().call(i).stream;
      }
    }
    return found;
  };
  CHECK(ran_on(1) == stream);
  REQUIRE((*method)->set_stream("CudaBackend", nullptr).ok());
  CHECK(ran_on(2) != stream);
}

}  // namespace graph_test
