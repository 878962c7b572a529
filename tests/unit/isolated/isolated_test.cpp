// SPDX-License-Identifier: MIT
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"

using namespace tenon;
using namespace tenon::test;

namespace isolated_test { namespace {

using namespace std::chrono_literals;

template <class Condition>
bool becomes(const Condition& condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

TEST_CASE("an isolated plugin computes what the plugin computes") {
  Application application(TENON_TEST_HELLO);
  auto method = application.load(add_program);
  INFO(method.text());
  REQUIRE(method.ok());
  for (int i = 0; i < 100; ++i) {
    const auto got = add(**method);
    INFO(got.text());
    REQUIRE(got.ok());
    CHECK(*got == sum);
  }
}

TEST_CASE("delegates of one worker run at the same time") {
  Application application(TENON_TEST_HELLO);
  std::vector<std::unique_ptr<host::Method>> methods;
  for (int i = 0; i < 4; ++i) {
    auto method = application.load(add_program);
    REQUIRE(method.ok());
    methods.push_back(*std::move(method));
  }
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (auto& method : methods) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const auto got = add(*method);
        if (got.ok() && *got == sum) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 200);
}

TEST_CASE("nothing is left of 200 loads") {
  {
    Application warm(TENON_TEST_HELLO);
    REQUIRE(warm.load(add_program).ok());
  }
  const auto before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    Application application(TENON_TEST_HELLO);
    auto method = application.load(add_program);
    REQUIRE(method.ok());
    CHECK(*add(**method) == sum);
  }
  CHECK(open_descriptors() == before);
  CHECK(becomes([&] { return worker_processes().empty(); }, 5s));
  // No child, of whatever kind.
  CHECK(::waitpid(-1, nullptr, WNOHANG | __WALL) == -1);
}

TEST_CASE("a worker ends with the application, also when that is killed") {
  std::unique_ptr<host::Method> loaded;
  const pid_t child = start_child(TENON_TEST_HELLO, [&](Application& application) {
    auto method = application.load(add_program);
    if (method.ok()) loaded = *std::move(method);
    return loaded && add(*loaded).ok();
  });
  REQUIRE(child > 0);
  CHECK(worker_processes().size() == processes_of_worker);
  ::kill(child, SIGKILL);
  CHECK(becomes([&] { return worker_processes().empty(); }, 2s));
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("a child of fork cannot use the worker of its parent, and does not end it") {
  Application application(TENON_TEST_HELLO);
  auto method = application.load(add_program);
  REQUIRE(method.ok());
  REQUIRE(add(**method).ok());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto got = add(**method);
    const bool is_refused = got.error() == Error::InvalidState;
    method->reset();
    ::_exit(is_refused ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(*add(**method) == sum);
}

TEST_CASE("a plugin that was changed since is refused by its hash") {
  const TemporaryDirectory directory;
  const std::string copy = directory.file("plugin.so");
  std::filesystem::copy_file(TENON_TEST_HELLO, copy);
  Application application(copy);
  {
    std::ofstream file(copy, std::ios::binary | std::ios::app);
    file << "more";
  }
  const auto method = application.load(add_program);
  REQUIRE_FALSE(method.ok());
  INFO(method.text());
  CHECK(method.text().find("SHA-256 ") != std::string_view::npos);
  CHECK(method.text().find("make it again with tenon-isolate") != std::string_view::npos);
}

TEST_CASE("the template itself is no plugin to use") {
  auto plugin = host::Plugin::load(TENON_TEST_ISOLATED_TEMPLATE, host::all_layers());
  REQUIRE(plugin.ok());
  const auto backend = (*plugin)->backend("TenonIsolatedTemplate");
  CHECK(backend.error() == Error::NotSupported);
  CHECK(backend.text().find("tenon-isolate") != std::string_view::npos);
}

TEST_CASE("an isolated plugin of an isolated plugin is refused") {
  Application application(TENON_TEST_HELLO);
  const TemporaryDirectory directory;
  const auto made = isolate::make_isolated({.template_file = TENON_TEST_ISOLATED_TEMPLATE,
                                            .worker = TENON_TEST_WORKER,
                                            .plugin = application.path(),
                                            .out = directory / "twice.so"});
  CHECK(made.error() == Error::NotSupported);
}

/// The bytes of all outputs after one run with inputs of ones.
std::string run_ones(host::Method& method) {
  std::vector<std::vector<float>> inputs;
  for (std::size_t i = 0; i < method.num_inputs(); ++i) {
    const tenon_value& value = method.input(i);
    const tenon_tensor& tensor = *value.as.tensor;
    const std::span sizes(tensor.dl.shape, static_cast<std::size_t>(tensor.dl.ndim));
    std::vector<float>& ones = inputs.emplace_back(tensor.nbytes / sizeof(float));
    for (std::size_t k = 0; k < ones.size(); ++k) ones[k] = static_cast<float>(k % 17) / 16;
    const std::vector<std::int64_t> copied(sizes.begin(), sizes.end());
    const Status set = method.set_input(
        i, host::InputTensor{ScalarType::Float, copied, std::as_bytes(std::span(ones))});
    if (!set.ok()) return std::string(set.text());
  }
  if (const Status run = method.execute(); !run.ok()) return std::string(run.text());
  std::string out;
  for (std::size_t i = 0; i < method.num_outputs(); ++i) {
    const tenon_tensor& tensor = *method.output(i).as.tensor;
    out.append(static_cast<const char*>(tensor.dl.data), static_cast<std::size_t>(tensor.nbytes));
  }
  return out;
}

void check_same_bytes(const std::string& plugin, const std::string& program) {
  Application here(plugin, Application::Place::here);
  Application apart(plugin);
  auto one = here.load(program);
  auto two = apart.load(program);
  INFO(one.text() << two.text());
  REQUIRE(one.ok());
  REQUIRE(two.ok());
  const std::string expected = run_ones(**one);
  CHECK(expected.size() > 0);
  CHECK(run_ones(**two) == expected);
  CHECK(run_ones(**two) == expected);
}

TEST_CASE("GraphBackend gives the same bytes in a worker") {
  check_same_bytes(TENON_TEST_GRAPH, TENON_TEST_CASES "/graph_backend/mlp/model.pte");
}

TEST_CASE("data by name comes to the worker") {
  check_same_bytes(TENON_TEST_GRAPH, TENON_TEST_CASES "/graph_backend/named_weights/model.pte");
}

#if defined(TENON_TEST_CPU_AOTI)
TEST_CASE("a model of AOTInductor gives the same bytes in a worker") {
  check_same_bytes(TENON_TEST_CPU_AOTI, TENON_TEST_DIGITS);
}

TEST_CASE("a session is made, used and destroyed by different threads") {
  Application here(TENON_TEST_CPU_AOTI, Application::Place::here);
  auto plain = here.load(TENON_TEST_DIGITS);
  REQUIRE(plain.ok());
  const std::string expected = run_ones(**plain);
  Application apart(TENON_TEST_CPU_AOTI);
  auto method = apart.load(TENON_TEST_DIGITS);
  REQUIRE(method.ok());
  const auto in_a_thread = [](const auto& work) { std::thread(work).join(); };
  for (int i = 0; i < 20; ++i) {
    std::unique_ptr<host::Session> session;
    std::string made;
    std::string got;
    in_a_thread([&] {
      auto created = (*method)->create_session();
      made = created.text();
      if (created.ok()) session = *std::move(created);
    });
    REQUIRE(made.empty());
    in_a_thread([&] {
      (*method)->use_session(session.get());
      got = run_ones(**method);
    });
    CHECK(got == expected);
    CHECK(run_ones(**method) == expected);
    (*method)->use_session(nullptr);
    in_a_thread([&] { session.reset(); });
    CHECK(run_ones(**method) == expected);
  }
}
#endif

}}  // namespace isolated_test
