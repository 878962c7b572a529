// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "support/sanitizer.hpp"

using namespace tenon;
using namespace tenon::test;
using namespace std::chrono_literals;

/// Processes that a plugin starts, and that leave its group and its session.
namespace isolated_descendants_test { namespace {

bool comes(const auto& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

/// Ends what a failed test left.
struct EndAll {
  ~EndAll() {
    for (int i = 0; i < 10'000 && !worker_processes().empty(); ++i) {
      for (const pid_t each : worker_processes()) ::kill(each, SIGKILL);
    }
  }
};

/// The plugin's process, its parent, and the parent of that.
struct Processes {
  pid_t plugin = -1;
  pid_t supervisor = -1;
  pid_t guard = -1;
};

pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5);
  }
  return -1;
}

/// Before it has started any other.
Processes processes_of_one_worker() {
  const auto all = worker_processes();
  REQUIRE(all.size() == processes_of_worker);
  Processes out;
  for (const pid_t each : all) {
    if (!all.contains(parent_of(each))) out.guard = each;
    for (const pid_t other : all) {
      if (parent_of(other) == each && all.contains(parent_of(each))) {
        out.supervisor = each;
        out.plugin = other;
      }
    }
  }
  return out;
}

void makes_and_leaves(const char* what, auto end) {
  INFO(what);
  const EndAll later;
  Application application(TENON_TEST_DIES);
  auto first = application.load(add_program);
  REQUIRE(std::string(first.text()) == "");
  const Processes processes = processes_of_one_worker();
  auto method = application.load(add_program, {{"Add", "starts", what}});
  REQUIRE(std::string(method.text()) == "");
  REQUIRE(comes([] { return worker_processes().size() > processes_of_worker; }));
  end(processes, *first, *method);
  CHECK(comes([] { return worker_processes().empty(); }));
}

TEST_CASE("what a plugin has started ends with its worker, wherever it went") {
  for (const char* const what : {"daemon", "pass_on", "multiply"}) {
    makes_and_leaves(what, [](const Processes& processes, auto&, auto&) {
      REQUIRE(processes.plugin > 0);
      ::kill(processes.plugin, SIGKILL);
    });
  }
}

TEST_CASE("what a plugin has started ends when the application has unloaded it") {
  for (const char* const what : {"daemon", "pass_on", "multiply"}) {
    const EndAll later;
    {
      Application application(TENON_TEST_DIES);
      REQUIRE(application.load(add_program, {{"Add", "starts", what}}).ok());
    }
    INFO(what);
    CHECK(comes([] { return worker_processes().empty(); }));
  }
}

TEST_CASE("what a plugin has started ends when the supervisor or its guard is killed") {
  makes_and_leaves("daemon", [](const Processes& processes, auto& first, auto&) {
    ::kill(processes.supervisor, SIGKILL);
    CHECK(comes([&] { return add(*first).error() == Error::Internal; }) == true);
  });
  makes_and_leaves("daemon", [](const Processes& processes, auto& first, auto&) {
    ::kill(processes.guard, SIGKILL);
    CHECK(comes([&] { return add(*first).error() == Error::Internal; }) == true);
  });
  // A supervisor that was stopped does nothing. Its application ends the guard then.
  makes_and_leaves("daemon", [](const Processes& processes, auto& first, auto&) {
    ::kill(processes.supervisor, SIGSTOP);
    ::kill(processes.plugin, SIGKILL);
    ::kill(processes.guard, SIGTERM);
    CHECK(add(*first).error() == Error::Internal);
  });
}

TEST_CASE("what a plugin has started ends with the application, also when that is killed") {
  const EndAll later;
  std::unique_ptr<host::Method> loaded;
  const pid_t child = start_child(TENON_TEST_DIES, [&](Application& application) {
    auto method = application.load(add_program, {{"Add", "starts", "daemon"}});
    if (method.ok()) loaded = *std::move(method);
    return loaded != nullptr;
  });
  REQUIRE(child > 0);
  CHECK(comes([] { return worker_processes().size() > processes_of_worker; }));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(comes([] { return worker_processes().empty(); }));
}

// Sanitizers make calls and threads of their own, which profiles refuse.
#if !defined(TENON_TEST_HAS_SANITIZER)
/// Processes of this program with these arguments.
std::set<pid_t> sleepers() {
  std::set<pid_t> out;
  std::error_code failure;
  for (const auto& each : std::filesystem::directory_iterator("/proc", failure)) {
    std::ifstream file(each.path() / "cmdline", std::ios::binary);
    const std::string line(std::istreambuf_iterator<char>(file), {});
    if (line == std::string_view("/bin/sleep\0"
                                 "77777.25\0",
                                 20)) {
      out.insert(static_cast<pid_t>(std::stol(each.path().filename().string())));
    }
  }
  return out;
}

TEST_CASE("a program that a plugin with the profile driver has started ends with its worker") {
  {
    Application application(TENON_TEST_DIES, Application::Place::isolated,
                            {.profile = host::WorkerProfile::driver,
                             .permissions = {"program=/bin", "program=/usr/bin"}});
    const auto method = application.load(add_program, {{"Add", "starts", "program"}});
    if (!method.ok()) {
      WARN("not run: " << method.text());
      return;
    }
    CHECK(comes([] { return !sleepers().empty(); }));
  }
  CHECK(comes([] { return sleepers().empty(); }));
  for (const pid_t each : sleepers()) ::kill(each, SIGKILL);
}
#endif

}}  // namespace isolated_descendants_test
