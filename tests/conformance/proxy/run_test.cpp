// SPDX-License-Identifier: MIT
#include <signal.h>

#include <clocale>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "proxied.hpp"
#include "support/catch.hpp"
#include "tenon/abi/extensions/options.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::test;

namespace proxy_run_test { namespace run_test {
namespace {

const std::vector<std::int64_t> sizes{2, 3};
const std::vector<float> a{1, 2, 3, 4, 5, 6};
const std::vector<float> b{10, 20, 30, 40, 50, 60};
const std::vector<float> sum{11, 22, 33, 44, 55, 66};

/// Loads the case that adds two tensors, and runs it `runs` times.
Status run_add(Proxied& proxied, int runs = 1) {
  TENON_TRY(const auto method, proxied.load(zoo_case("add")));
  for (int i = 0; i < runs; ++i) {
    const std::vector<float> first = a;  // Of each run: a plugin may change it.
    const std::vector<float> second = b;
    TENON_RETURN_IF_ERROR(set_input(*method, 0, first, sizes));
    TENON_RETURN_IF_ERROR(set_input(*method, 1, second, sizes));
    TENON_RETURN_IF_ERROR(method->execute());
    CHECK(output(*method, 0) == sum);
  }
  return ok();
}

/// The rules of the findings that were logged: "TN-EXE-2".
std::vector<std::string> rules_of(const std::vector<std::string>& findings) {
  std::vector<std::string> out;
  for (const std::string& text : findings) out.push_back(text.substr(0, text.find(' ')));
  return out;
}

using Rules = std::vector<std::string>;

}  // namespace

TEST_CASE("a program gives the same numbers through a proxy and both libraries are unloaded",
          "[proxy]") {
  Proxied proxied(zoo_plugin("good"));
  CHECK(run_add(proxied, 3).ok());
  CHECK(proxied.findings().empty());
  CHECK(proxied.logged(TENON_LOG_INFO, "proxy of").size() == 1);
  CHECK(proxied.logged(TENON_LOG_INFO, "proxy of").front().ends_with(", 0 findings"));
  CHECK_FALSE(is_mapped("good.so"));
  CHECK_FALSE(is_mapped("proxy_of_good.so"));
}

TEST_CASE("the wrapped plugin stays until the last backend of its proxy is closed", "[proxy]") {
  Proxied proxied(zoo_plugin("good"));
  auto first = proxied.load(zoo_case("add"));
  auto second = host::Plugin::load(proxied.path(), host::all_layers());
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  auto backend = (*second)->backend("ZooBackend");
  REQUIRE(backend.ok());
  first->reset();
  CHECK(is_mapped("good.so"));
  backend->reset();
  second->reset();
  CHECK_FALSE(is_mapped("good.so"));
}

TEST_CASE("a proxy reports a write to an input and the program continues", "[proxy][TN-EXE-2]") {
  Proxied proxied(zoo_plugin("writes_to_input"));
  CHECK(run_add(proxied, 3).ok());
  // Three times the same, reported once.
  REQUIRE(rules_of(proxied.findings()) == Rules{"TN-EXE-2"});
  CHECK(proxied.findings().front() ==
        "TN-EXE-2 (`execute` MUST NOT write to an input.): execute changed argument 0 of 3, which "
        "is an input [backend ZooBackend]");
  CHECK(proxied.logged(TENON_LOG_INFO, "proxy of").front().ends_with(", 3 findings"));
}

TEST_CASE("a proxy stops an exception and the run fails with an error text", "[proxy][TN-BCK-1]") {
  Proxied proxied(zoo_plugin("throws"));
  const Status failed = run_add(proxied);
  CHECK(failed.error() == Error::Internal);
  CHECK_THAT(std::string(failed.text()),
             ContainsSubstring("TN-BCK-1: execute let an exception out: thrown on purpose"));
  CHECK(rules_of(proxied.findings()) == Rules{"TN-BCK-1"});
}

TEST_CASE("a proxy adds an error text to a failure without one", "[proxy][TN-ERR-2]") {
  Proxied proxied(zoo_plugin("silent_failure"));
  auto plugin = host::Plugin::load(proxied.path(), host::all_layers());
  REQUIRE(plugin.ok());
  auto backend = (*plugin)->backend("ZooBackend");
  REQUIRE(backend.ok());
  LoadedBlob blob(*backend, std::string_view("ZOO1\1\0\0\0\0\0\0\0\0\0\0\0", 16));
  REQUIRE(blob.init().ok());
  const Status failed = blob.execute(nullptr, 0);
  CHECK(failed.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(failed.text()),
             ContainsSubstring("execute returned InvalidArgument without calling"));
}

TEST_CASE("a proxy reports changes to the process without reverting them", "[proxy][TN-PRC-1]") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  Proxied proxied(zoo_plugin("sets_locale"));
  CHECK(run_add(proxied).ok());
  CHECK(rules_of(proxied.findings()) == Rules{"TN-PRC-1"});
  CHECK(std::setlocale(LC_ALL, nullptr) != before);
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("an access outside of lent memory is reported and the program continues",
          "[proxy][TN-INI-5]") {
  struct Broken {
    const char* plugin;
    const char* rule;
  };
  for (const Broken& broken :
       {Broken{"writes_to_blob", "TN-INI-5"}, Broken{"reads_past_host", "TN-HST-1"},
        Broken{"reads_after_release", "TN-BUF-1"}}) {
    INFO(broken.plugin);
    struct sigaction before{};
    ::sigaction(SIGSEGV, nullptr, &before);
    Proxied proxied(zoo_plugin(broken.plugin));
    const Status outcome = run_add(proxied);
    INFO(outcome.text());
    CHECK(outcome.ok());
    CHECK(rules_of(proxied.findings()) == Rules{broken.rule});
    struct sigaction after{};
    ::sigaction(SIGSEGV, nullptr, &after);
    CHECK(after.sa_sigaction == before.sa_sigaction);
  }
}

TEST_CASE("in strict mode a broken rule makes execute fail", "[proxy]") {
  Proxied proxied(zoo_plugin("writes_to_input"), {{"TENON_PROXY_STRICT", "1"}});
  const Status failed = run_add(proxied);
  CHECK(failed.error() == Error::Internal);
  CHECK_THAT(std::string(failed.text()),
             ContainsSubstring("TN-EXE-2: execute changed argument 0 of 3"));
  CHECK_THAT(std::string(failed.text()),
             ContainsSubstring("`execute` MUST NOT write to an input."));
}

TEST_CASE("in strict mode a broken rule makes init fail without a leak", "[proxy]") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  Proxied proxied(zoo_plugin("sets_locale"), {{"TENON_PROXY_STRICT", "1"}});
  const auto method = proxied.load(zoo_case("add"));
  std::setlocale(LC_ALL, before.c_str());
  CHECK(method.error() == Error::Internal);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("TN-PRC-1"));
  CHECK_FALSE(is_mapped("sets_locale.so"));
}

