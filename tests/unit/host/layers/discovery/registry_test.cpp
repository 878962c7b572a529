// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <tenon/abi/static_plugin.h>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "unit/core/test_tensor.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

// hello.cpp, compiled with -DTENON_STATIC_PLUGIN into a library that is linked as any other.
TENON_DECLARE_STATIC_PLUGIN(Add);

namespace registry_test {
namespace {

const std::string hello = TENON_TEST_HELLO;

std::string zoo(std::string_view name) { return concat(TENON_TEST_ZOO "/", name, ".so"); }

}  // namespace

TEST_CASE("what a registry knows is listed in order and nothing is loaded",
          "[loader][S4.4][S4.5]") {
  const LoadWatch hello_watch("hello.so");
  const LoadWatch talkative_watch("talkative.so");
  BackendRegistry registry;
  CHECK(registry.list_backends().empty());
  REQUIRE(registry.register_backend(zoo("two_backends")).ok());
  REQUIRE(registry.register_backend(hello).ok());
  REQUIRE(registry.register_backend(zoo("talkative")).ok());
  CHECK(registry.list_backends() ==
        std::vector<std::string>{"Add", "LockedBackend", "TalkativeBackend", "WorksBackend"});
  CHECK(registry.contains("Add"));
  CHECK_FALSE(registry.contains("add"));
  CHECK_FALSE(registry.contains(""));
  CHECK_FALSE(hello_watch.is_loaded());
  CHECK_FALSE(talkative_watch.is_loaded());
}

TEST_CASE("a search may open its sources by a function of its own, and needs one", "[loader]") {
  const std::shared_ptr<const LoadedBackend> add =
      *(*Plugin::load(hello, all_layers()))->backend("Add");
  std::size_t opened = 0;
  BackendRegistry registry;
  registry.add_search([&] {
    auto own = std::make_shared<PluginSource>();
    own->backends.emplace_back().id = "Own";
    own->opener = [&](const PluginSource& source, std::size_t index,
                      const HostInfo&) -> Result<std::shared_ptr<const LoadedBackend>> {
      CHECK(source.backends[index].id == "Own");
      ++opened;
      return add;
    };
    auto without = std::make_shared<PluginSource>();
    without->backends.emplace_back().id = "Without";
    without->description = "a source of this test";
    return SearchReport{.search_paths = {}, .sources = {own, without}};
  });
  CHECK(registry.list_backends() == std::vector<std::string>{"Own", "Without"});
  CHECK(opened == 0);
  CHECK(registry.lookup_backend("Own")->get() == add.get());
  CHECK(opened == 1);
  CHECK(describe(registry.lookup_backend("Without").status()) ==
        "InvalidState (0x2): a source of this test: the source has no opener");
}

TEST_CASE("a plugin that would end the process when loaded can be listed", "[loader][TN-BIN-2]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(zoo("static_constructor")).ok());
  CHECK(registry.list_backends() == std::vector<std::string>{"ZooBackend"});
}

TEST_CASE("a backend is loaded at its first look-up and found again", "[loader][S4.18]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  const auto first = registry.lookup_backend("Add");
  REQUIRE(first.ok());
  CHECK(is_mapped("hello.so"));
  const auto second = registry.lookup_backend("Add");
  REQUIRE(second.ok());
  CHECK(first->get() == second->get());
}

TEST_CASE("an unknown id is NotFound with the ids that are known", "[loader]") {
  const LoadWatch hello_watch("hello.so");
  BackendRegistry registry;
  const auto none = registry.lookup_backend("Add");
  CHECK(none.error() == Error::NotFound);
  CHECK(none.text() == "backend 'Add' is not registered (InvalidBackend)\n  registered are: none");

  REQUIRE(registry.register_backend(zoo("two_backends")).ok());
  REQUIRE(registry.register_backend(hello).ok());
  const auto unknown = registry.lookup_backend("Added");
  CHECK(unknown.error() == Error::NotFound);
  CHECK(unknown.text() ==
        "backend 'Added' is not registered (InvalidBackend); did you mean Add?\n"
        "  registered are: Add, LockedBackend, WorksBackend");
  CHECK_FALSE(hello_watch.is_loaded());
}

TEST_CASE("an id that is known already is refused with both origins", "[loader]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  const Status again = registry.register_backend(hello);
  CHECK(again.error() == Error::RegistrationAlreadyRegistered);

  const Status linked = registry.register_backend(tenon_static_plugin_Add);
  CHECK(linked.error() == Error::RegistrationAlreadyRegistered);
  CHECK_THAT(std::string(linked.text()), ContainsSubstring("'Add'") && ContainsSubstring(hello) &&
                                             ContainsSubstring("static plugin"));

  // Two files with one id: the first keeps it, and nothing of the second is added.
  REQUIRE(registry.register_backend(zoo("newer_minor")).ok());
  const Status other = registry.register_backend(zoo("null_execute"));
  CHECK(other.error() == Error::RegistrationAlreadyRegistered);
  CHECK_THAT(std::string(other.text()), ContainsSubstring("'ZooBackend'") &&
                                            ContainsSubstring("newer_minor.so") &&
                                            ContainsSubstring("null_execute.so"));
  CHECK(registry.list_backends() == std::vector<std::string>{"Add", "ZooBackend"});
  CHECK(registry.lookup_backend("ZooBackend").ok());
}

TEST_CASE("a plugin that cannot be used is refused when it is added", "[loader][TN-NEG-2]") {
  BackendRegistry registry;
  CHECK(registry.register_backend(zoo("no_such_file")).error() == Error::NotFound);
  CHECK(registry.register_backend(zoo("bad_magic")).error() == Error::InvalidArgument);
  const Status major = registry.register_backend(zoo("newer_major"));
  CHECK(major.error() == Error::NotSupported);
  CHECK_THAT(std::string(major.text()), ContainsSubstring("2.3") && ContainsSubstring("1.0"));
  const Status minor = registry.register_backend(zoo("needs_newer_minor"));
  CHECK(minor.error() == Error::NotSupported);
  CHECK_THAT(std::string(minor.text()), ContainsSubstring("1.7") && ContainsSubstring("1.0"));
  CHECK(registry.list_backends().empty());
}

TEST_CASE("a look-up that fails keeps nothing loaded and may be tried again", "[loader]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(zoo("two_backends")).ok());
  REQUIRE(registry.register_backend(zoo("undefined_symbol")).ok());
  for (int i = 0; i < 2; ++i) {
    const auto locked = registry.lookup_backend("LockedBackend");
    CHECK(locked.error() == Error::AccessFailed);
    CHECK_THAT(std::string(locked.text()), ContainsSubstring("no licence"));
    CHECK(unloaded("two_backends.so"));
    CHECK(registry.lookup_backend("ZooBackend").error() == Error::AccessFailed);
  }
  CHECK(registry.lookup_backend("WorksBackend").ok());
}

TEST_CASE("a file that changes between listing and loading is judged again", "[loader]") {
  const std::filesystem::path copy =
      std::filesystem::temp_directory_path() / concat("tenon-loader-test-", ::getpid(), ".so");
  std::filesystem::copy_file(hello, copy);
  BackendRegistry registry;
  REQUIRE(registry.register_backend(copy).ok());
  std::filesystem::remove(copy);
  CHECK(registry.lookup_backend("Add").error() == Error::NotFound);
  std::filesystem::copy_file(zoo("talkative"), copy);
  const auto swapped = registry.lookup_backend("Add");
  CHECK(swapped.error() == Error::InvalidState);
  CHECK_THAT(std::string(swapped.text()), ContainsSubstring("was replaced meanwhile"));
  CHECK(unloaded(copy.filename().native()));
  // Whoever wants the new one registers it.
  REQUIRE(registry.unregister_backend("Add").ok());
  REQUIRE(registry.register_backend(copy).ok());
  CHECK(registry.lookup_backend("TalkativeBackend").ok());
  std::filesystem::remove(copy);
}

TEST_CASE("a relative path still serves when the working directory has changed", "[loader]") {
  const std::filesystem::path before = std::filesystem::current_path();
  BackendRegistry registry;
  REQUIRE(registry.register_backend(std::filesystem::relative(hello)).ok());
  std::filesystem::current_path("/");
  const auto backend = registry.lookup_backend("Add");
  std::filesystem::current_path(before);
  CHECK(backend.ok());
}

TEST_CASE("one plugin that serves two ids is loaded once", "[loader]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(zoo("two_backends")).ok());
  const auto works = registry.lookup_backend("WorksBackend");
  REQUIRE(works.ok());
  // The second fails to open; the first and its library stay.
  CHECK_FALSE(registry.lookup_backend("LockedBackend").ok());
  CHECK(is_mapped("two_backends.so"));
}

TEST_CASE("sixteen threads that look up a backend at once open it once", "[loader][threads]") {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> lines = 0;
    HostInfo info;
    info.log = [&](std::int32_t, std::string_view, std::string_view text) {
      if (text.starts_with("opened")) ++lines;
    };
    BackendRegistry registry(info);
    REQUIRE(registry.register_backend(zoo("talkative")).ok());
    REQUIRE(registry.register_backend(hello).ok());
    std::vector<BackendRef> found(16);
    on_sixteen_threads([&](std::size_t i) {
      if (auto backend = registry.lookup_backend("TalkativeBackend"); backend.ok()) {
        found[i] = *std::move(backend);
      }
      if (!registry.lookup_backend("Add").ok()) found[i] = BackendRef();
    });
    CHECK(lines == 1);
    CHECK(
        std::ranges::all_of(found, [&](const auto& f) { return f && f.get() == found[0].get(); }));
  }
}

