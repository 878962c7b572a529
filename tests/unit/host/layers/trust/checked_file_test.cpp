// SPDX-License-Identifier: MIT
//
// What was checked is what is loaded, whatever happens to its name meanwhile.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "unit/host/loader/plugin/loaded_backend.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace checked_file_test {
namespace {

namespace fs = std::filesystem;

std::string zoo(std::string_view name) { return concat(TENON_TEST_ZOO "/", name, ".so"); }

/// A plugin whose `execute` adds a number from the library next to it.
struct NeedsCompanion : Companions {
  NeedsCompanion()
      : Companions(TENON_TEST_NEEDS_COMPANION, "needs_companion.so", TENON_TEST_COMPANION) {}
};

}  // namespace

TEST_CASE("a plugin that is replaced after it was opened is not the one that is loaded",
          "[loader]") {
  const TemporaryDirectory directory;
  fs::copy_file(zoo("newer_minor"), directory / "a.so");
  auto opened = open_file(directory / "a.so", Trust::caller);
  REQUIRE(opened.ok());
  fs::copy_file(zoo("static_constructor"), directory / "b.so");  // Would end this process.
  fs::rename(directory / "b.so", directory / "a.so");
  const auto plugin = Plugin::load(*std::move(opened), nullptr, all_layers());
  REQUIRE(plugin.ok());
  CHECK(run_zoo(*plugin) == 1);
  CHECK((*plugin)->path() == directory.file("a.so"));
}

TEST_CASE("a plugin that is removed after it was opened is loaded all the same", "[loader]") {
  const TemporaryDirectory directory;
  fs::copy_file(zoo("newer_minor"), directory / "a.so");
  auto opened = open_file(directory / "a.so", Trust::caller);
  fs::remove(directory / "a.so");
  const auto plugin = Plugin::load(*std::move(opened), nullptr, all_layers());
  REQUIRE(plugin.ok());
  CHECK(run_zoo(*plugin) == 1);
}

TEST_CASE("a plugin that is written to after it was opened is refused", "[loader]") {
  const TemporaryDirectory directory;
  fs::copy_file(zoo("newer_minor"), directory / "a.so");
  auto opened = open_file(directory / "a.so", Trust::caller);
  std::ofstream(directory / "a.so", std::ios::app | std::ios::binary) << "more";
  const auto plugin = Plugin::load(*std::move(opened), nullptr, all_layers());
  CHECK(plugin.error() == Error::InvalidState);
  CHECK_THAT(std::string(plugin.text()), ContainsSubstring("was changed while it was loaded"));
  CHECK(unloaded("a.so"));
}

TEST_CASE("a descriptor's number that comes back is not the library of before", "[loader]") {
  const TemporaryDirectory directory;
  fs::copy_file(TENON_TEST_STAYS, directory / "stays.so");
  fs::copy_file(zoo("newer_minor"), directory / "other.so");
  int number = -1;
  {
    auto opened = open_file(directory / "stays.so", Trust::caller);
    number = opened->descriptor.get();
    const auto stays = Library::load(*std::move(opened));
    REQUIRE(stays.ok());
  }
  CHECK(is_mapped("stays.so"));  // It was linked so that it cannot be unloaded.
  auto opened = open_file(directory / "other.so", Trust::caller);
  REQUIRE(opened->descriptor.get() == number);
  const auto plugin = Plugin::load(*std::move(opened), nullptr, all_layers());
  REQUIRE(plugin.ok());
  CHECK(is_mapped("other.so"));
  CHECK(run_zoo(*plugin) == 1);
}

TEST_CASE("another process can open a library by the name that the loader got", "[loader]") {
  const TemporaryDirectory directory;
  fs::copy_file(zoo("newer_minor"), directory / "a.so");
  auto opened = open_file(directory / "a.so", Trust::caller);
  const std::string name = host::detail::descriptor_name(*opened);
  const std::string again = host::detail::descriptor_name(*opened);
  CHECK(name.starts_with(concat("/proc/", ::getpid())));
  CHECK(name != again);
  const pid_t child = ::fork();
  if (child == 0) {
    struct stat status{};
    const bool same =
        ::stat(name.c_str(), &status) == 0 && platform::identity_of(status) == opened->identity;
    ::_exit(same ? 0 : 1);
  }
  int outcome = -1;
  REQUIRE(::waitpid(child, &outcome, 0) == child);
  CHECK(outcome == 0);
}

