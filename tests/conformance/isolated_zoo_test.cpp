// SPDX-License-Identifier: MIT
//
// An application that loads each plugin of the zoo in a worker, and calls what a host calls. No
// plugin ends the application, and none changes what is its own.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/conformance/case_runner.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/schema/program_generated.h"

namespace {

namespace fs = std::filesystem;
namespace conformance = tenon::conformance;
namespace host = tenon::host;
using tenon::Status;

/// The state of a process that a plugin in it could change, but for the time.
struct State {
  std::string folder = fs::current_path().string();
  std::string locale = std::setlocale(LC_ALL, nullptr);
  std::map<std::string, std::string> variables;
  std::set<std::string> descriptors;
  std::set<std::string> threads;
  rlim_t open_files = 0;

  State() {
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string_view text = *each;
      variables.emplace(text.substr(0, text.find('=')), text);
    }
    for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
      std::error_code failure;
      const auto target = fs::read_symlink(each.path(), failure);
      if (!failure) descriptors.insert(each.path().filename().string() + " " + target.string());
    }
    for (const auto& each : fs::directory_iterator("/proc/self/task")) threads.insert(each.path());
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    open_files = limit.rlim_cur;
  }
};

/// Outcomes of all calls, for people.
struct Outcomes {
  int plugins = 0;
  int refused = 0;  ///< Not loaded: the record, the library, or `open`.
  int calls = 0;
  int right = 0;   ///< Runs of cases with the expected outputs.
  int failed = 0;  ///< Calls with an error.
  int died = 0;    ///< Of these, the worker died or was ended.

  void add(const Status& outcome) {
    ++calls;
    if (outcome.ok()) return;
    ++failed;
    died += outcome.text().find("the worker died") != std::string_view::npos;
    // A failure has a text, whatever the plugin did.
    CHECK_FALSE(outcome.text().empty());
  }
};

std::vector<conformance::Case> cases_of_zoo() {
  auto cases = conformance::read_cases(fs::path(TENON_ZOO) / "cases");
  REQUIRE(cases.ok());
  return *std::move(cases);
}

std::vector<fs::path> plugins_of_zoo() {
  std::vector<fs::path> out;
  for (const auto& each : fs::directory_iterator(TENON_ZOO)) {
    if (each.path().extension() == ".so") out.push_back(each.path());
  }
  std::ranges::sort(out);
  return out;
}

void run_case(const conformance::Case& each, const host::BackendRegistry& registry,
              const host::LoadedBackend& backend, Outcomes& out) {
  const auto program = host::Program::open(each.program);
  REQUIRE(program.ok());
  const auto plan = (*program)->plan(each.method);
  REQUIRE(plan.ok());
  for (const auto* const delegate : *(*plan)->delegates()) {
    out.add(host::check_blob(backend, **program, each.method.c_str(), *delegate, nullptr).status());
  }
  host::MethodOptions options;
  options.registry = &registry;
  auto runner = conformance::CaseRunner::load(each, std::move(options));
  out.add(runner.ok() ? tenon::ok() : tenon::error(runner.error(), runner.text()));
  if (!runner.ok()) return;
  for (std::size_t i = 0; i < each.runs.size(); ++i) {
    const auto compared = runner->run(i, each.tolerances);
    out.add(compared.ok() ? tenon::ok() : tenon::error(compared.error(), compared.text()));
    if (!compared.ok()) continue;
    out.right += std::ranges::all_of(*compared, [](const auto& one) { return one.equal; });
  }
  out.add(runner->method().create_session().status());
  static_cast<void>(runner->method().memory_info());
}

void use_plugin(const fs::path& plugin, host::WorkerProfile profile,
                const std::vector<conformance::Case>& cases, Outcomes& out) {
  ++out.plugins;
  const auto record = host::peek(plugin);
  if (!record.ok()) {
    ++out.refused;
    return;
  }
  host::HostInfo info;
  info.log = [](std::int32_t, std::string_view, std::string_view) {};
  // A plugin that keeps all rules must return, however busy the machine is.
  const bool is_good = plugin.filename().string().starts_with("good");
  info.gates.push_back(std::make_shared<host::WorkerIsolation>(
      std::vector<host::IsolationRule>{
          {.pattern = "*",
           .settings = {.profile = profile, .deadline_ms = is_good ? 60'000U : 1000U}}},
      TENON_TEST_WORKER));
  host::BackendRegistry registry(info);
  if (!registry.register_backend(plugin).ok()) {
    ++out.refused;
    return;
  }
  for (const host::BackendRecord& described : record->backends) {
    const auto backend = registry.lookup_backend(described.id);
    if (!backend.ok()) {
      ++out.refused;
      CHECK_FALSE(backend.text().empty());
      continue;
    }
    const host::LoadedBackend& opened = **backend;
    out.add(opened.is_available());
    out.add(host::list_devices(opened).status());
    for (const host::OptionDeclaration& option : opened.options()) {
      out.add(opened.get_option(option.key).status());
    }
    if (described.id != "ZooBackend") continue;
    for (const conformance::Case& each : cases) run_case(each, registry, opened, out);
  }
}

void run_zoo(host::WorkerProfile profile) {
  const auto cases = cases_of_zoo();
  Outcomes all;
  const State before;
  int good_runs = 0;
  for (const conformance::Case& each : cases) good_runs += static_cast<int>(each.runs.size());
  for (const fs::path& each : plugins_of_zoo()) {
    INFO(each.filename().string());
    const int right = all.right;
    use_plugin(each, profile, cases, all);
    if (each.filename() == "good.so") CHECK(all.right - right == good_runs);
    const State after;
    CHECK(after.folder == before.folder);
    CHECK(after.locale == before.locale);
    CHECK(after.variables == before.variables);
    CHECK(after.descriptors == before.descriptors);
    CHECK(after.threads == before.threads);
    CHECK(after.open_files == before.open_files);
  }
  std::cout << all.plugins << " plugins in workers with the profile "
            << host::worker_profile_name(profile) << ": " << all.refused << " refused; "
            << all.calls << " calls, of which " << all.failed << " failed and " << all.died
            << " ended a worker; " << all.right << " runs of cases were right\n";
  CHECK(all.plugins > 200);
  CHECK(all.died > 20);
}

bool has_landlock() {
  host::HostInfo info;
  info.gates.push_back(std::make_shared<host::WorkerIsolation>(
      *host::parse_isolation_rules("*=strict"), TENON_TEST_WORKER));
  host::BackendRegistry registry(info);
  REQUIRE(registry.register_backend(fs::path(TENON_ZOO) / "good.so").ok());
  const auto backend = registry.lookup_backend("ZooBackend");
  const bool lacks = !backend.ok() && backend.text().find("no Landlock") != std::string_view::npos;
  if (lacks) WARN("not run: " << backend.text());
  return !lacks;
}

}  // namespace

TEST_CASE("no plugin of the zoo ends an application that runs it in a worker") {
  run_zoo(host::WorkerProfile::none);
}

TEST_CASE("no plugin of the zoo ends an application that runs it in a worker with few privileges") {
  if (has_landlock()) run_zoo(host::WorkerProfile::strict);
}
