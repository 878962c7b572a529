// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/abi/draft/kernel_lookup.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/abi/private/changes.h"
#include "tenon/core/extensions.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/trust/library_policy.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "unit/core/test_tensor.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace plugin_test {
namespace {

const std::string hello = TENON_TEST_HELLO;

std::string zoo(std::string_view name) { return concat(TENON_TEST_ZOO "/", name, ".so"); }

constexpr std::string_view rank_1("\x01\0\0\0", 4);

/// Adds through backend "Add" of hello and checks the sum.
void check_adds(const std::shared_ptr<const LoadedBackend>& backend) {
  LoadedBlob blob(backend, rank_1);
  REQUIRE(blob.init().ok());
  TestTensor a({3}, {1.0f, 2.0f, 3.0f});
  TestTensor b({3}, {10.0f, 20.0f, 30.0f});
  TestTensor out(ScalarType::Float, {3});
  const TestArgs args({a.value(), b.value(), out.value()});
  REQUIRE(blob.execute(args.data(), args.size()).ok());
  CHECK(out.elements<float>() == std::vector{11.0f, 22.0f, 33.0f});
  CHECK(a.elements<float>() == std::vector{1.0f, 2.0f, 3.0f});
}

/// The tables that the host of a loaded `Add` has.
std::vector<std::string_view> tables_of(Result<std::shared_ptr<Plugin>> plugin) {
  REQUIRE(plugin.ok());
  const auto backend = (*plugin)->backend("Add");
  REQUIRE(backend.ok());
  const tenon_host* const host = (*backend)->host();
  std::vector<std::string_view> out;
  for (const char* id :
       {TENON_EXTENSION_CHANGES, TENON_EXTENSION_KERNEL_LOOKUP, TENON_EXTENSION_CANCEL_FLAG,
        TENON_EXTENSION_PREPARE, TENON_EXTENSION_THREADS, library_policy_id, "unknown/1"}) {
    if (host->get_extension(host, id)) out.emplace_back(id);
  }
  return out;
}

class AdmitsAll final : public LibraryPolicy {
 public:
  Result<OpenedFile> admit(OpenedFile file, std::string_view) const override { return file; }
};

}  // namespace

TEST_CASE("a host offers the tables of its layers, the loader alone its own tables", "[loader]") {
  CHECK(tables_of(Plugin::load(hello, {})) ==
        std::vector<std::string_view>{TENON_EXTENSION_CHANGES});
  std::vector<std::string_view> all = {TENON_EXTENSION_CHANGES, TENON_EXTENSION_KERNEL_LOOKUP,
                                       TENON_EXTENSION_CANCEL_FLAG, TENON_EXTENSION_PREPARE,
                                       TENON_EXTENSION_THREADS};
  CHECK(tables_of(Plugin::load(hello, all_layers())) == all);
  all.push_back(library_policy_id);
  const HostInfo under_policy{.gates = {nullptr, std::make_shared<AdmitsAll>()}};
  CHECK(tables_of(Plugin::load(hello, all_layers(under_policy))) == all);
}

TEST_CASE("a plugin that a policy admitted or a gate replaced is not loaded by its path",
          "[loader]") {
  class Replaces final : public PluginGate {
   public:
    Result<bool> isolates(const PluginRecord&, std::string_view) const override { return true; }
  };
  for (const std::shared_ptr<const PluginGate>& gate :
       {std::shared_ptr<const PluginGate>(std::make_shared<AdmitsAll>()),
        std::shared_ptr<const PluginGate>(std::make_shared<Replaces>())}) {
    const auto plugin = Plugin::load(hello, {.gates = {gate}});
    CHECK(plugin.error() == Error::NotSupported);
    CHECK_THAT(std::string(plugin.text()), ContainsSubstring("expected the gate of trust"));
    CHECK(Plugin::load(hello, all_layers({.gates = {gate}})).ok());
  }
}

TEST_CASE("a plugin is loaded from its file and its backend runs", "[loader][TN-EXE-2]") {
  const auto plugin = Plugin::load(hello, all_layers());
  REQUIRE(plugin.ok());
  CHECK((*plugin)->path() == hello);
  CHECK((*plugin)->record().name == "Add");
  REQUIRE((*plugin)->record().backends.size() == 1);
  const auto backend = (*plugin)->backend("Add");
  REQUIRE(backend.ok());
  CHECK((*backend)->id() == "Add");
  CHECK((*backend)->is_available().ok());
  CHECK((*backend)->options().empty());
  check_adds(*backend);
}

TEST_CASE("a backend is opened once however often it is asked for", "[loader]") {
  const auto plugin = Plugin::load(hello, all_layers());
  REQUIRE(plugin.ok());
  const auto first = (*plugin)->backend("Add");
  const auto second = (*plugin)->backend("Add");
  REQUIRE((first.ok() && second.ok()));
  CHECK(first->get() == second->get());
}