TEST_CASE("a library next to the plugin is loaded and unloaded with it", "[loader]") {
  const NeedsCompanion here;
  {
    const auto plugin = Plugin::load(here.plugin, all_layers());
    INFO(plugin.text());
    REQUIRE(plugin.ok());
    CHECK(run_zoo(*plugin) == 41);
    CHECK(is_mapped("libcompanion.so"));
  }
  CHECK(unloaded("libcompanion.so"));
  CHECK(unloaded("needs_companion.so"));
}

TEST_CASE("a missing library of the plugin is named", "[loader]") {
  const NeedsCompanion here;
  fs::remove(here.library);
  const auto plugin = Plugin::load(here.plugin, all_layers());
  CHECK(plugin.error() == Error::AccessFailed);
  CHECK_THAT(std::string(plugin.text()),
             ContainsSubstring("libcompanion.so") && ContainsSubstring(here.plugin.native()));
}

TEST_CASE("a library next to the plugin is checked like the plugin", "[loader]") {
  const LoadWatch libcompanion_watch("libcompanion.so");
  const NeedsCompanion here;
  ::chmod(here.library.c_str(), 0666);
  auto checked = open_file(here.plugin, Trust::checked);
  REQUIRE(checked.ok());
  const auto refused = Plugin::load(*std::move(checked), nullptr, all_layers());
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("needed by " + here.plugin.native()) &&
                 ContainsSubstring("writable by every user (mode 0666)"));
  CHECK_FALSE(libcompanion_watch.is_loaded());
  CHECK(Plugin::load(here.plugin, all_layers()).ok());  // The caller answers for both.
}

TEST_CASE("a library next to the plugin under another name than its own is refused", "[loader]") {
  const NeedsCompanion here;
  fs::copy_file(zoo("newer_minor"), here.library, fs::copy_options::overwrite_existing);
  const auto plugin = Plugin::load(here.plugin, all_layers());
  CHECK(plugin.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(plugin.text()), ContainsSubstring("expected its name 'libcompanion.so'"));
}

TEST_CASE("a plugin that needs a library by a relative path is refused", "[loader]") {
  const NeedsCompanion here;
  std::ifstream file(here.plugin, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "libcompanion.so", path = "lib/companio.so";
  for (std::size_t at = 0; (at = bytes.find(name, at)) != bytes.npos; ++at) {
    bytes.replace(at, name.size(), path);
  }
  here.directory.write("needs_companion.so", bytes);
  const auto plugin = Plugin::load(here.plugin, all_layers());
  CHECK(plugin.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(plugin.text()), ContainsSubstring("needs 'lib/companio.so'") &&
                                             ContainsSubstring("current working directory"));
}

TEST_CASE("a thousand loads of a plugin with a library leak nothing", "[loader]") {
  const NeedsCompanion here;
  int good = 0;
  for (int i = 0; i < 20; ++i) good += Plugin::load(here.plugin, all_layers()).ok();
  const Footprint before = Footprint::now();
  for (int i = 20; i < 1000; ++i) good += Plugin::load(here.plugin, all_layers()).ok();
  const Footprint after = Footprint::now();
  CHECK(good == 1000);
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
}

TEST_CASE("TENON_NO_UNLOAD keeps libraries in memory", "[loader]") {
  const TemporaryDirectory directory;
  fs::copy_file(zoo("newer_minor"), directory / "kept.so");
  const auto is_kept = [&](const char* value) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("TENON_NO_UNLOAD", value, 1);
      const bool loaded = Plugin::load(directory / "kept.so", all_layers()).ok();
      ::_exit(loaded && is_mapped("kept.so") && !unloads_libraries() ? 0 : 1);
    }
    int outcome = -1;
    CHECK(::waitpid(child, &outcome, 0) == child);
    return outcome == 0;
  };
  CHECK(is_kept("1"));
  CHECK(is_kept("") == !host::detail::loader_unloads);
}

}  // namespace checked_file_test
