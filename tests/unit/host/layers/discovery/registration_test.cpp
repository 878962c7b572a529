// SPDX-License-Identifier: MIT
//
// What an application registers itself. Tags like [S4.8] are rows of TorchDynamo's registry
// (torch/_dynamo/backends/registry.py), as docs/executorch/porting.md lists them.
#include <tenon/abi/static_plugin.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

TENON_DECLARE_STATIC_PLUGIN(Add);

namespace registration_test {
namespace {

using Ids = std::vector<std::string>;
const std::string hello = TENON_TEST_HELLO;

std::string zoo(std::string_view name) { return concat(TENON_TEST_ZOO "/", name, ".so"); }

std::shared_ptr<const LoadedBackend> open_add() {
  return *(*Plugin::load(hello, all_layers()))->backend("Add");
}

BackendState state_of(const BackendRegistry& registry, std::string_view file) {
  for (const BackendInfo& info : registry.enumerate_backends()) {
    if (info.source->path.filename() == file) return info.state;
  }
  return BackendState::refused;
}

}  // namespace

TEST_CASE("an object is registered under its own id and holds its plugin",
          "[loader][S4.6][S4.8][S4.11]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(open_add()).ok());
  CHECK(is_mapped("hello.so"));
  const auto found = registry.lookup_backend("Add");
  REQUIRE(found.ok());
  CHECK((*found)->id() == "Add");
  CHECK(registry.enumerate_backends().at(0).state == BackendState::loaded);
  CHECK(registry.enumerate_backends().at(0).source->origin() == "an object of the application");
}

TEST_CASE("a name given at registration is what the backend is looked up by", "[loader][S4.8]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(open_add(), {.name = "Sum"}).ok());
  REQUIRE(registry.register_backend(zoo("variant_base"), {.name = "Other"}).ok());
  CHECK(registry.list_backends() == Ids{"Other", "Sum"});
  CHECK((*registry.lookup_backend("Sum"))->id() == "Add");
  CHECK((*registry.lookup_backend("Other"))->id() == "VariantBackend");
  CHECK(registry.lookup_backend("Add").error() == Error::NotFound);

  const Status two = registry.register_backend(zoo("two_backends"), {.name = "Two"});
  CHECK(two.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(two.text()), ContainsSubstring("2 backends cannot be named 'Two'"));
}

TEST_CASE("registration without a backend returns a function that registers one",
          "[loader][S4.6]") {
  BackendRegistry registry;
  const auto as_sum = registry.register_backend({.name = "Sum", .tags = {"experimental"}});
  CHECK(registry.enumerate_backends().empty());
  REQUIRE(as_sum(std::filesystem::path(hello)).ok());
  CHECK(registry.list_backends({}) == Ids{"Sum"});
  CHECK(registry.list_backends().empty());
  CHECK((*registry.lookup_backend("Sum"))->id() == "Add");
  // Every call has the name: a second backend is a duplicate.
  CHECK(as_sum(open_add()).error() == Error::RegistrationAlreadyRegistered);

  // What it is called with may be anything that can be registered.
  const auto make = []() -> Result<std::shared_ptr<const LoadedBackend>> { return open_add(); };
  CHECK(registry.register_backend({.name = "Object"})(open_add()).ok());
  CHECK(registry.register_backend({.name = "Made"})(BackendFactory(make)).ok());
  CHECK(registry.register_backend({.name = "Linked"})(tenon_static_plugin_Add).ok());
  CHECK(registry.register_backend({.name = "File"})(hello).ok());
  CHECK(registry.list_backends() == Ids{"File", "Linked", "Made", "Object"});
  for (const std::string& id : registry.list_backends()) {
    CHECK((*registry.lookup_backend(id))->id() == "Add");
  }
  // The direct form has the same errors.
  CHECK(registry.register_backend(Registration{})(BackendFactory(make)).error() ==
        Error::InvalidArgument);
  CHECK(registry.register_backend({.name = "Two"})(zoo("two_backends")).error() ==
        Error::InvalidArgument);
}

TEST_CASE("a factory is called at the first look-up, once, and again after its last user",
          "[loader][S4.6][S4.16]") {
  BackendRegistry registry;
  int calls = 0;
  const auto make = [&]() -> Result<std::shared_ptr<const LoadedBackend>> {
    ++calls;
    return open_add();
  };
  REQUIRE(registry.register_backend(BackendFactory(make), {.name = "Made"}).ok());
  CHECK(registry.list_backends() == Ids{"Made"});
  CHECK(calls == 0);
  {
    const auto first = registry.lookup_backend("Made");
    const auto second = registry.lookup_backend("Made");
    REQUIRE(first.ok());
    CHECK(first->get() == second->get());
    CHECK(calls == 1);
  }
  CHECK(unloaded("hello.so"));
  CHECK(registry.lookup_backend("Made").ok());
  CHECK(calls == 2);
}

TEST_CASE("a factory that fails, throws or returns null is an error of the look-up",
          "[loader][S4.7][S4.17]") {
  BackendRegistry registry;
  REQUIRE(
      registry
          .register_backend(BackendFactory([]() -> Result<std::shared_ptr<const LoadedBackend>> {
                              return error(Error::AccessFailed, "no licence");
                            }),
                            {.name = "Fails"})
          .ok());
  REQUIRE(
      registry
          .register_backend(BackendFactory([]() -> Result<std::shared_ptr<const LoadedBackend>> {
                              throw std::runtime_error("out of luck");
                            }),
                            {.name = "Throws"})
          .ok());
  REQUIRE(
      registry
          .register_backend(BackendFactory([]() -> Result<std::shared_ptr<const LoadedBackend>> {
                              return std::shared_ptr<const LoadedBackend>();
                            }),
                            {.name = "Null"})
          .ok());
  CHECK(registry.lookup_backend("Fails").text() == "no licence");
  CHECK(registry.lookup_backend("Throws").error() == Error::Internal);
  CHECK(registry.lookup_backend("Throws").text() ==
        "the factory of backend 'Throws' threw: out of luck");
  CHECK(registry.lookup_backend("Null").text() ==
        "the factory of backend 'Null' returned null, expected a backend");
}

TEST_CASE("what is no backend is refused at registration", "[loader][S4.7]") {
  BackendRegistry registry;
  const std::string too_long(TENON_ID_SIZE, 'x');
  CHECK(registry.register_backend(std::shared_ptr<const LoadedBackend>()).error() ==
        Error::InvalidArgument);
  CHECK(registry.register_backend(BackendFactory(), {.name = "F"}).error() ==
        Error::InvalidArgument);
  CHECK(registry.register_backend(static_cast<const tenon_plugin_head*>(nullptr)).error() ==
        Error::InvalidArgument);
  const BackendFactory make = [] {
    return Result<std::shared_ptr<const LoadedBackend>>(open_add());
  };
  CHECK(registry.register_backend(make, {}).error() == Error::InvalidArgument);
  CHECK(registry.register_backend(make, {.name = too_long}).error() == Error::InvalidArgument);
  CHECK(registry.register_backend(make, {.name = "a\nb"}).error() == Error::InvalidArgument);
  CHECK(registry.register_backend(make, {.name = std::string("a\0b", 3)}).error() ==
        Error::InvalidArgument);
  CHECK(registry.list_backends({}).empty());
}

TEST_CASE("a duplicate is an error that names both origins and changes nothing", "[loader][S4.9]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  const Status object = registry.register_backend(open_add());
  CHECK(object.error() == Error::RegistrationAlreadyRegistered);
  CHECK(object.text() ==
        "backend 'Add' of an object of the application is registered already, by " + hello);
  const Status linked = registry.register_backend(tenon_static_plugin_Add);
  CHECK(linked.text() == "backend 'Add' of static plugin Add is registered already, by " + hello);
  CHECK(registry.enumerate_backends().size() == 1);
}

TEST_CASE("debug and experimental backends are listed only when asked for",
          "[loader][S4.12][S4.13][S4.19]") {
  const LoadWatch talkative_watch("talkative.so");
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  REQUIRE(registry.register_debug_backend(zoo("variant_base")).ok());
  REQUIRE(registry.register_experimental_backend(zoo("talkative"), {.tags = {"npu"}}).ok());
  REQUIRE(registry.register_backend(zoo("tagged_debug")).ok());
  CHECK(registry.list_backends() == Ids{"Add"});
  CHECK(registry.list_backends({}) ==
        Ids{"Add", "DebugBackend", "TalkativeBackend", "VariantBackend"});
  CHECK(registry.list_backends({"npu"}) == Ids{"Add", "DebugBackend", "VariantBackend"});
  CHECK(registry.list_backends({"cpu", "experimental"}) == Ids{"Add", "VariantBackend"});
  CHECK_FALSE(talkative_watch.is_loaded());
  // Left out of a list is not out of reach.
  CHECK(registry.lookup_backend("DebugBackend").ok());
}

TEST_CASE("a backend that is at hand passes through a look-up", "[loader][S4.14][S4.23]") {
  const auto object = open_add();
  const auto found = BackendRegistry::lookup_backend(object);
  REQUIRE(found.ok());
  CHECK(found->get() == object.get());
  const auto again = BackendRegistry::lookup_backend(*found);
  CHECK(again->get() == object.get());
  CHECK(BackendRegistry::lookup_backend(BackendRef()).error() == Error::InvalidArgument);
  CHECK(BackendRegistry::lookup_backend(std::shared_ptr<const LoadedBackend>()).error() ==
        Error::InvalidArgument);
}

TEST_CASE("a reference without a registry keeps its plugin loaded until its last copy is destroyed",
          "[loader][S4.14]") {
  BackendRef first(open_add());
  BackendRef second = first;
  first = BackendRef();
  CHECK(is_mapped("hello.so"));
  CHECK(second->is_available().ok());
  second = BackendRef();
  CHECK(unloaded("hello.so"));
}

TEST_CASE("an unregistered backend is not found, and may be registered again", "[loader]") {
  BackendRegistry registry;
  for (int round = 0; round < 3; ++round) {
    REQUIRE(registry.register_backend(zoo("two_backends")).ok());
    REQUIRE(registry.unregister_backend("LockedBackend").ok());
    CHECK(registry.list_backends() == Ids{"WorksBackend"});
    CHECK(registry.lookup_backend("LockedBackend").error() == Error::NotFound);
    CHECK(registry.lookup_backend("WorksBackend").ok());
    REQUIRE(registry.unregister_backend("WorksBackend").ok());
    CHECK(registry.list_backends().empty());
    CHECK(registry.enumerate_backends().empty());
  }
  CHECK(registry.unregister_backend("WorksBackend").error() == Error::NotFound);
  CHECK(registry.unregister_backend("Never").error() == Error::NotFound);
  CHECK(unloaded("two_backends.so"));
}

TEST_CASE("a backend in use cannot be unregistered", "[loader]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(hello).ok());
  auto first = registry.lookup_backend("Add");
  auto second = registry.lookup_backend("Add");
  const Status refused = registry.unregister_backend("Add");
  CHECK(refused.error() == Error::InvalidState);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("in use, 2 times"));
  CHECK(registry.enumerate_backends().at(0).num_users == 2);
  *first = BackendRef();
  *second = BackendRef();
  CHECK(registry.unregister_backend("Add").ok());
}