TEST_CASE("a plugin says which backends it has when it is asked for another", "[loader]") {
  const auto plugin = Plugin::load(zoo("two_backends"), all_layers());
  REQUIRE(plugin.ok());
  const auto backend = (*plugin)->backend("works");
  CHECK(backend.error() == Error::NotFound);
  CHECK_THAT(std::string(backend.text()), ContainsSubstring("'works'") &&
                                              ContainsSubstring("WorksBackend, LockedBackend") &&
                                              ContainsSubstring("two_backends.so"));
}

TEST_CASE("a relative path is resolved before it is loaded", "[loader]") {
  const std::filesystem::path relative = std::filesystem::relative(hello);
  REQUIRE(relative.is_relative());
  const auto plugin = Plugin::load(relative, all_layers());
  REQUIRE(plugin.ok());
  CHECK(std::filesystem::path((*plugin)->path()).is_absolute());
  CHECK(std::filesystem::equivalent((*plugin)->path(), hello));
}

TEST_CASE("a file that is missing or no plugin is refused by name", "[loader]") {
  const auto missing = Plugin::load("/nowhere/plugin.so", all_layers());
  CHECK(missing.error() == Error::NotFound);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("/nowhere/plugin.so"));

  const auto text = Plugin::load(__FILE__, all_layers());
  CHECK(text.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(text.text()), ContainsSubstring("text file"));

  const auto directory = Plugin::load(std::filesystem::temp_directory_path(), all_layers());
  CHECK(directory.error() == Error::InvalidArgument);
  CHECK(Plugin::load("", all_layers()).error() != Error::Ok);
}

TEST_CASE("a plugin that describes itself wrongly is refused and not loaded", "[loader]") {
  struct Fault {
    std::string_view name;
    Error error;
    std::vector<std::string> words;
  };
  const Fault faults[] = {
      {"bad_magic", Error::InvalidArgument, {"magic", "89 54 45 4e 4f 4e 32 0a"}},
      {"bad_object_size", Error::InvalidArgument, {"object_size"}},
      {"missing_symbol", Error::InvalidArgument, {TENON_PLUGIN_SYMBOL}},
      {"newer_major", Error::NotSupported, {"2.3", "1.0", "major"}},
      {"needs_newer_minor", Error::NotSupported, {"1.7", "1.0"}},
  };
  for (const Fault& fault : faults) {
    INFO(fault.name);
    const auto plugin = Plugin::load(zoo(fault.name), all_layers());
    CHECK(plugin.error() == fault.error);
    CHECK_THAT(std::string(plugin.text()), ContainsSubstring(zoo(fault.name)));
    for (const std::string& word : fault.words) {
      CHECK_THAT(std::string(plugin.text()), ContainsSubstring(word));
    }
    CHECK(unloaded(concat(fault.name, ".so")));
  }
}

TEST_CASE("a plugin of a newer minor that accepts this host is loaded", "[loader][TN-NEG-1]") {
  const auto plugin = Plugin::load(zoo("newer_minor"), all_layers());
  REQUIRE(plugin.ok());
  CHECK((*plugin)->record().abi_minor == 7);
  const auto backend = (*plugin)->backend("ZooBackend");
  REQUIRE(backend.ok());
  LoadedBlob blob(*backend, "any");
  REQUIRE(blob.init().ok());
  const TestArgs args({integer_value(41)});
  CHECK(blob.execute(args.data(), args.size()).ok());
  CHECK(args.data()[0]->as.integer == 42);
}

TEST_CASE("a library that the system refuses is refused with the system's words", "[loader]") {
  const auto plugin = Plugin::load(zoo("undefined_symbol"), all_layers());
  CHECK(plugin.error() == Error::AccessFailed);
  CHECK_THAT(std::string(plugin.text()), ContainsSubstring("undefined_symbol.so") &&
                                             ContainsSubstring("tenon_test_defined_by_nobody"));
  CHECK(unloaded("undefined_symbol.so"));
}

TEST_CASE("a plugin that changes its record while it is loaded is refused and unloaded",
          "[loader][TN-BIN-3]") {
  const auto plugin = Plugin::load(zoo("changes_when_loaded"), all_layers());
  CHECK(plugin.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(plugin.text()), ContainsSubstring("differently from its file"));
  CHECK(unloaded("changes_when_loaded.so"));
}

TEST_CASE("a plugin whose body does not fit its head is refused and unloaded", "[loader]") {
  const auto plugin = Plugin::load(zoo("body_differs_from_head"), all_layers());
  CHECK(plugin.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(plugin.text()), ContainsSubstring("2 backends"));
  CHECK(unloaded("body_differs_from_head.so"));
}

