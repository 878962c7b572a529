// SPDX-License-Identifier: MIT
//
// Delegates and sessions of one device in several threads, beside the driver's own.
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "opencl_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Several kernels over [6, 8].
aot::ProgramData products(double factor) {
  Steps steps(6, 8);
  const auto out = steps.delegate({steps.input()}, factor, 3);
  return std::move(steps).finish(out);
}

/// Runs a method in a thread of its own and counts results that are not `expected`. Assertions of
/// the tests are made by one thread alone.
class Runs {
 public:
  Runs(host::Method& method, float expected)
      : thread_([this, &method, expected] {
          std::vector<float> x(48, 1), found(48);
          const std::array<std::int64_t, 2> sizes = {6, 8};
          for (int i = 0; i < 50; ++i) {
            const auto bytes = std::as_bytes(std::span(x));
            const bool ok = method.set_input(0, {ScalarType::Float, sizes, bytes}).ok() &&
                            method.execute().ok() &&
                            method.read_output(0, std::as_writable_bytes(std::span(found))).ok();
            wrong_ += !ok || found != std::vector<float>(48, expected) ? 1 : 0;
          }
        }) {}
  [[nodiscard]] int wrong() {
    thread_.join();
    return wrong_;
  }

 private:
  int wrong_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("two delegates run in two threads while others are loaded, run and destroyed",
          "[opencl][threads]") {
  const OpenClHost host;
  const std::string way = GENERATE("on", "off");
  CAPTURE(way);
  const auto doubled = products(2), halved = products(0.5), other = products(3);
  const auto first = host.load_ok(doubled, {{"command_buffer", way}});
  const auto second = host.load_ok(halved, {{"command_buffer", way}});
  Runs eights(*first, 8), eighths(*second, 0.125F);
  for (int i = 0; i < 5; ++i) {
    const auto third = host.load_ok(other, {{"command_buffer", way}});
    Runs more(*third, 27);
    CHECK(more.wrong() == 0);
  }
  CHECK(eights.wrong() == 0);
  CHECK(eighths.wrong() == 0);
}
