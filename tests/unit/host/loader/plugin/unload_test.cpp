// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "unit/core/test_tensor.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace unload_test {
namespace {

const std::string hello = TENON_TEST_HELLO;
const std::string demo = TENON_TEST_DEMO;
constexpr std::string_view demo_id = "BackendWithCompilerDemo";
const std::string program_path = TENON_TEST_FIXTURES "/demo_sin_seg/model.pte";

std::shared_ptr<Plugin> load(const std::string& path) {
  auto plugin = Plugin::load(path, all_layers());
  REQUIRE(plugin.ok());
  return *std::move(plugin);
}

}  // namespace

TEST_CASE("a plugin is unloaded when its last holder is destroyed, not before",
          "[loader][TN-BCK-5]") {
  REQUIRE(unloaded("hello.so"));
  std::shared_ptr<Plugin> plugin = load(hello);
  CHECK(is_mapped("hello.so"));

  std::shared_ptr<const LoadedBackend> backend = *plugin->backend("Add");
  plugin.reset();
  CHECK(is_mapped("hello.so"));

  {
    const LoadedBlob blob(std::move(backend), std::string_view("\x01\0\0\0", 4));
    REQUIRE(blob.init().ok());
    CHECK(backend == nullptr);
    CHECK(is_mapped("hello.so"));
  }
  CHECK(unloaded("hello.so"));
}

TEST_CASE("a plugin that was only looked at is unloaded too", "[loader]") {
  load(hello).reset();
  CHECK(unloaded("hello.so"));
}

TEST_CASE("two holders of one file share the library and it stays until both are destroyed",
          "[loader]") {
  std::shared_ptr<Plugin> first = load(hello);
  std::shared_ptr<Plugin> second = load(hello);
  CHECK(first->backend("Add")->get() != second->backend("Add")->get());
  first.reset();
  CHECK(is_mapped("hello.so"));
  second.reset();
  CHECK(unloaded("hello.so"));
}

TEST_CASE("a method keeps its plugin loaded and lets it go", "[loader]") {
  const LoadWatch demo_backend_watch("demo_backend.so");
  REQUIRE(unloaded("demo_backend.so"));
  auto program = Program::open(program_path);
  REQUIRE(program.ok());
  BackendRegistry registry;
  REQUIRE(registry.register_backend(demo).ok());
  CHECK_FALSE(demo_backend_watch.is_loaded());

  MethodOptions options;
  options.registry = &registry;
  auto method = Method::load(*program, "forward", options);
  REQUIRE(method.ok());
  CHECK(is_mapped("demo_backend.so"));
  auto second = Method::load(*program, "forward", options);
  REQUIRE(second.ok());
  method->reset();
  CHECK(is_mapped("demo_backend.so"));

  const std::vector<float> input(4, 0.5f);
  REQUIRE((*second)
              ->set_input(0, InputTensor{ScalarType::Float, std::vector<std::int64_t>{1, 4},
                                         std::as_bytes(std::span(input))})
              .ok());
  CHECK((*second)->execute().ok());
  second->reset();
  CHECK(unloaded("demo_backend.so"));

  // The registry knows it still and loads it again.
  CHECK(registry.lookup_backend(demo_id).ok());
  CHECK(unloaded("demo_backend.so"));
  const auto held = registry.lookup_backend(demo_id);
  CHECK(is_mapped("demo_backend.so"));
}

TEST_CASE("a method that cannot be loaded holds no plugin", "[loader]") {
  auto program = Program::open(program_path);
  REQUIRE(program.ok());
  BackendRegistry registry;
  REQUIRE(registry.register_backend(demo).ok());
  MethodOptions options;
  options.registry = &registry;
  options.backend_options.push_back({std::string(demo_id), "no such option", std::int64_t{1}});
  const auto method = Method::load(*program, "forward", options);
  CHECK_FALSE(method.ok());
  CHECK(unloaded("demo_backend.so"));
}

TEST_CASE("a thousand loads of a plugin leave mappings, descriptors and memory as they were",
          "[loader]") {
  const auto load_and_run = [] {
    const auto plugin = Plugin::load(hello, all_layers());
    const auto backend = (*plugin)->backend("Add");
    const LoadedBlob blob(*backend, std::string_view("\x01\0\0\0", 4));
    return blob.init().ok() && (*plugin)->backend("none").error() == Error::NotFound &&
           Plugin::load(hello + ".not", all_layers()).error() == Error::NotFound;
  };
  int good = 0;
  for (int i = 0; i < 20; ++i) good += load_and_run();
  const Footprint before = Footprint::now();
  for (int i = 20; i < 1000; ++i) good += load_and_run();
  const Footprint after = Footprint::now();
  CHECK(good == 1000);
  CHECK(unloaded("hello.so"));
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.heap_bytes <= before.heap_bytes + 1024);
}

TEST_CASE("loads, runs and unloads from four threads leave nothing behind", "[loader][threads]") {
  // Each thread has a file of its own, so that every round really loads and unloads; one file is
  // shared by all, so that they also meet.
  const TemporaryDirectory directory;
  BackendRegistry registry;
  REQUIRE(registry.register_backend(demo).ok());
  for (int t = 0; t < 4; ++t) {
    std::filesystem::copy_file(hello, directory / concat("copy", t, ".so"));
    REQUIRE(
        registry.register_backend(directory / concat("copy", t, ".so"), {.name = concat(t)}).ok());
  }
  std::atomic<int> good = 0;
  const auto load_and_run = [&](const std::string& id) {
    const auto shared = registry.lookup_backend(demo_id);
    const auto backend = registry.lookup_backend(id);
    if (!shared.ok() || !backend.ok()) return;
    LoadedBlob blob(*backend, std::string_view("\x01\0\0\0", 4));
    TestTensor a({2}, {1.0f, 2.0f});
    TestTensor b({2}, {0.5f, 0.25f});
    TestTensor out(ScalarType::Float, {2});
    const TestArgs args({a.value(), b.value(), out.value()});
    good += blob.init().ok() && blob.execute(args.data(), args.size()).ok() &&
            out.elements<float>() == std::vector{1.5f, 2.25f};
  };
  const auto run_four = [&](int times) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, times, id = concat(t)] {
        for (int i = 0; i < times; ++i) load_and_run(id);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  run_four(25);
  const Footprint before = Footprint::now();
  constexpr int times = rounds(2500);
  run_four(times);
  const Footprint after = Footprint::now();
  CHECK(good == 4 * (25 + times));
  for (int t = 0; t < 4; ++t) CHECK(unloaded(concat("copy", t, ".so")));
  CHECK(unloaded("demo_backend.so"));
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
  // What threads leave in the allocator's own books is not the registry's: up to 4.5 KiB with glibc
  // 2.41. It is less than a byte for each load.
  CHECK(after.heap_bytes <= before.heap_bytes + 8192);
  for (const BackendInfo& info : registry.enumerate_backends()) {
    CHECK(info.state == BackendState::known);
    CHECK(info.num_users == 0);
  }
}

}  // namespace unload_test
