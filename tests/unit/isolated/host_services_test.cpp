// SPDX-License-Identifier: MIT
#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "tenon/host/layers/async/worker_pool.hpp"
#include "tenon/host/layers/prepared/prepared_cache.hpp"
#include "tenon/host/layers/trace/intermediates.hpp"

using namespace tenon;
using namespace tenon::test;

/// Extensions of the application's host, in a worker.
namespace isolated_host_services_test { namespace {

/// `sum` and `more` in each element.
std::vector<float> sum_and(float more) {
  std::vector<float> out = sum;
  for (float& each : out) each += more;
  return out;
}

host::BackendOption keeps(const char* when) { return {"Add", "keeps", std::string(when)}; }

/// An application whose methods may keep prepared bytes.
struct Caching {
  Caching() {
    auto opened = host::PreparedCache::open(directory / "prepared");
    REQUIRE(opened.ok());
    cache.emplace(*std::move(opened));
    options.layers.add(*cache);
  }

  const TemporaryDirectory directory;
  std::optional<host::PreparedCache> cache;
  Application application{TENON_TEST_USES_HOST};
  host::MethodOptions options;
};

TEST_CASE("bytes that an isolated plugin prepared are found by the next load") {
  Caching caching;
  const auto run = [&](const char* when) {
    auto method = caching.application.load(add_program, {keeps(when)}, caching.options);
    REQUIRE(std::string(method.text()) == "");
    auto got = add(**method);
    REQUIRE(std::string(got.text()) == "");
    return *std::move(got);
  };
  CHECK(run("never") == sum);
  CHECK(run("init") == sum);
  CHECK(run("never") == sum_and(1000));

  SECTION("also by an application that is started later") {
    Application later(TENON_TEST_USES_HOST);
    auto method = later.load(add_program, {keeps("never")}, caching.options);
    REQUIRE(method.ok());
    // The isolated plugin is the same file, byte for byte.
    CHECK(*add(**method) == sum_and(1000));
  }
  SECTION("but not by another plugin, nor without a cache") {
    auto method = caching.application.load(add_program, {keeps("init")});
    REQUIRE(method.ok());
    CHECK(*add(**method) == sum);
  }
}

TEST_CASE("bytes may be stored when a delegate is destroyed") {
  Caching caching;
  // More than a message of a lane has room for.
  const host::BackendOption size{"Add", "size", std::int64_t{1'000'000}};
  REQUIRE(caching.application.load(add_program, {keeps("destroy"), size}, caching.options).ok());
  auto method = caching.application.load(add_program, {keeps("never"), size}, caching.options);
  REQUIRE(method.ok());
  CHECK(*add(**method) == sum_and(1000));
}

TEST_CASE("a delegate that is loaded again in a new worker finds the bytes again") {
  Caching caching;
  REQUIRE(caching.application.load(add_program, {keeps("init")}, caching.options).ok());
  auto method = caching.application.load(
      add_program, {keeps("init"), {"Add", "isolated.restart", std::int64_t{1}}}, caching.options);
  REQUIRE(method.ok());
  CHECK(*add(**method) == sum_and(1000));
  for (const pid_t each : worker_processes()) ::kill(each, SIGKILL);
  CHECK_FALSE(add(**method).ok());
  const auto after = add(**method);
  INFO(after.text());
  REQUIRE(after.ok());
  CHECK(*after == sum_and(1000));
}

TEST_CASE("an isolated plugin gets a pool like the application's") {
  Application application(TENON_TEST_USES_HOST);
  auto pool = host::WorkerPool::create(3);
  REQUIRE(pool.ok());
  host::MethodOptions options;
  options.layers.add(**pool);
  auto method = application.load(add_program, {}, options);
  REQUIRE(method.ok());
  for (int i = 0; i < 10; ++i) CHECK(*add(**method) == sum_and(30000));
  auto without = application.load(add_program);
  REQUIRE(without.ok());
  CHECK(*add(**without) == sum);
}

/// A pool whose threads run on the first processor.
class OnFirstProcessor final : public host::ThreadPool {
 public:
  OnFirstProcessor() : ThreadPool(2, {0}) {}

