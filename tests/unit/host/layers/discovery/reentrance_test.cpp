// SPDX-License-Identifier: MIT
//
// Foreign code that a registry calls: it throws, and it calls the registry.
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/sanitizer.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "unit/host/layers/discovery/registry_support.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace reentrance_test {
namespace {

using Ids = std::vector<std::string>;
using Backend = std::shared_ptr<const LoadedBackend>;

std::string zoo(std::string_view name) { return concat(TENON_TEST_ZOO "/", name, ".so"); }

/// A host whose log callback uses its registry.
struct LoggingHost {
  explicit LoggingHost(std::function<void(const BackendRegistry&)> on_log)
      : use(std::move(on_log)) {}

  std::function<void(const BackendRegistry&)> use;
  HostInfo info{.log = [this](std::int32_t, std::string_view, std::string_view) { use(registry); }};
  BackendRegistry registry{info};
};

/// The result of a search of the zoo's file `name`.
SearchReport found(std::string_view name) {
  DiscoveryOptions options;
  options.installed = "";
  options.variable = [](const char*) { return std::optional<std::string>(); };
  options.paths = {zoo(name)};
  return discover(options);
}

Result<Backend> open_variant() {
  TENON_TRY(const auto plugin, Plugin::load(zoo("variant_base"), all_layers()));
  return plugin->backend("VariantBackend");
}

}  // namespace

TEST_CASE("a search that runs out of memory loses no search and runs again", "[discovery]") {
  BackendRegistry registry;
  int first = 0, second = 0;
  registry.add_search([&] {
    if (++first == 1) throw std::bad_alloc();
    return found("two_backends");
  });
  registry.add_search([&] {
    ++second;
    return found("variant_base");
  });
  CHECK_THROWS_AS(registry.list_backends(), std::bad_alloc);
  CHECK(registry.list_backends() == Ids{"LockedBackend", "VariantBackend", "WorksBackend"});
  CHECK(registry.search_paths().size() == 2);
  CHECK(first == 2);
  CHECK(second == 1);
}

TEST_CASE("a search that throws is reported, runs again, and does not hide the others",
          "[discovery]") {
  BackendRegistry registry;
  int first = 0, second = 0;
  registry.add_search([&]() -> SearchReport {
    if (++first == 1) throw std::runtime_error("the network is down");
    if (first == 2) throw 17;
    return found("two_backends");
  });
  registry.add_search([&] {
    ++second;
    return found("variant_base");
  });
  const Status missed = registry.lookup_backend("WorksBackend").status();
  CHECK(missed.error() == Error::NotFound);
  CHECK_THAT(std::string(missed.text()),
             ContainsSubstring("searched application: the search threw: the network is down"));
  CHECK(first == 1);

  const auto paths = registry.search_paths();
  CHECK(first == 2);
  REQUIRE(paths.size() == 2);
  CHECK(paths[0].num_sources == 1);
  CHECK(paths[1].error == Error::Internal);
  CHECK(paths[1].reason == "the search threw an exception not derived from std::exception");

  CHECK(registry.list_backends() == Ids{"LockedBackend", "VariantBackend", "WorksBackend"});
  CHECK(registry.search_paths().size() == 2);
  CHECK(registry.search_paths()[1].error == Error::Ok);
  CHECK(first == 3);
  CHECK(second == 1);
}

#if !defined(TENON_TEST_HAS_THREAD_SANITIZER)