TEST_CASE("in fast mode a proxy compares nothing", "[proxy]") {
  Proxied proxied(zoo_plugin("writes_to_input"), {{"TENON_PROXY_FAST", "1"}});
  CHECK(run_add(proxied).ok());
  CHECK(proxied.findings().empty());
}

TEST_CASE("findings are appended to the report as lines of JSON", "[proxy]") {
  const TemporaryDirectory directory;
  const std::string report = directory.file("report.jsonl");
  for (int i = 0; i < 2; ++i) {
    Proxied proxied(zoo_plugin("writes_to_input"), {{"TENON_PROXY_REPORT", report}});
    REQUIRE(run_add(proxied).ok());
  }
  std::ifstream file(report);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  REQUIRE(lines.size() == 2);
  for (const nlohmann::json& line : lines) {
    CHECK(line["rule"] == "TN-EXE-2");
    CHECK(line["sentence"] == "`execute` MUST NOT write to an input.");
    CHECK(line["text"] == "execute changed argument 0 of 3, which is an input");
    CHECK_THAT(std::string(line["call"].get<std::string>()),
               ContainsSubstring(": execute (delegate 1)"));
    CHECK(line["backend"] == "ZooBackend");
    CHECK(line["plugin"] == zoo_plugin("writes_to_input"));
  }
}