TEST_CASE("an unregistered object unloads its plugin", "[loader]") {
  BackendRegistry registry;
  REQUIRE(registry.register_backend(open_add()).ok());
  CHECK(is_mapped("hello.so"));
  REQUIRE(registry.unregister_backend("Add").ok());
  CHECK(unloaded("hello.so"));
}

TEST_CASE("of several plugins for one id the one that fits this CPU best is taken", "[loader]") {
  const CpuFeatures plain({});
  const CpuFeatures fast({"zoo_fast"});
  const CpuFeatures fastest({"zoo_fast", "zoo_wide"});
  const auto taken = [](const CpuFeatures& cpu) {
    BackendRegistry registry({}, &cpu);
    REQUIRE(registry.register_backend(zoo("variant_fast")).ok());
    REQUIRE(registry.register_backend(zoo("variant_base")).ok());
    REQUIRE(registry.register_backend(zoo("variant_fastest")).ok());
    const auto backend = registry.lookup_backend("VariantBackend");
    REQUIRE(backend.ok());
    std::string file;
    for (const BackendInfo& info : registry.enumerate_backends()) {
      if (info.state == BackendState::loaded) file += info.source->path.filename();
    }
    CHECK(is_mapped(file));
    return file;
  };
  CHECK(taken(plain) == "variant_base.so");
  CHECK(taken(fast) == "variant_fast.so");
  CHECK(taken(fastest) == "variant_fastest.so");
}

