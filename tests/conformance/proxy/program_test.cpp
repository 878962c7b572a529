// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <vector>

#include "proxied.hpp"
#include "support/catch.hpp"
#include "unit/programs/run/process.hpp"

using namespace tenon;
using namespace tenon::test;
using ::test::Outcome;

namespace proxy_program_test { namespace program_test {
namespace {

/// Runs tenon-run, which does not know of proxies, with the case that adds two tensors.
Outcome run_add(const std::string& plugin, const ::test::Variables& variables = {}) {
  const ::test::ScopedEnvironment environment(variables);
  const std::string directory = TENON_TEST_CONFORMANCE_ZOO "/cases/add/";
  return ::test::run_program(
      TENON_RUN,
      {directory + "model.pte", "--json", "--plugin", plugin, "--input", directory + "input_0.npy",
       "--input", directory + "input_1.npy", "--expect", directory + "expected_0.npy"});
}

/// A proxy in a directory of its own.
struct Proxy {
  explicit Proxy(const std::string& plugin) {
    REQUIRE(conformance::make_proxy(TENON_TEST_PROXY_TEMPLATE, plugin, path, false).ok());
  }
  TemporaryDirectory directory;
  std::string path = directory.file("proxy.so");
};

}  // namespace

TEST_CASE("tenon-run runs a proxy as it runs the plugin", "[proxy]") {
  const Proxy proxy(zoo_plugin("good"));
  const Outcome plain = run_add(zoo_plugin("good"));
  const Outcome watched = run_add(proxy.path);
  CHECK(plain.exit_code == 0);
  CHECK(watched.exit_code == 0);
  CHECK(watched.err.empty());
}

TEST_CASE("output of a plugin is reported and the program continues", "[proxy][TN-PRC-5]") {
  const Proxy proxy(zoo_plugin("prints_to_stdout"));
  const Outcome watched = run_add(proxy.path);
  CHECK(watched.exit_code == 0);
  CHECK_THAT(watched.err, ContainsSubstring("log of proxy.so: TN-PRC-5 (A plugin MUST NOT use"));
  CHECK_THAT(watched.err, ContainsSubstring("execute wrote 8 bytes to standard output"));
}

TEST_CASE("in strict mode a program fails with the broken rule", "[proxy]") {
  const Proxy proxy(zoo_plugin("writes_to_input"));
  CHECK(run_add(proxy.path).exit_code == 0);
  const Outcome strict = run_add(proxy.path, {{"TENON_PROXY_STRICT", "1"}});
  CHECK(strict.exit_code == 5);
  CHECK_THAT(strict.err, ContainsSubstring("TN-EXE-2"));
}

TEST_CASE("a proxy runs in a worker, and judges the plugin there", "[proxy]") {
  if (!std::filesystem::exists(TENON_TEST_WORKER)) return;
  const Proxy good(zoo_plugin("good"));
  const ::test::Variables isolated{{"TENON_ISOLATE", "proxy.so"}};
  CHECK(run_add(good.path, isolated).exit_code == 0);
  const Proxy bad(zoo_plugin("writes_to_input"));
  const Outcome strict =
      run_add(bad.path, {{"TENON_ISOLATE", "proxy.so"}, {"TENON_PROXY_STRICT", "1"}});
  CHECK(strict.exit_code == 5);
  CHECK_THAT(strict.err, ContainsSubstring("TN-EXE-2"));
}

}}  // namespace proxy_program_test::program_test
