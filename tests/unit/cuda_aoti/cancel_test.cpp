// SPDX-License-Identifier: MIT
//
// A run on the device that is cancelled: nothing more of it is enqueued, and what was is complete
// when `execute` returns.
#include <memory>
#include <string_view>
#include <utility>

#include "cuda_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

Result<std::unique_ptr<host::Method>> load_cancellable(CudaHost& host) {
  auto bytes = std::make_shared<const AlignedBytes>(build_program({}));
  TENON_TRY(auto program, host::Program::from_bytes(bytes->bytes(), bytes, "copies"));
  return host::Method::load(std::move(program), "forward",
                            {.registry = &host.registry(), .layers = {host::Cancellation()}});
}

/// Cancels the run after the next call of the driver's function `name`.
void cancel_after(const char* name, host::Method& method) {
  cuda().after_call(
      name, [](void* of) { CHECK(static_cast<host::Method*>(of)->cancel().ok()); }, &method);
}

/// How often the model has copied since call number `first`: its weight, its state and its input.
long model_copies(long first) {
  long count = 0;
  for (long call = first; call < cuda().num_calls(); ++call) {
    const std::string_view name = cuda().call(call).name;
    count += name == "cuMemcpyAsync" || name == "cuMemcpyDtoDAsync";
  }
  return count;
}

}  // namespace

TEST_CASE("a run on a device that is cancelled is waited for, and the next run is whole",
          "[cuda][cancel][TN-CAN-3]") {
  CudaHost host;
  auto loaded = load_cancellable(host);
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  host::Method& method = **loaded;
  const long first = cuda().num_calls();
  REQUIRE(run(method, 5).ok());
  CHECK(model_copies(first) == 3);
  const auto live = cuda().live().blocks;
  for (int i = 0; i < 3; ++i) {
    const long before = cuda().num_calls();
    cancel_after("cuMemcpyHtoDAsync", method);
    const auto outcome = run(method, 7);
    INFO(outcome.text());
    CHECK(outcome.error() == Error::Cancelled);
    CHECK(model_copies(before) == 0);
    const void* stream = nullptr;
    for (long call = before; call < cuda().num_calls(); ++call) {
      if (cuda().call(call).stream != nullptr) stream = cuda().call(call).stream;
    }
    REQUIRE(stream != nullptr);
    CHECK(cuda().num_pending(stream) == 0);
    CHECK(cuda().live().blocks == live);
  }
  // The state is the input of the run before those.
  const auto next = run(method, 9);
  INFO(next.text() << misuses());
  REQUIRE(next.ok());
  CHECK(next->weight == 3.0F);
  CHECK(next->state == 5.0F);
}

TEST_CASE("a run that replays a graph is one piece of work, which a cancel lets end",
          "[cuda][cancel]") {
  CudaHost host;
  auto bytes = std::make_shared<const AlignedBytes>(build_program({}));
  auto program = host::Program::from_bytes(bytes->bytes(), bytes, "copies");
  REQUIRE(program.ok());
  host::MethodOptions options{.registry = &host.registry(), .layers = {host::Cancellation()}};
  options.backend_options = {option("enable_cuda_graph_for_method", std::string("forward"))};
  auto loaded = host::Method::load(*std::move(program), "forward", std::move(options));
  INFO(loaded.text());
  REQUIRE(loaded.ok());
  host::Method& method = **loaded;
  for (int i = 0; i < 5; ++i) REQUIRE(run(method, 5).ok());
  cancel_after("cuGraphLaunch", method);
  const auto outcome = run(method, 7);
  INFO(outcome.text() << misuses());
  CHECK((outcome.ok() || outcome.error() == Error::Cancelled));
  const auto next = run(method, 9);
  REQUIRE(next.ok());
  CHECK(next->state == 7.0F);
}