TEST_CASE("a priority takes precedence over the CPU features of a plugin", "[loader]") {
  const CpuFeatures fast({"zoo_fast"});
  BackendRegistry registry({}, &fast);
  REQUIRE(registry.register_backend(zoo("variant_fast")).ok());
  REQUIRE(registry.register_backend(zoo("variant_preferred")).ok());
  REQUIRE(registry.register_backend(zoo("variant_fastest")).ok());
  CHECK(state_of(registry, "variant_preferred.so") == BackendState::known);
  CHECK(state_of(registry, "variant_fast.so") == BackendState::shadowed);
  CHECK(state_of(registry, "variant_fastest.so") == BackendState::unsupported);
}

TEST_CASE("a second file of one id is refused, whichever has the higher priority",
          "[loader][S4.9]") {
  const auto check = [](std::string_view first, std::string_view second) {
    INFO(first);
    BackendRegistry registry;
    REQUIRE(registry.register_backend(zoo(first)).ok());
    const Status refused = registry.register_backend(zoo(second));
    CHECK(refused.error() == Error::RegistrationAlreadyRegistered);
    CHECK(refused.text() == concat("backend 'VariantBackend' of ", zoo(second),
                                   " is registered already, by ", zoo(first)));
    REQUIRE(registry.enumerate_backends().size() == 1);
    const auto backend = registry.lookup_backend("VariantBackend");
    REQUIRE(backend.ok());
    CHECK(is_mapped(concat(first, ".so")));
    CHECK(unloaded(concat(second, ".so")));
  };
  check("variant_base", "variant_preferred");
  check("variant_preferred", "variant_base");
  check("variant_base", "variant_twin");
}

