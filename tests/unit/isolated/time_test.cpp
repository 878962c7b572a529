// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "application/call_watch.hpp"
#include "isolated.hpp"
#include "support/catch.hpp"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/abi/plugin.h"
#include "workers/hostile.hpp"

using namespace tenon;
using namespace tenon::test;
using namespace std::chrono_literals;

/// What an application notices of a worker that is alive and does not answer.
namespace isolated_time_test { namespace {

/// Waits for what comes sooner or later; long enough for any machine.
bool comes(const auto& condition) {
  for (int i = 0; i < 12'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool has_line(const TestLog& log, std::string_view part) {
  return std::ranges::any_of(
      log.lines(), [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

void kill_workers() {
  for (const pid_t each : worker_processes()) ::kill(each, SIGKILL);
}

TEST_CASE("a call without a deadline is reported after 1, 10 and 100 seconds, and continues") {
  using isolated::CallWatch;
  using enum CallWatch::Verdict;
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t begin = 77 * second;
  const struct {
    std::int64_t at;
    CallWatch::Verdict verdict;
    std::int64_t seconds;
  } looks[] = {{0, go_on, 0},
               {second - 1, go_on, 0},
               {second, report, 1},
               {second + 1, go_on, 1},
               {9 * second, go_on, 1},
               {11 * second, report, 11},
               {99 * second, go_on, 11},
               // A long time without a look: one line, not two.
               {2000 * second, report, 2000},
               {9999 * second, go_on, 2000},
               {10'000 * second, report, 10'000}};
  CallWatch watch(0);
  for (const auto& look : looks) {
    INFO(look.at);
    CHECK(watch.look(begin + look.at, 0) == look.verdict);
    CHECK(watch.seconds() == look.seconds);
  }
}

TEST_CASE("a call with a deadline has until then, also one that is longer than any clock") {
  using isolated::CallWatch;
  using enum CallWatch::Verdict;
  constexpr std::int64_t ms = 1'000'000;
  CallWatch watch(300);
  // The first look comes after a slice that counts.
  CHECK(watch.look(1000 * ms, 5 * ms) == go_on);
  CHECK(watch.look(1294 * ms, 5 * ms) == go_on);
  CHECK(watch.look(1295 * ms, 5 * ms) == give_up);
  CallWatch longest(UINT64_MAX);
  CHECK(longest.look(1, 0) == go_on);
  CHECK(longest.look(INT64_MAX / 2, 0) == go_on);
}

TEST_CASE("a plugin that hangs without a deadline is named in the log, and the call continues") {
  Application application(TENON_TEST_DIES);
  auto method = application.load(add_program, {{"Add", "how", "hang"}});
  REQUIRE(std::string(method.text()) == "");
  auto died = std::async(std::launch::async, [&] { return add(**method, 666).error(); });
  const auto log = application.log();
  CHECK(comes([&] { return has_line(*log, "the worker has not returned for "); }));
  CHECK(has_line(*log, " s from execute of backend Add, delegate "));
  CHECK(has_line(*log, " (method forward), call 1, thread "));
  CHECK(has_line(*log, std::string(", which has no deadline [") + TENON_TEST_DIES + "]"));
  CHECK(died.wait_for(0s) == std::future_status::timeout);
  kill_workers();
  CHECK(died.get() == Error::Internal);
}

/// A host that keeps its log.
struct Host : tenon_host {
  explicit Host(std::string path) : plugin(std::move(path)) {
    static_cast<tenon_host&>(*this) = {sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR,
                                       "time-test",        plugin.c_str(),  &keep_error,
                                       &keep_line,         nullptr,         &find};
  }
  std::string plugin;
  std::mutex mutex;  // Guards `error` while calls are going on.
  std::string error;
  TestLog log;

  static Host& of(const tenon_host* host) {
    return *const_cast<Host*>(static_cast<const Host*>(host));
  }
  static void keep_error(const tenon_host* host, tenon_status, const char* text,
                         std::uint64_t size) {
    const std::lock_guard lock(of(host).mutex);
    of(host).error.assign(text, size);
  }
  static void keep_line(const tenon_host* host, std::int32_t, const char* text,
                        std::uint64_t size) {
    of(host).log.add({text, size});
  }
  static const void* find(const tenon_host*, const char*) { return nullptr; }
};

/// An isolated plugin whose worker breaks the protocol.
class Hostile {
 public:
  explicit Hostile(host::WorkerSettings settings) {
    static_cast<void>(marked_process());
    const auto made = isolate::make_isolated({.template_file = TENON_TEST_ISOLATED_TEMPLATE,
                                              .worker = TENON_TEST_HOSTILE_WORKER,
                                              .plugin = TENON_TEST_HELLO,
                                              .out = path_,
                                              .settings = std::move(settings)});
    REQUIRE(std::string(made.text()) == "");
    library_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library_);
  }
  Hostile(const Hostile&) = delete;
  Hostile& operator=(const Hostile&) = delete;
  ~Hostile() {
    ::unsetenv("TENON_TEST_HOSTILE");
    ::dlclose(library_);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const tenon_backend_api& api() const {
    const auto* object = static_cast<const std::byte*>(::dlsym(library_, TENON_PLUGIN_SYMBOL));
    const auto* head = reinterpret_cast<const tenon_plugin_head*>(object);
    return *reinterpret_cast<const tenon_plugin_body*>(object + head->body_offset)->backends[0];
  }
  static void set(std::uint32_t attack, std::uint32_t seed) {
    const std::string variable = std::to_string(attack) + " " + std::to_string(seed);
    ::setenv("TENON_TEST_HOSTILE", variable.c_str(), 1);
  }

 private:
  TemporaryDirectory directory_;
  std::string path_ = directory_.file("hostile-isolated.so");
  void* library_ = nullptr;
};

TEST_CASE("a worker that takes no lanes ends each call at the deadline, also of many threads") {
  const Hostile plugin({.deadline_ms = 300});
  Hostile::set(no_lanes, 1);
  Host host(plugin.path());
  tenon_backend* backend = nullptr;
  REQUIRE(plugin.api().open(&host, &backend) == TENON_STATUS_OK);
  // More at once than the connection holds.
  std::vector<std::future<tenon_status>> calls;
  for (int i = 0; i < 24; ++i) {
    calls.push_back(
        std::async(std::launch::async, [&] { return plugin.api().is_available(backend); }));
  }
  int num_failed = 0;
  for (auto& call : calls) num_failed += call.get() == TENON_STATUS_OK ? 0 : 1;
  // One thread at a time has the lane that is served.
  CHECK(num_failed > 0);
  plugin.api().close(backend);
}

TEST_CASE("a lane that cannot be made is an error of that call, with its reason") {
  const Hostile plugin({.deadline_ms = 300});
  Hostile::set(no_lanes, 1);
  Host host(plugin.path());
  tenon_backend* backend = nullptr;
  REQUIRE(plugin.api().open(&host, &backend) == TENON_STATUS_OK);
  const auto& kernels = *static_cast<const tenon_kernels_v1*>(
      plugin.api().get_extension(backend, TENON_EXTENSION_KERNELS));
  // Each call inside of the sink needs a lane of its own.
  struct Nested {
    const tenon_backend_api& api;
    tenon_backend* backend;
    tenon_status status;
  } nested{plugin.api(), backend, TENON_STATUS_OK};
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const auto sink = [](void* context, const char*) {
    auto& it = *static_cast<Nested*>(context);
    rlimit none{};
    ::getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = 3;
    ::setrlimit(RLIMIT_NOFILE, &none);
    it.status = it.api.is_available(it.backend);
  };
  CHECK(kernels.list_operators(backend, sink, &nested) == TENON_STATUS_OK);
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(nested.status != TENON_STATUS_OK);
  CHECK(host.error.find("Too many open files") != std::string::npos);
  // The worker serves on.
  CHECK(plugin.api().is_available(backend) == TENON_STATUS_OK);
  plugin.api().close(backend);
}

TEST_CASE("a turn of a lane that no worker leaves is an error, or is named in the log") {
  const Hostile plugin({});
  const std::vector<std::uint32_t> silent = {11, 12, 13, 14, 17, 18, 22};
  for (std::uint32_t how = 0; how < num_turns; ++how) {
    INFO("turn " << how);
    Hostile::set(turns, how);
    Host host(plugin.path());
    tenon_backend* backend = nullptr;
    auto status =
        std::async(std::launch::async, [&] { return plugin.api().open(&host, &backend); });
    const auto has_returned = [&] { return status.wait_for(0s) == std::future_status::ready; };
    const auto is_named = [&] {
      return has_line(host.log, " s from open of backend Add, thread ");
    };
    CHECK(comes([&] { return has_returned() || is_named(); }));
    if (std::ranges::find(silent, how) != silent.end()) {
      CHECK(is_named());
    } else {
      CHECK(comes(has_returned));
    }
    kill_workers();
    CHECK(status.get() != TENON_STATUS_OK);
    INFO(host.error);
    CHECK(host.error.find("the worker died in open of backend Add") != std::string::npos);
  }
}

}}  // namespace isolated_time_test