TEST_CASE("a backend without execute or without a table cannot be got", "[loader][TN-BCK-3]") {
  const auto no_execute = Plugin::load(zoo("null_execute"), all_layers());
  REQUIRE(no_execute.ok());
  const auto first = (*no_execute)->backend("ZooBackend");
  CHECK(first.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(first.text()),
             ContainsSubstring("ZooBackend") && ContainsSubstring("`execute`"));

  const auto no_table = Plugin::load(zoo("null_table"), all_layers());
  REQUIRE(no_table.ok());
  const auto second = (*no_table)->backend("ZooBackend");
  CHECK(second.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(second.text()), ContainsSubstring("no function table"));
}

TEST_CASE("a backend that cannot be opened says why, each time, and the other one works",
          "[loader]") {
  const auto plugin = Plugin::load(zoo("two_backends"), all_layers());
  REQUIRE(plugin.ok());
  for (int i = 0; i < 2; ++i) {
    const auto locked = (*plugin)->backend("LockedBackend");
    CHECK(locked.error() == Error::AccessFailed);
    CHECK_THAT(std::string(locked.text()),
               ContainsSubstring("backend LockedBackend: open: no licence") &&
                   ContainsSubstring("two_backends.so"));
  }
  const auto works = (*plugin)->backend("WorksBackend");
  REQUIRE(works.ok());
  const Status available = (*works)->is_available();
  CHECK(available.error() == Error::NotFound);
  CHECK(available.text() == "backend WorksBackend is not available: no device on this machine");
}

TEST_CASE("exceptions of a loaded plugin arrive as failures with their text",
          "[loader][TN-BCK-1]") {
  const auto plugin = Plugin::load(zoo("throws"), all_layers());
  REQUIRE(plugin.ok());
  const auto backend = (*plugin)->backend("ThrowsBackend");
  REQUIRE(backend.ok());

  const LoadedBlob thrown(*backend, "init");
  CHECK(thrown.init().error() == Error::Internal);
  CHECK(thrown.init().text() == "thrown by init");
  const LoadedBlob memory(*backend, "memory");
  CHECK(memory.init().error() == Error::MemoryAllocationFailed);

  LoadedBlob blob(*backend, "");
  REQUIRE(blob.init().ok());
  const TestArgs args({integer_value(1)});
  const Status text = blob.execute(args.data(), args.size());
  CHECK(text.error() == Error::Internal);
  CHECK(text.text() == "thrown by execute");
  CHECK(blob.execute(nullptr, 0).text() == "an exception that is not a std::exception");
}

TEST_CASE("a failure without a reason or a number is named as such",
          "[loader][TN-ERR-1][TN-ERR-2]") {
  const auto plugin = Plugin::load(zoo("wordless"), all_layers());
  REQUIRE(plugin.ok());
  const auto backend = (*plugin)->backend("ZooBackend");
  REQUIRE(backend.ok());
  LoadedBlob blob(*backend, "");
  REQUIRE(blob.init().ok());
  const Status silent = blob.execute(nullptr, 0);
  CHECK(silent.error() == Error::NotFound);
  CHECK(silent.text() == "the plugin gave no reason");
  const TestArgs args({integer_value(1)});
  const Status unknown = blob.execute(args.data(), args.size());
  CHECK(unknown.error() == Error::Internal);
  CHECK_THAT(std::string(unknown.text()), ContainsSubstring("2457, which is not a status number"));
}

TEST_CASE("a backend gets the name of its host and the path of its own file",
          "[loader][TN-HST-2]") {
  std::vector<std::string> lines;
  HostInfo info;
  info.name = "loader-test 1.2";
  info.log = [&](std::int32_t level, std::string_view plugin, std::string_view text) {
    lines.push_back(
        concat(level, " ", std::filesystem::path(plugin).filename().string(), ": ", text));
  };
  {
    const auto plugin = Plugin::load(zoo("talkative"), all_layers(info));
    REQUIRE(plugin.ok());
    CHECK(lines.empty());
    REQUIRE((*plugin)->backend("TalkativeBackend").ok());
  }
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == concat("1 talkative.so: opened by loader-test 1.2 from ", zoo("talkative")));
  CHECK(lines[1] == "1 talkative.so: closed");
}

TEST_CASE("a log sink that throws does not harm the plugin", "[loader]") {
  HostInfo info;
  info.log = [](std::int32_t, std::string_view, std::string_view) { throw 1; };
  const auto plugin = Plugin::load(zoo("talkative"), all_layers(info));
  REQUIRE(plugin.ok());
  CHECK((*plugin)->backend("TalkativeBackend").ok());
}

}  // namespace plugin_test