TEST_CASE("a registered backend in use is not replaced by a better variant", "[loader][S4.9]") {
  const CpuFeatures fast({"zoo_fast"});
  BackendRegistry registry({}, &fast);
  REQUIRE(registry.register_backend(zoo("variant_base")).ok());
  auto held = registry.lookup_backend("VariantBackend");
  REQUIRE(held.ok());
  const Status refused = registry.register_backend(zoo("variant_fast"));
  CHECK(refused.error() == Error::InvalidState);
  CHECK(refused.text() == concat("backend 'VariantBackend' of ", zoo("variant_fast"),
                                 " cannot be registered while the backend of ", zoo("variant_base"),
                                 " is in use, 1 times; release it first"));
  *held = BackendRef();
  CHECK(registry.register_backend(zoo("variant_fast")).ok());
  // A backend that no look-up would choose may be added at any time.
  held = registry.lookup_backend("VariantBackend");
  REQUIRE(is_mapped("variant_fast.so"));
  CHECK(registry.register_backend(zoo("variant_fastest")).ok());
}

TEST_CASE("a backend that this CPU cannot run is not found, with what it lacks", "[loader]") {
  const CpuFeatures plain({"zoo_wide"});
  BackendRegistry registry({}, &plain);
  REQUIRE(registry.register_backend(zoo("variant_fastest")).ok());
  CHECK(registry.list_backends().empty());
  CHECK_FALSE(registry.contains("VariantBackend"));
  const auto refused = registry.lookup_backend("VariantBackend");
  CHECK(refused.error() == Error::NotFound);
  CHECK(refused.text() ==
        "backend 'VariantBackend' is known but cannot be used (InvalidBackend)\n"
        "  unsupported: " +
            zoo("variant_fastest") +
            ": backend 'VariantBackend' needs CPU features that this CPU lacks: zoo_fast\n"
            "  registered are: none");
}

}  // namespace registration_test