TEST_CASE("a report that cannot be written is an error in the log only", "[proxy]") {
  Proxied proxied(zoo_plugin("good"), {{"TENON_PROXY_REPORT", "/proc/none/report"}});
  CHECK(run_add(proxied).ok());
  CHECK(proxied.logged(TENON_LOG_ERROR, "TENON_PROXY_REPORT: /proc/none/report").size() == 1);
}

TEST_CASE("options pass through a proxy", "[proxy]") {
  Proxied proxied(zoo_plugin("good"));
  const auto backend = proxied.registry().lookup_backend("ZooBackend");
  REQUIRE(backend.ok());
  CHECK((*backend)->set_option("bias", std::int64_t{7}).ok());
  const auto value = (*backend)->get_option("bias");
  REQUIRE(value.ok());
  CHECK(*value == OptionValue(std::int64_t{7}));
  const Status unknown = (*backend)->set_option("nothing", true);
  CHECK(unknown.error() == Error::NotFound);
  CHECK_THAT(std::string(unknown.text()), ContainsSubstring("option nothing is unknown"));
  CHECK(proxied.findings().empty());
}

TEST_CASE("a session of a proxied delegate has a state of its own", "[proxy]") {
  Proxied proxied(zoo_plugin("good"));
  const auto method = proxied.load(zoo_case("counter"));
  REQUIRE(method.ok());
  const auto session = (*method)->create_session();
  REQUIRE(session.ok());
  const std::vector<float> input{10, 20, 30};
  const auto run = [&] {
    REQUIRE(set_input(**method, 0, input, {3}).ok());
    REQUIRE((*method)->execute().ok());
    return output(**method, 0).front();
  };
  CHECK(run() == 11.0f);
  CHECK(run() == 12.0f);
  (*method)->use_session(session->get());
  CHECK(run() == 11.0f);
  (*method)->use_session(nullptr);
  CHECK(run() == 13.0f);
  CHECK(proxied.findings().empty());
}

TEST_CASE("each backend of a plugin has its own proxy", "[proxy]") {
  Proxied proxied(TENON_TEST_ZOO "/two_backends.so");
  const auto works = proxied.registry().lookup_backend("WorksBackend");
  REQUIRE(works.ok());
  const Status none = (*works)->is_available();
  CHECK(none.error() == Error::NotFound);
  CHECK_THAT(std::string(none.text()), ContainsSubstring("no device on this machine"));
  const auto locked = proxied.registry().lookup_backend("LockedBackend");
  CHECK(locked.error() == Error::AccessFailed);
  CHECK_THAT(std::string(locked.text()), ContainsSubstring("no licence"));
}

TEST_CASE("delegates may run through a proxy on several threads", "[proxy]") {
  Proxied proxied(zoo_plugin("good"));
  std::vector<std::unique_ptr<host::Method>> methods;
  for (int i = 0; i < 4; ++i) {
    auto method = proxied.load(zoo_case("counter"));
    REQUIRE(method.ok());
    methods.push_back(*std::move(method));
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(methods.size(), 0);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::vector<float> input(3, 0.0f);
      for (int run = 1; run <= 200; ++run) {
        const bool good = set_input(*methods[i], 0, input, {3}).ok() &&
                          methods[i]->execute().ok() &&
                          output(*methods[i], 0) == std::vector<float>(3, static_cast<float>(run));
        if (!good) ++wrong[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(methods.size(), 0));
  CHECK(proxied.findings().empty());
}

}}  // namespace proxy_run_test::run_test