 private:
  tenon_status run(std::uint64_t n, std::uint64_t, const host::RangeTask& task) override {
    return task(0, 0, n);
  }
};

TEST_CASE("the threads of the worker's pool run on the processors of the application's") {
  Application application(TENON_TEST_USES_HOST);
  const OnFirstProcessor pool;
  host::MethodOptions options;
  options.layers.add(pool);
  auto method = application.load(add_program, {}, options);
  REQUIRE(method.ok());
  for (int i = 0; i < 100; ++i) {
    const auto got = add(**method);
    INFO(got.text());
    REQUIRE(got.ok());
    CHECK(*got == sum_and(20000));
  }
}

/// The first element of the output.
float first_of(host::Method& method) {
  const Status run = method.execute();
  INFO(run.text());
  REQUIRE(run.ok());
  return *static_cast<const float*>(method.output(0).as.tensor->dl.data);
}

TEST_CASE("a plugin in a worker reads whether arguments have changed") {
  Application application(TENON_TEST_USES_HOST);
  auto method = application.load(add_program, {{"Add", "compares", true}});
  REQUIRE(method.ok());
  const std::vector<std::int64_t> sizes{2, 3};
  const std::vector<float> tens{10, 20, 30, 40, 50, 60};
  const std::vector<float> others{0, 1, 2, 3, 4, 5};
  const auto set = [&](const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    for (std::size_t i = 0; i < 2; ++i) {
      REQUIRE((*method)->set_input(i, host::InputTensor{ScalarType::Float, sizes, bytes}).ok());
    }
  };
  set(tens);
  CHECK(first_of(**method) == 20);
  // Nothing was set.
  for (int i = 0; i < 3; ++i) CHECK(first_of(**method) == 520);
  set(others);
  CHECK(first_of(**method) == 0);
  CHECK(first_of(**method) == 500);
}

TEST_CASE("an isolated plugin gives the intermediates that its plugin gives") {
  std::vector<std::vector<host::Intermediate>> known;
  std::vector<std::vector<host::IntermediateTensor>> taken;
  for (const auto place : {Application::Place::here, Application::Place::isolated}) {
    Application application(TENON_TEST_GRAPH, place);
    std::vector<host::BackendOption> options;
    if (place == Application::Place::isolated) {
      options.push_back({"GraphBackend", "isolated.restart", std::int64_t{1}});
    }
    auto method = application.load(TENON_TEST_CASES "/graph_backend/vision/model.pte", options);
    INFO(method.text());
    REQUIRE(method.ok());
    auto all = (*method)->intermediates();
    REQUIRE(all.ok());
    REQUIRE(all->size() > 2);
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < all->size(); i += 2) numbers.push_back(i);
    REQUIRE((*method)->record_intermediates(numbers).ok());
    std::vector<std::vector<float>> inputs;
    for (std::size_t i = 0; i < (*method)->num_inputs(); ++i) {
      const tenon_tensor& tensor = *(*method)->input(i).as.tensor;
      const std::vector<std::int64_t> sizes(tensor.dl.shape, tensor.dl.shape + tensor.dl.ndim);
      std::vector<float>& ones = inputs.emplace_back(tensor.nbytes / sizeof(float), 0.5f);
      const auto bytes = std::as_bytes(std::span(ones));
      REQUIRE((*method)->set_input(i, host::InputTensor{ScalarType::Float, sizes, bytes}).ok());
    }
    REQUIRE((*method)->execute().ok());
    if (place == Application::Place::isolated) {
      for (const pid_t each : worker_processes()) ::kill(each, SIGKILL);
      CHECK_FALSE((*method)->execute().ok());
      const Status again = (*method)->execute();
      INFO(again.text());
      REQUIRE(again.ok());
    }
    const auto recorded = (*method)->recorded_intermediates();
    CHECK(recorded.size() == numbers.size());
    taken.emplace_back(recorded.begin(), recorded.end());
    known.push_back(*all);
    REQUIRE((*method)->record_intermediates({}).ok());
    REQUIRE((*method)->execute().ok());
    CHECK((*method)->recorded_intermediates().empty());
  }
  REQUIRE(known[0].size() == known[1].size());
  for (std::size_t i = 0; i < known[0].size(); ++i) {
    CHECK(known[0][i].name == known[1][i].name);
    CHECK(known[0][i].handle == known[1][i].handle);
  }
  REQUIRE(taken[0].size() == taken[1].size());
  for (std::size_t i = 0; i < taken[0].size(); ++i) {
    CHECK(taken[0][i].shape == taken[1][i].shape);
    CHECK(taken[0][i].data == taken[1][i].data);
  }
}

}}  // namespace isolated_host_services_test
