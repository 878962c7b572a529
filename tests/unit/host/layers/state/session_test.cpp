// SPDX-License-Identifier: MIT
//
// What a session begins with, and what is refused: of the plugin in C (examples/backends/in_c),
// whose output is its option `gain` times the sum of its inputs so far, and of backends in C++.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/host/loader/method/method_support.hpp"
#include "unit/host/loader/method/test_backend.hpp"

using namespace tenon;
using namespace tenon::test;
using host::Method;
using host::Session;
using host::SessionOptions;

namespace session_test {

const host::BackendRegistry& registry() {
  static host::BackendRegistry out;
  static const bool added = out.register_backend(std::filesystem::path(TENON_IN_C_PLUGIN)).ok() &&
                            out.register_backend(tenon_static_plugin_TestBackend).ok() &&
                            out.register_backend(tenon_static_plugin_FirstKernels).ok();
  REQUIRE(added);
  return out;
}

std::unique_ptr<Method> method_of(const std::string& backend, const std::string& blob) {
  host::MethodOptions options;
  options.registry = &registry();
  return load_ok(chain_of({blob}, backend), std::move(options));
}

/// A method of the plugin in C: version 1, a = 1, b = 0, 4 elements.
std::unique_ptr<Method> summing() {
  using namespace std::string_literals;
  return method_of("ScaleBias", "SCLB\1\0\0\0\0\0\x80\x3f\0\0\0\0\4\0\0\0"s);
}

/// The first element of the output of one run with `session`, whose first input is 1.
float run_with(Method& method, const Session* session) {
  method.use_session(session);
  const std::vector<float> input{1, 2, 3, 4};
  REQUIRE(set_floats(method, 0, input, {4}).ok());
  const Status ran = method.execute();
  INFO(ran.text());
  REQUIRE(ran.ok());
  return floats(method.output(0))[0];
}

std::unique_ptr<Session> create(Method& method, const SessionOptions& options) {
  auto out = method.create_session(options);
  INFO(out.text());
  REQUIRE(out.ok());
  return *std::move(out);
}

}  // namespace session_test
using namespace session_test;

TEST_CASE("a session begins with the state after the load, or as a copy of another state",
          "[method][sessions]") {
  const auto method = summing();
  CHECK(run_with(*method, nullptr) == 1);
  CHECK(run_with(*method, nullptr) == 2);
  auto of_own = create(*method, {.copies_own_state = true});
  CHECK(run_with(*method, of_own.get()) == 3);
  const auto of_session = create(*method, {.state = of_own.get()});
  of_own = nullptr;
  CHECK(run_with(*method, of_session.get()) == 4);
  const auto fresh = create(*method, {});
  CHECK(run_with(*method, fresh.get()) == 1);
  CHECK(run_with(*method, nullptr) == 3);
}

TEST_CASE("a session has its own options, and copies none", "[method][sessions]") {
  const auto method = summing();
  const auto louder = create(*method, {.backend_options = {{"ScaleBias", "gain", 10.0}}});
  CHECK(run_with(*method, louder.get()) == 10);
  const auto copied = create(*method, {.state = louder.get()});
  CHECK(run_with(*method, copied.get()) == 2);
  const auto both =
      create(*method, {.backend_options = {{"ScaleBias", "gain", 100.0}}, .state = louder.get()});
  CHECK(run_with(*method, both.get()) == 200);
  CHECK(run_with(*method, louder.get()) == 20);
}

TEST_CASE("a session that cannot be as it is asked for is refused", "[method][sessions]") {
  struct Case {
    Method* method;
    SessionOptions options;
    Error error;
    std::string_view text;  // Part of it.
  };
  const auto method = summing();
  const auto other = summing();
  const auto session = create(*method, {});
  const auto others = create(*other, {});
  const auto easy = method_of("Asking", "");
  const auto stateless = method_of("Test", "a");
  const std::array cases{
      Case{method.get(), {.state = others.get()}, Error::InvalidArgument, "found one of another"},
      Case{method.get(),
           {.state = session.get(), .copies_own_state = true},
           Error::InvalidArgument,
           "expected one state to copy"},
      Case{method.get(),
           {.backend_options = {{"Test", "factor", 1.0}}},
           Error::InvalidArgument,
           "option Test.factor: no delegate of the method uses that backend"},
      Case{method.get(),
           {.backend_options = {{"ScaleBias", "loud", 1.0}}},
           Error::NotFound,
           "delegate 0: create_session: option: expected gain, found loud"},
      Case{method.get(),
           {.backend_options = {{"ScaleBias", "gain", 1}}},
           Error::InvalidType,
           "delegate 0: create_session: option gain: expected type"},
      Case{method.get(),
           {.backend_options = {{"ScaleBias", "gain", 1e9}}},
           Error::InvalidArgument,
           "found 1e+09"},
      Case{easy.get(),
           {.copies_own_state = true},
           Error::NotSupported,
           "backend Asking cannot copy a state to a session"},
      Case{easy.get(),
           {.backend_options = {{"Asking", "gain", 1.0}}},
           Error::NotFound,
           "the backend has no options"},
      Case{stateless.get(), {}, Error::NotSupported, "backend Test has no sessions"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.text);
    const auto refused = each.method->create_session(each.options);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error() == each.error);
    CHECK_THAT(std::string(refused.text()), ContainsSubstring(std::string(each.text)));
  }
  CHECK(run_with(*method, session.get()) == 1);
}
