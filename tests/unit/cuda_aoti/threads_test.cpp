// SPDX-License-Identifier: MIT
//
// Delegates of CudaBackend in several threads, each delegate in one: they share the device, the
// store of weights and, where requested, a stream.
#include <array>
#include <string>
#include <thread>

#include "cuda_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Loads, runs and unloads a few times. Catch2's assertions are for one thread.
std::string load_and_run(CudaHost& host, const CudaParts& parts, const Options& options) {
  for (int round = 0; round < 4; ++round) {
    const auto method = host.load(parts, options);
    if (!method.ok()) return std::string(method.text());
    const auto session = (*method)->create_session();
    if (!session.ok()) return std::string(session.text());
    for (int i = 0; i < 6; ++i) {
      (*method)->use_session(i % 2 == 0 ? nullptr : session->get());
      const auto out = run(**method, static_cast<float>(i));
      if (!out.ok()) return std::string(out.text());
      const float expected = i < 2 ? parts.state : static_cast<float>(i - 2);
      if (out->weight != parts.weight || out->state != expected) {
        return concat("round ", round, ", run ", i, ": expected ", parts.weight, " and ", expected,
                      ", found ", out->weight, " and ", out->state);
      }
    }
    (*method)->use_session(nullptr);
  }
  return "";
}

}  // namespace

TEST_CASE("delegates load, run and unload in several threads at the same time", "[cuda][threads]") {
  const std::string shared = GENERATE("use_shared_cuda_stream", "weight_sharing_across_methods",
                                      "enable_cuda_graph_for_method");
  INFO(shared);
  const bool as_graph = shared == "enable_cuda_graph_for_method";
  CudaHost host;
  const Options options = {as_graph ? option(shared, std::string("forward"))
                                    : option(shared, true)};
  std::array<std::string, 3> failures;
  {
    std::array<std::jthread, 3> threads;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i] = std::jthread([&, i] {
        // Two of them have the same weights.
        const CudaParts parts{.generation = static_cast<int>(i) + 1,
                              .weight = i == 2 ? 3.0f : 4.0f};
        failures[i] = load_and_run(host, parts, options);
      });
    }
  }
  for (const std::string& failure : failures) CHECK(failure == "");
}
