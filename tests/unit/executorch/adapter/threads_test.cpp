// SPDX-License-Identifier: MIT
//
// ExecuTorch's pool of threads, lent to plugins.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include "plugins/pooled/pooled.hpp"
#include "unit/executorch/adapter/stock.hpp"

TENON_DECLARE_STATIC_PLUGIN(PooledLeft);

using namespace tenon;
using namespace tenon::test;

namespace threads_test {

/// ExecuTorch's pool, whose library an application has loaded, as Python does.
tenon::ThreadPool executorch_pool() {
  static void* const library = ::dlopen(TENON_TEST_THREADPOOL, RTLD_NOW | RTLD_LOCAL);
  INFO(TENON_TEST_THREADPOOL);
  REQUIRE(library != nullptr);
  const tenon_thread_pool* const pool = bridge::adapter::LentThreads::find();
  REQUIRE(pool != nullptr);
  return tenon::ThreadPool(pool);
}

float run(const std::string& backend, const std::string& blob) {
  const AlignedBytes bytes = chain_of({blob}, {.id = backend});
  ::executorch::extension::Module module(
      std::make_unique<::executorch::extension::BufferDataLoader>(bytes.bytes().data(),
                                                                  bytes.bytes().size()));
  OwnTensor<float> input(EtScalarType::Float, {4}, {1, 2, 3, 4});
  const auto outputs = module.forward(input.value());
  REQUIRE(outputs.ok());
  return outputs->at(0).toTensor().const_data_ptr<float>()[0];
}

}  // namespace threads_test

using namespace threads_test;

TEST_CASE("a plugin computes on ExecuTorch's pool of threads when the application wants it",
          "[executorch][threads]") {
  const tenon::ThreadPool pool = executorch_pool();
  auto registry = std::make_shared<host::BackendRegistry>();
  REQUIRE(registry->register_backend(tenon_static_plugin_PooledLeft).ok());
  bridge::RegisterOptions options{.ids = {"PooledLeft"}};
  options.adapter.lend_threads = true;
  REQUIRE(bridge::register_plugins(std::shared_ptr<const host::BackendRegistry>(registry), options)
              .ok());
  options.ids = {"PooledRight"};
  options.adapter.lend_threads = false;
  REQUIRE(bridge::register_plugins(std::shared_ptr<const host::BackendRegistry>(registry), options)
              .ok());
  const int num_threads = static_cast<int>(pool.num_threads());
  PooledRecord& record = pooled_record();
  for (const char* blob : {"rows 1000", "nested 1000"}) {
    record.most = 0;
    CHECK(run("PooledLeft", blob) == 65);
    CHECK(record.at_init == num_threads);
    CHECK(record.at_run == num_threads);
    CHECK(record.most <= num_threads);
  }
  CHECK(run("PooledRight", "rows 10") == 65);
  CHECK(record.at_init == 0);
  CHECK(record.at_run == 0);
}

TEST_CASE("ranges on ExecuTorch's pool follow the rules, and a failure ends the call",
          "[executorch][threads]") {
  const tenon::ThreadPool pool = executorch_pool();
  constexpr std::array<std::pair<std::uint64_t, std::uint64_t>, 6> sizes{
      {{1, 1}, {7, 3}, {64, 2}, {1000, 1}, {1000, 4096}, {10007, 16}}};
  for (const auto& size : sizes) {
    const std::uint64_t n = size.first, grain = size.second;  // clang 14 captures no bindings.
    std::vector<int> seen(n);
    std::mutex mutex;
    std::uint64_t ranges = 0;
    bool is_aligned = true;
    std::set<std::uint32_t> workers;
    REQUIRE(pool.parallel_for(n, grain,
                              [&](std::uint32_t worker, std::uint64_t begin, std::uint64_t end) {
                                const std::scoped_lock lock(mutex);
                                ++ranges;
                                workers.insert(worker);
                                is_aligned = is_aligned && begin % grain == 0;
                                for (std::uint64_t i = begin; i < end; ++i) ++seen[i];
                              })
                .ok());
    CHECK(seen == std::vector<int>(n, 1));
    CHECK(is_aligned);
    CHECK(ranges <= pool.num_threads());
    CHECK(workers.size() == ranges);
    CHECK(*workers.rbegin() < pool.num_threads());
  }
  const Status failed = pool.parallel_for(100, 1, [](std::uint64_t, std::uint64_t end) -> Status {
    return end == 100 ? error(Error::AccessFailed, "the last") : ok();
  });
  CHECK(failed.error() == Error::AccessFailed);
  CHECK_THROWS_AS(
      pool.parallel_for(
          8, 1, [](std::uint64_t, std::uint64_t) { throw std::runtime_error("in the work"); }),
      std::runtime_error);
}