TEST_CASE("plugins may be added while others look up, load and let go", "[loader][threads]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!done) {
        wrong += !registry.lookup_backend("Add").ok();
        wrong += registry.lookup_backend("none").ok();
        wrong += registry.list_backends().empty();
      }
    });
  }
  const char* const names[] = {"two_backends", "talkative", "throws", "newer_minor"};
  for (const char* name : names) {
    wrong += !registry.register_backend(zoo(name)).ok();
    std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(registry.list_backends().size() == 6);
  CHECK(unloaded("hello.so"));
}

TEST_CASE("a plugin that is linked in is found by its id and runs", "[loader][S4.2][S4.3]") {
  const LoadWatch hello_watch("hello.so");
  BackendRegistry registry;
  REQUIRE(registry.register_backend(tenon_static_plugin_Add).ok());
  const auto backend = registry.lookup_backend("Add");
  REQUIRE(backend.ok());
  CHECK(std::string_view((*backend)->host()->plugin_path).empty());
  CHECK_FALSE(hello_watch.is_loaded());

  LoadedBlob blob(*backend, std::string_view("\x01\0\0\0", 4));
  REQUIRE(blob.init().ok());
  TestTensor a({2}, {1.0f, 2.0f});
  TestTensor b({2}, {0.5f, 0.25f});
  TestTensor out(ScalarType::Float, {2});
  const TestArgs args({a.value(), b.value(), out.value()});
  REQUIRE(blob.execute(args.data(), args.size()).ok());
  CHECK(out.elements<float>() == std::vector{1.5f, 2.25f});
  CHECK_FALSE(blob.execute(args.data(), 2).ok());
}

TEST_CASE("a reference is copied, moved and compared, and the last one unloads", "[loader]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  BackendRef first = *registry.lookup_backend("Add");
  BackendRef copy = first;
  CHECK(copy == first);
  BackendRef moved = std::move(first);
  CHECK_FALSE(first);
  CHECK(first.get() == nullptr);
  CHECK(moved == copy);
  CHECK(moved->is_available().ok());
  copy = BackendRef();
  CHECK(is_mapped("hello.so"));
  moved = std::move(copy);
  CHECK(unloaded("hello.so"));
}

TEST_CASE("references taken and dropped by many threads never see a closed backend",
          "[loader][threads]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto backend = registry.lookup_backend("Add");
        const BackendRef copy = backend.ok() ? *backend : BackendRef();
        wrong += !copy || copy->id() != "Add" || !copy->is_available().ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(unloaded("hello.so"));
}

}  // namespace registry_test
