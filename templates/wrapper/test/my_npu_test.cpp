// SPDX-License-Identifier: MIT
//
// Tests of the plugin in a host, with the cases in test/cases: nothing here knows the runtime's
// types or what its models compute. MY_NPU_LIB names the runtime's library.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/conformance/case.hpp>
#include <tenon/conformance/case_runner.hpp>
#include <tenon/conformance/catch.hpp>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

#include "runtime/id.hpp"

namespace my_npu::test { namespace {

using tenon::conformance::Case;
using tenon::conformance::CaseRunner;

/// A registry with the plugin under test.
struct Host {
  Host() { REQUIRE(registry.register_backend(MY_NPU_PLUGIN).ok()); }

  tenon::Result<CaseRunner> load(const Case& of_case,
                                 std::vector<tenon::host::BackendOption> options = {}) const {
    tenon::host::MethodOptions all{.registry = &registry};
    all.backend_options = std::move(options);
    return CaseRunner::load(of_case, std::move(all));
  }

  tenon::host::BackendRegistry registry;
};

std::vector<Case> cases() {
  auto read = tenon::conformance::read_cases(MY_NPU_CASES);
  INFO(read.text());
  REQUIRE(read.ok());
  return *std::move(read);
}

/// All runs of the case give what it expects.
void check_runs(const Case& of_case, CaseRunner& runner) {
  for (std::size_t i = 0; i < of_case.runs.size(); ++i) {
    const auto outputs = runner.run(i, of_case.tolerances);
    INFO("case " << of_case.name << ", run " << i << ": " << outputs.text());
    REQUIRE(outputs.ok());
    for (const auto& output : *outputs) {
      INFO(output.text);
      CHECK(output.equal);
    }
  }
}

TEST_CASE("each case gives its numbers, run after run") {
  const Host host;
  for (const Case& of_case : cases()) {
    auto runner = host.load(of_case);
    INFO("case " << of_case.name << ": " << runner.text());
    REQUIRE(runner.ok());
    check_runs(of_case, *runner);
    check_runs(of_case, *runner);
  }
}

TEST_CASE("two hosts run the cases, and either may be closed first") {
  for (const bool first_closes : {true, false}) {
    auto closes = std::make_unique<Host>();
    auto stays = std::make_unique<Host>();
    if (!first_closes) std::swap(closes, stays);
    for (const Case& of_case : cases()) {
      auto before = closes->load(of_case);
      REQUIRE(before.ok());
      check_runs(of_case, *before);
    }
    closes.reset();
    for (const Case& of_case : cases()) {
      auto after = stays->load(of_case);
      REQUIRE(after.ok());
      check_runs(of_case, *after);
    }
  }
}

TEST_CASE("a session runs the case, and may be destroyed before its delegate") {
  const Host host;
  for (const Case& of_case : cases()) {
    auto runner = host.load(of_case);
    REQUIRE(runner.ok());
    check_runs(of_case, *runner);
    {
      const auto session = runner->method().create_session();
      REQUIRE(session.ok());
      runner->method().use_session(session->get());
      check_runs(of_case, *runner);
      runner->method().use_session(nullptr);
    }
    check_runs(of_case, *runner);
  }
}

// Remove it with the option.
TEST_CASE("a number of threads out of range is refused, and the error names the range") {
  const Host host;
  const Case of_case = cases().front();
  const auto load = [&](std::int64_t threads) {
    return host.load(of_case, {{std::string(backend_id), "num_threads", threads}});
  };
  CHECK(load(4).ok());
  const auto refused = load(65);
  CHECK(refused.error() == tenon::Error::InvalidArgument);
  CHECK(refused.text().find("option 'num_threads': expected 0 to 64, found 65") !=
        std::string_view::npos);
}

TEST_CASE("without the runtime the backend says what is missing, and looks again later") {
  const char* found = std::getenv("MY_NPU_LIB");
  REQUIRE(found);
  const std::string library = found;
  ::setenv("MY_NPU_LIB", "/nonexistent/libnpu.so", 1);
  const Host host;
  const auto backend = host.registry.lookup_backend(backend_id);
  REQUIRE(backend.ok());
  const auto missing = (*backend)->is_available();
  CHECK(missing.error() == tenon::Error::NotFound);
  CHECK(missing.text().find("/nonexistent/libnpu.so") != std::string_view::npos);
  CHECK(missing.text().find("MY_NPU_LIB") != std::string_view::npos);
  // A library, but of something else.
  ::setenv("MY_NPU_LIB", MY_NPU_PLUGIN, 1);
  CHECK((*backend)->is_available().text().find("expected the function ") != std::string_view::npos);
  ::setenv("MY_NPU_LIB", library.c_str(), 1);
  CHECK((*backend)->is_available().ok());
}

}}  // namespace my_npu::test
