// SPDX-License-Identifier: MIT
//
// CUDA graphs and streams, through the plugin, on the stand-in for the driver.
#include <string>
#include <vector>

#include "cuda_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

const Options as_graph = {option("enable_cuda_graph_for_method", std::string("other , forward"))};

}  // namespace

TEST_CASE("a graph is captured after three runs and replayed with the same numbers", "[cuda]") {
  const int generation = GENERATE(1, 2, 3);
  CudaHost host;
  const auto method = host.load({.generation = generation}, as_graph);
  REQUIRE(method.ok());
  for (int i = 0; i < 8; ++i) {
    const auto out = run(**method, static_cast<float>(i));
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

TEST_CASE("programs that ExecuTorch's exporter made replay", "[cuda]") {
  const std::string name = GENERATE("cuda_addmul", "cuda_mlp");
  CudaHost host;
  const auto method = host.load_fixture(name, as_graph);
  INFO(method.text());
  REQUIRE(method.ok());
  const ZeroInputs inputs(**method);
  REQUIRE(inputs.status.ok());
  for (int i = 0; i < 6; ++i) REQUIRE((*method)->execute().ok());
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

TEST_CASE("a model that cannot be captured runs plainly, and its stream is usable", "[cuda][D20]") {
  CudaHost host;
  const auto method = host.load({.model = "waits"}, as_graph);
  REQUIRE(method.ok());
  for (int i = 0; i < 8; ++i) {
    const auto out = run(**method, static_cast<float>(i));
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
  const auto method = host.load({}, as_graph);
  REQUIRE(method.ok());
  int not_a_stream = 0;
  const Status status = (*method)->set_stream("CudaBackend", &not_a_stream);
  CHECK(status.error() == Error::NotSupported);
  CHECK_THAT(std::string(status.text()), ContainsSubstring("CUDA graph"));
  CHECK(run(**method, 1).ok());
}

TEST_CASE("a run goes to the caller's stream, and back to its own", "[cuda][TN-STR-2][TN-STR-3]") {
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