TEST_CASE("whichever allocation of a search fails, the next list finds everything once",
          "[discovery]") {
  std::uint64_t number = 0;
  for (bool failed = true; failed; ++number) {
    BackendRegistry registry;
    registry.add_search([] { return found("two_backends"); });
    registry.add_search([] { return found("bad_magic"); });
    try {
      const FailingAllocation failing(number);
      static_cast<void>(registry.list_backends());
      failed = failing.happened();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    REQUIRE(registry.list_backends() == Ids{"LockedBackend", "WorksBackend"});
    REQUIRE(registry.enumerate_backends().size() == 3);
    REQUIRE(registry.search_paths().size() == 2);
    REQUIRE(registry.search_paths()[0].error == Error::Ok);
  }
  CHECK(number > 20);
}

TEST_CASE("whichever allocation of a registration fails, it may be repeated", "[loader]") {
  std::uint64_t number = 0;
  for (bool failed = true; failed; ++number) {
    BackendRegistry registry;
    Status registered;
    try {
      const FailingAllocation failing(number);
      registered = registry.register_backend(BackendFactory(&open_variant), {.name = "Made"});
      failed = failing.happened();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!failed) break;
    REQUIRE(registered.ok());
    REQUIRE(registry.register_backend(BackendFactory(&open_variant), {.name = "Made"}).ok());
    REQUIRE(registry.enumerate_backends().size() == 1);
  }
  CHECK(number > 2);
}

#endif

TEST_CASE("a search may use the registry and sees what is known without it", "[discovery]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(BackendFactory(&open_variant), {.name = "Made"}).ok());
  Ids listed;
  bool contained = true;
  Status missed, opened, forgotten;
  registry.add_search([&] {
    listed = registry.list_backends();
    contained = registry.contains("WorksBackend");
    missed = registry.lookup_backend("WorksBackend").status();
    opened = registry.lookup_backend("Made").status();
    forgotten = registry.unregister_backend("Nobody");
    registry.add_search([] { return found("tagged_debug"); });
    return found("two_backends");
  });
  CHECK(registry.list_backends({}) == Ids{"DebugBackend", "LockedBackend", "Made", "WorksBackend"});
  CHECK(listed == Ids{"Made"});
  CHECK_FALSE(contained);
  CHECK(missed.error() == Error::NotFound);
  CHECK(opened.ok());
  CHECK(forgotten.error() == Error::NotFound);
}

TEST_CASE("a log that looks up a backend while a search is reported gets an answer",
          "[discovery]") {
  std::vector<Status> answers;
  LoggingHost host([&](const BackendRegistry& used) {
    answers.push_back(used.lookup_backend("Nobody").status());
    answers.push_back(used.lookup_backend("WorksBackend").status());
  });
  BackendRegistry& registry = host.registry;
  registry.add_search([] { return found("bad_magic"); });
  registry.add_search([] { return found("two_backends"); });
  CHECK(registry.lookup_backend("Missing").error() == Error::NotFound);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].error() == Error::NotFound);
  CHECK(answers[1].ok());
}

TEST_CASE("a log that looks up the backend that is being opened is refused, others are opened",
          "[discovery]") {
  std::vector<Status> answers;
  LoggingHost host([&](const BackendRegistry& used) {
    if (answers.size() >= 3) return;
    answers.push_back(used.lookup_backend("TalkativeBackend").status());
    answers.push_back(used.lookup_backend("VariantBackend").status());
    answers.push_back(used.lookup_backend("Nobody").status());
  });
  BackendRegistry& registry = host.registry;
  registry.add_search([] { return found("talkative"); });
  registry.add_search([] { return found("variant_base"); });
  CHECK(registry.lookup_backend("TalkativeBackend").ok());
  REQUIRE(answers.size() >= 3);
  CHECK(answers[0].error() == Error::InvalidState);
  CHECK(answers[0].text() ==
        "backend 'TalkativeBackend' is looked up by what loads it, which would wait for itself");
  CHECK(answers[1].ok());
  CHECK(answers[2].error() == Error::NotFound);
}

TEST_CASE("a plugin's log that looks up another backend of that plugin is refused by name",
          "[discovery]") {
  std::optional<Status> answer;
  LoggingHost host([&](const BackendRegistry& used) {
    if (!answer) answer = used.lookup_backend("Twin").status();
  });
  BackendRegistry& registry = host.registry;
  const auto plugin = Plugin::load(zoo("talkative"), all_layers(host.info));
  REQUIRE(plugin.ok());
  // Two ids of one plugin, as a plugin with several backends has them.
  const auto open = [&] { return (*plugin)->backend("TalkativeBackend"); };
  REQUIRE(registry.register_backend(BackendFactory(open), {.name = "One"}).ok());
  REQUIRE(registry.register_backend(BackendFactory(open), {.name = "Twin"}).ok());
  CHECK(registry.lookup_backend("One").ok());
  REQUIRE(answer);
  CHECK(answer->error() == Error::InvalidState);
  CHECK_THAT(std::string(answer->text()),
             ContainsSubstring(zoo("talkative")) && ContainsSubstring("TalkativeBackend"));
  CHECK(registry.lookup_backend("Twin").ok());
}

