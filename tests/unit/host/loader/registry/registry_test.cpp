// SPDX-License-Identifier: MIT
//
// The registry of the loader alone, without searches and lists.
#include "tenon/host/loader/registry/registry.hpp"

#include <tenon/abi/static_plugin.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "support/catch.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

TENON_DECLARE_STATIC_PLUGIN(Add);

namespace loader_registry_test {
namespace {

const std::string hello = TENON_TEST_HELLO;

std::string zoo(std::string_view name) { return concat(TENON_TEST_ZOO "/", name, ".so"); }

}  // namespace

TEST_CASE("the loader's registry loads a plugin at its first look-up, and again when it is free",
          "[loader]") {
  const LoadWatch watch("hello.so");
  Registry registry;
  REQUIRE(registry.register_backend(hello).ok());
  CHECK(registry.contains("Add"));
  CHECK_FALSE(registry.contains("add"));
  CHECK_FALSE(watch.is_loaded());
  {
    const auto first = registry.lookup_backend("Add");
    REQUIRE(first.ok());
    CHECK((*first)->id() == "Add");
    CHECK(is_mapped("hello.so"));
    CHECK(registry.lookup_backend("Add")->get() == first->get());
  }
  CHECK(registry.lookup_backend("Add").ok());
}

TEST_CASE("the loader's registry has all backends of a plugin, and those that are at hand",
          "[loader]") {
  Registry registry;
  REQUIRE(registry.register_backend(zoo("two_backends")).ok());
  REQUIRE(registry.register_backend(tenon_static_plugin_Add).ok());
  CHECK(registry.contains("LockedBackend"));
  CHECK(registry.lookup_backend("WorksBackend").ok());
  CHECK(registry.lookup_backend("Add").ok());

  const std::shared_ptr<const LoadedBackend> add = *(*Plugin::load(hello, {}))->backend("Add");
  Registry other;
  REQUIRE(other.register_backend(add).ok());
  CHECK(other.lookup_backend("Add")->get() == add.get());
}

TEST_CASE("the loader's registry has one backend for an id", "[loader]") {
  Registry registry;
  REQUIRE(registry.register_backend(hello).ok());
  const Status again = registry.register_backend(tenon_static_plugin_Add);
  CHECK(again.error() == Error::RegistrationAlreadyRegistered);
  CHECK(again.text() ==
        concat("backend 'Add' of static plugin Add is registered already, by ", hello));
  CHECK(registry.lookup_backend("Add").ok());
}

TEST_CASE("the loader's registry says what it does not have", "[loader]") {
  Registry registry;
  CHECK(registry.lookup_backend("Add").error() == Error::NotFound);
  CHECK(registry.lookup_backend("Add").text() == "backend 'Add' is not registered");
  CHECK(registry.register_backend(zoo("no_such_file")).error() == Error::NotFound);
  CHECK(registry.register_backend(zoo("newer_major")).error() == Error::NotSupported);
  CHECK(registry.register_backend(std::shared_ptr<const LoadedBackend>()).error() ==
        Error::InvalidArgument);
  CHECK_FALSE(registry.contains("ZooBackend"));
}

TEST_CASE("a registry with providers is found behind a registry, and keeps its own functions",
          "[loader]") {
  Registry plain;
  BackendRegistry derived;
  CHECK(ProviderRegistry::of(nullptr) == nullptr);
  CHECK(ProviderRegistry::of(&plain) == nullptr);
  CHECK(ProviderRegistry::of(&derived) == &derived);

  Registry& base = derived;
  const Status refused = base.register_backend(hello);
  CHECK(refused.error() == Error::NotSupported);
  CHECK_FALSE(base.contains("Add"));
  REQUIRE(derived.register_backend(hello).ok());
  CHECK(base.contains("Add"));
  CHECK(base.lookup_backend("Add").ok());
}

}  // namespace loader_registry_test
