// SPDX-License-Identifier: MIT
//
// The Nth call of CUDA fails, for every N: each time there is an error that names the call, or the
// host's log names it as the reason for running without a graph, or the call was one whose failure
// changes nothing; and each time all objects are freed.
#include <set>
#include <string>
#include <utility>

#include "cuda_host.hpp"
#include "support/environment.hpp"
#include "support/temporary_directory.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

// Calls that free something have done so when they fail. Destructors also cannot report failures.
const std::set<std::string_view> tolerated = {
    "cuCtxPopCurrent", "cuMemFree", "cuMemFreeAsync", "cuMemPoolDestroy", "cuMemFreeHost",
    "cuStreamDestroy", "cuEventDestroy", "cuModuleUnload", "cuGraphDestroy", "cuGraphExecDestroy",
    "cuDevicePrimaryCtxRelease",
    // Memory is allocated without it, too, unless an application captures.
    "cuThreadExchangeStreamCaptureMode"};

struct Scenario {
  std::string name;
  int generation = 0;  ///< 0 for a fixture.
  bool as_graph = false;
  int num_runs = 2;
};

/// Loads, runs, and runs in a session. Returns the number of calls until the first object was
/// destroyed.
Status play(CudaHost& host, const Scenario& scenario, long& num_calls) {
  Options options = {option("weight_sharing_across_methods", true)};
  if (scenario.as_graph) {
    options.push_back(option("enable_cuda_graph_for_method", std::string("forward")));
  }
  TENON_TRY(const auto method, scenario.generation != 0
                                   ? host.load({.generation = scenario.generation}, options)
                                   : host.load_fixture(scenario.name, options));
  ZeroInputs inputs(*method);
  TENON_RETURN_IF_ERROR(std::move(inputs.status));
  for (int i = 0; i < scenario.num_runs; ++i) TENON_RETURN_IF_ERROR(method->execute());
  TENON_TRY(const auto session, method->create_session());
  method->use_session(session.get());
  Status status = ok();
  for (int i = 0; i < scenario.num_runs && status.ok(); ++i) status = method->execute();
  method->use_session(nullptr);
  num_calls = cuda().num_calls();
  return status;
}

}  // namespace

TEST_CASE("the Nth call of CUDA fails, for every N", "[cuda][D2][D20][D22]") {
  const Scenario scenario = GENERATE(
      Scenario{.name = "blob", .generation = 2}, Scenario{.name = "named weights", .generation = 3},
      Scenario{.name = "graph", .generation = 3, .as_graph = true, .num_runs = 5},
      Scenario{.name = "cuda_addmul"}, Scenario{.name = "cuda_mlp"},
      Scenario{.name = "cuda_mlp", .as_graph = true, .num_runs = 5},
      Scenario{.name = "cuda_stateful"},
      Scenario{.name = "cuda_stateful", .as_graph = true, .num_runs = 5});
  INFO(scenario.name);
  const TemporaryDirectory directory;
  const ::test::ScopedEnvironment temporary({{"TMPDIR", directory.path().native()}});
  CudaHost host;
  long num_calls = 0;
  REQUIRE(play(host, scenario, num_calls).ok());  // Allocates what the plugin keeps for its life.
  const stand_in_cuda::Live kept = cuda().live();
  const Footprint before = Footprint::now();
  constexpr int unspecific = 999;  // Not a number of CUDA, so that no code handles it specially.
  long num_failed = 0;
  long num_without_graph = 0;
  for (long n = 0;; ++n) {
    cuda().reset();
    cuda().fail_at(n, unspecific);
    host.log().clear();
    const Status status = play(host, scenario, num_calls);
    const char* const failed = cuda().failed_call();
    cuda().fail_at(-1, 0);
    if (!failed) {
      CHECK(status.ok());
      break;
    }
    INFO("call " << n << ", " << failed << ": " << status.text());
    REQUIRE(misuses().empty());
    if (!status.ok()) {
      CHECK_THAT(std::string(status.text()), ContainsSubstring("(999)"));
      CHECK_THAT(std::string(status.text()), ContainsSubstring(std::string(failed) + ": "));
      ++num_failed;
    } else if (n < num_calls && !tolerated.contains(failed)) {
      CHECK(scenario.as_graph);
      CHECK_THAT(host.log(), ContainsSubstring("runs without a CUDA graph: ") &&
                                 ContainsSubstring(std::string(failed) + ": ") &&
                                 ContainsSubstring("(999)"));
      ++num_without_graph;
    }
    const stand_in_cuda::Live live = cuda().live();
    REQUIRE(live.blocks == kept.blocks);
    REQUIRE(live.host_blocks == kept.host_blocks);
    REQUIRE(live.streams == kept.streams);
    REQUIRE(live.memory_pools == kept.memory_pools);
    REQUIRE(live.events == kept.events);
    REQUIRE(live.modules == kept.modules);
    REQUIRE(live.graphs == 0);
    REQUIRE(live.executables == 0);
    REQUIRE(live.contexts == kept.contexts);
    REQUIRE(live.context_depth == 0);
  }
  CHECK(num_failed > 20);
  CHECK((num_without_graph > 5) == scenario.as_graph);
  cuda().reset();
  CHECK(play(host, scenario, num_calls).ok());
  const Footprint after = Footprint::now();
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
  CHECK(std::filesystem::is_empty(directory.path()));
}