TEST_CASE("whatever a factory throws is an error of the look-up, and it is called again",
          "[loader]") {
  BackendRegistry registry;
  int calls = 0;
  const auto make = [&]() -> Result<Backend> {
    ++calls;
    if (calls == 1) throw 17;
    if (calls == 2) throw std::bad_alloc();
    if (calls == 3) throw std::runtime_error("no device");
    return open_variant();
  };
  REQUIRE(registry.register_backend(BackendFactory(make), {.name = "Made"}).ok());
  const Status number = registry.lookup_backend("Made").status();
  CHECK(number.error() == Error::Internal);
  CHECK(number.text() ==
        "the factory of backend 'Made' threw an exception not derived from std::exception");
  const Status memory = registry.lookup_backend("Made").status();
  CHECK(memory.error() == Error::MemoryAllocationFailed);
  CHECK(memory.text() == "the factory of backend 'Made' ran out of memory");
  CHECK(registry.lookup_backend("Made").error() == Error::Internal);
  CHECK(registry.lookup_backend("Made").ok());
}

#if !defined(_WIN32)
TEST_CASE("a fork made while a thread loads a backend is refused it, and does not wait for ever",
          "[loader]") {
  BackendRegistry registry;
  std::promise<void> started, forked;
  const auto make = [&]() -> Result<Backend> {
    started.set_value();
    forked.get_future().wait();
    return open_variant();
  };
  REQUIRE(registry.register_backend(BackendFactory(make), {.name = "Made"}).ok());
  std::thread loading([&] { static_cast<void>(registry.lookup_backend("Made")); });
  started.get_future().wait();
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const Status refused = registry.lookup_backend("Made").status();
    const bool good = refused.error() == Error::InvalidState &&
                      refused.text() ==
                          "backend 'Made' is looked up by what loads it in a thread that this "
                          "process, a fork, does not have";
    ::_exit(good ? 0 : 1);
  }
  forked.set_value();
  loading.join();
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
#endif

TEST_CASE("a factory that uses its own id is refused by name and may go on", "[loader]") {
  BackendRegistry registry;
  Status again, forgotten;
  const auto make = [&]() -> Result<Backend> {
    again = registry.lookup_backend("Made").status();
    forgotten = registry.unregister_backend("Made");
    return open_variant();
  };
  REQUIRE(registry.register_backend(BackendFactory(make), {.name = "Made"}).ok());
  CHECK(registry.lookup_backend("Made").ok());
  CHECK(again.error() == Error::InvalidState);
  CHECK(again.text() ==
        "backend 'Made' is looked up by what loads it, which would wait for itself");
  CHECK(forgotten.error() == Error::InvalidState);
  CHECK(forgotten.text() == "backend 'Made' is unregistered by what loads it");
  CHECK(registry.unregister_backend("Made").ok());
}

TEST_CASE("two threads whose factories want each other's backend do not wait forever",
          "[loader][threads]") {
  for (int round = 0; round < 50; ++round) {
    BackendRegistry registry;
    std::atomic<int> refused = 0;
    const auto wants = [&](std::string_view id) {
      return [&, id]() -> Result<Backend> {
        if (registry.lookup_backend(id).error() == Error::InvalidState) ++refused;
        return open_variant();
      };
    };
    REQUIRE(registry.register_backend(BackendFactory(wants("B")), {.name = "A"}).ok());
    REQUIRE(registry.register_backend(BackendFactory(wants("A")), {.name = "B"}).ok());
    // Both factories run once: the first that is called wants the other, which is refused.
    std::atomic<int> ready = 0;
    std::atomic<int> opened = 0;
    const auto look_up = [&](std::string_view id) {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      const auto backend = registry.lookup_backend(id);
      if (backend.ok()) ++opened;
    };
    std::thread other(look_up, "A");
    look_up("B");
    other.join();
    CHECK(opened == 2);
    CHECK(refused >= 1);
  }
}

}  // namespace reentrance_test
