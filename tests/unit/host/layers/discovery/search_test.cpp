// SPDX-License-Identifier: MIT
//
// What a search finds and which of several is taken.
#include <sys/stat.h>
#include <tenon/abi/static_plugin.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "registry_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/layers/discovery/impl/manifest.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"
#include "tenon/host/platform/trusted_path.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

TENON_DECLARE_STATIC_PLUGIN(Add);

namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::string>;

/// A directory that no other user can write to, with plugins in it.
class PluginDirectory {
 public:
  explicit PluginDirectory(std::initializer_list<std::string_view> zoo = {}) {
    for (const std::string_view name : zoo) add(name, concat(name, ".so"));
  }
  void add(std::string_view zoo, std::string_view name) const {
    fs::copy_file(concat(TENON_TEST_ZOO "/", zoo, ".so"), directory_ / name,
                  fs::copy_options::overwrite_existing);
    ::chmod((directory_ / name).c_str(), 0644);
  }
  void write(std::string_view name, std::string_view text) const { directory_.write(name, text); }
  [[nodiscard]] std::string path() const { return directory_.path().native(); }
  [[nodiscard]] std::string file(std::string_view name) const { return directory_.file(name); }

 private:
  TemporaryDirectory directory_;
};

BackendInfo info_of(const BackendRegistry& registry, const std::string& file) {
  for (const BackendInfo& info : registry.enumerate_backends()) {
    if (info.source->path == file) return info;
  }
  FAIL("no source " << file);
  return {};
}

}  // namespace

TEST_CASE("a search runs at the first miss or list, once, and loads nothing",
          "[discovery][S4.1][S4.15][S4.19][S4.20][S4.21]") {
  const LoadWatch two_backends_watch("two_backends.so");
  const PluginDirectory directory{"two_backends", "static_constructor", "tagged_debug"};
  BackendRegistry registry;
  int searches = 0;
  registry.add_search([&] {
    ++searches;
    return discover(only({{"TENON_PLUGIN_PATH", directory.path()}}));
  });
  CHECK(searches == 0);
  CHECK(registry.lookup_backend("Nobody").error() == Error::NotFound);
  CHECK(searches == 1);
  // The constructor of one of them would end this process.
  CHECK(registry.list_backends() == Ids{"LockedBackend", "WorksBackend", "ZooBackend"});
  CHECK(registry.list_backends({}) ==
        Ids{"DebugBackend", "LockedBackend", "WorksBackend", "ZooBackend"});
  CHECK(registry.lookup_backend("Nobody").error() == Error::NotFound);
  CHECK(searches == 1);
  CHECK_FALSE(two_backends_watch.is_loaded());
  CHECK(registry.lookup_backend("WorksBackend").ok());
}

TEST_CASE("search paths are searched in their order and the first one wins a tie", "[discovery]") {
  const PluginDirectory app{"variant_base"}, files{"variant_base"}, path{"variant_base"},
      installed{"variant_base"};
  DiscoveryOptions options = only(
      {{"TENON_PLUGIN_FILES", files.file("variant_base.so")}, {"TENON_PLUGIN_PATH", path.path()}});
  options.static_plugins = {tenon_static_plugin_Add};
  options.paths = {app.path()};
  options.installed = installed.path();
  BackendRegistry registry;
  registry.add_search(discovery(options));
  CHECK(registry.list_backends() == Ids{"Add", "VariantBackend"});

  const auto paths = registry.search_paths();
  REQUIRE(paths.size() == 5);
  CHECK(paths[0].name() == "static list");
  CHECK(paths[1].name() == "folder " + app.path());
  CHECK(paths[2].name() == "TENON_PLUGIN_FILES " + files.file("variant_base.so"));
  CHECK(paths[3].name() == "TENON_PLUGIN_PATH " + path.path());
  CHECK(paths[4].name() == "installed " + installed.path());
  for (const SearchPath& searched : paths) CHECK(searched.num_sources == 1);

  CHECK(info_of(registry, app.file("variant_base.so")).state == BackendState::known);
  for (const PluginDirectory* later : {&files, &path, &installed}) {
    const BackendInfo info = info_of(registry, later->file("variant_base.so"));
    CHECK(info.state == BackendState::shadowed);
    CHECK(info.reason == concat(later->file("variant_base.so"),
                                ": backend 'VariantBackend' is taken from ",
                                app.file("variant_base.so")));
  }
}

TEST_CASE("what the application registered wins over what is found, and needs no search",
          "[discovery][S4.10][S4.21]") {
  const PluginDirectory directory{"variant_preferred"};
  BackendRegistry registry;
  int searches = 0;
  registry.add_search([&] {
    ++searches;
    return discover(only({{"TENON_PLUGIN_PATH", directory.path()}}));
  });
  REQUIRE(registry.register_backend(std::string(TENON_TEST_ZOO "/variant_base.so")).ok());
  const auto backend = registry.lookup_backend("VariantBackend");
  REQUIRE(backend.ok());
  CHECK(searches == 0);
  CHECK(registry.list_backends() == Ids{"VariantBackend"});
  CHECK(registry.list_backends().size() == 1);
  CHECK(searches == 1);
  CHECK(info_of(registry, directory.file("variant_preferred.so")).state == BackendState::shadowed);
  CHECK(is_mapped("variant_base.so"));
}

TEST_CASE("an id that is found may be registered by the application afterwards",
          "[discovery][S4.10]") {
  const LoadWatch variant_preferred_watch("variant_preferred.so");
  const PluginDirectory directory{"variant_preferred"};
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  CHECK(registry.contains("VariantBackend"));
  REQUIRE(registry.register_backend(std::string(TENON_TEST_ZOO "/variant_base.so")).ok());
  const auto backend = registry.lookup_backend("VariantBackend");
  CHECK(is_mapped("variant_base.so"));
  CHECK_FALSE(variant_preferred_watch.is_loaded());
}

TEST_CASE("an id of a found plugin in use is not registered until it is released",
          "[discovery][S4.9]") {
  const PluginDirectory directory{"variant_preferred"};
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  auto held = registry.lookup_backend("VariantBackend");
  REQUIRE(held.ok());
  const std::string base = TENON_TEST_ZOO "/variant_base.so";
  const std::string found = directory.file("variant_preferred.so");
  const auto check_refused = [&](const Status& refused, std::string_view origin) {
    CHECK(refused.error() == Error::InvalidState);
    CHECK(refused.text() == concat("backend 'VariantBackend' of ", origin,
                                   " cannot be registered while the backend of ", found,
                                   " is in use, 1 times; release it first"));
  };
  check_refused(registry.register_backend(base), base);
  check_refused(registry.register_backend(std::make_shared<const LoadedBackend>(
                    *LoadedBackend::open((*held)->record(), (*held)->host(), (*held)->api()))),
                "an object of the application");
  REQUIRE(registry.enumerate_backends().size() == 1);
  CHECK(info_of(registry, found).state == BackendState::loaded);
  *held = BackendRef();
  REQUIRE(registry.register_backend(base).ok());
  held = registry.lookup_backend("VariantBackend");
  CHECK(is_mapped("variant_base.so"));
  CHECK(info_of(registry, found).state == BackendState::shadowed);
}

TEST_CASE("a plugin that is chosen while another one is in use says what it waits for",
          "[discovery][S4.9]") {
  const PluginDirectory first{"variant_base"}, second{"variant_preferred"};
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", first.path()}})));
  auto held = registry.lookup_backend("VariantBackend");
  REQUIRE(held.ok());
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", second.path()}})));
  const std::string base = first.file("variant_base.so");
  const std::string preferred = second.file("variant_preferred.so");
  CHECK(info_of(registry, base).state == BackendState::loaded);
  const BackendInfo waiting = info_of(registry, preferred);
  CHECK(waiting.state == BackendState::shadowed);
  CHECK(waiting.reason == concat(preferred, ": backend 'VariantBackend' is in use from ", base,
                                 ", until the last holder releases it"));
  *held = BackendRef();
  CHECK(info_of(registry, preferred).state == BackendState::known);
  held = registry.lookup_backend("VariantBackend");
  CHECK(info_of(registry, preferred).state == BackendState::loaded);
  CHECK(info_of(registry, base).state == BackendState::shadowed);
}

TEST_CASE("searches that are added later run too, and come after the first", "[discovery]") {
  const PluginDirectory first{"variant_base"}, second{"variant_base", "two_backends"};
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", first.path()}})));
  CHECK(registry.list_backends() == Ids{"VariantBackend"});
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", second.path()}})));
  CHECK(registry.list_backends() == Ids{"LockedBackend", "VariantBackend", "WorksBackend"});
  CHECK(info_of(registry, second.file("variant_base.so")).state == BackendState::shadowed);
}

TEST_CASE("two plugins of one search path with the same precedence are an error that names both",
          "[discovery][S4.9]") {
  const PluginDirectory directory{"variant_base", "variant_twin", "two_backends"};
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  CHECK(registry.list_backends() == Ids{"LockedBackend", "WorksBackend"});
  CHECK_FALSE(registry.contains("VariantBackend"));
  const auto claimed = registry.lookup_backend("VariantBackend");
  CHECK(claimed.error() == Error::RegistrationAlreadyRegistered);
  CHECK_THAT(std::string(claimed.text()), ContainsSubstring(directory.file("variant_base.so")) &&
                                              ContainsSubstring(directory.file("variant_twin.so")));
  // Others of the same directory are not touched.
  CHECK(registry.lookup_backend("WorksBackend").ok());
  // A priority in a manifest settles it.
  directory.write("variant_twin.json",
                  R"({"manifest_version": 1, "library": "variant_twin.so",
                   "backends": [{"id": "VariantBackend", "priority": 1, "tags": ["chosen"]}]})");
  BackendRegistry again;
  again.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  const auto settled = again.lookup_backend("VariantBackend");
  REQUIRE(settled.ok());
  CHECK(is_mapped("variant_twin.so"));
  const BackendInfo info = info_of(again, directory.file("variant_twin.so"));
  CHECK(info.backend()->tags == Ids{"chosen"});
  CHECK(info.source->manifest == directory.file("variant_twin.json"));
  // With its manifest the file is one source and not two.
  CHECK(again.enumerate_backends().size() == 4);
}

TEST_CASE("a CPU variant is chosen by its record and no other one is loaded", "[discovery]") {
  const LoadWatch variant_base_watch("variant_base.so");
  const PluginDirectory directory{"variant_base", "variant_fast", "variant_fastest"};
  const CpuFeatures fast({"zoo_fast"});
  BackendRegistry registry({}, &fast);
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  const auto backend = registry.lookup_backend("VariantBackend");
  REQUIRE(backend.ok());
  CHECK(is_mapped("variant_fast.so"));
  CHECK_FALSE(variant_base_watch.is_loaded());
  CHECK(unloaded("variant_fastest.so"));
  CHECK_THAT(info_of(registry, directory.file("variant_fastest.so")).reason,
             ContainsSubstring("this CPU lacks: zoo_wide"));
}

TEST_CASE("patterns select and disable by id and by file", "[discovery]") {
  const PluginDirectory directory{"two_backends", "tagged_debug", "variant_base"};
  const auto listed = [&](std::map<std::string, std::string> variables) {
    variables.emplace("TENON_PLUGIN_PATH", directory.path());
    BackendRegistry registry;
    registry.add_search(discovery(only(std::move(variables))));
    return registry.list_backends({});
  };
  CHECK(listed({}) == Ids{"DebugBackend", "LockedBackend", "VariantBackend", "WorksBackend"});
  CHECK(listed({{"TENON_SELECT", "Works*"}}) == Ids{"WorksBackend"});
  CHECK(listed({{"TENON_SELECT", " two_backends.so , Nothing"}}) ==
        Ids{"LockedBackend", "WorksBackend"});
  CHECK(listed({{"TENON_DISABLE", "[LW]*"}}) == Ids{"DebugBackend", "VariantBackend"});
  CHECK(listed({{"TENON_DISABLE", "tagged*, variant*"}}) == Ids{"LockedBackend", "WorksBackend"});
  CHECK(listed({{"TENON_SELECT", "*Backend"}, {"TENON_DISABLE", "Debug?ackend"}}) ==
        Ids{"LockedBackend", "VariantBackend", "WorksBackend"});
  CHECK(listed({{"TENON_SELECT", ",,"}}).size() == 4);
}

TEST_CASE("a file with several names is taken once, from the first search path", "[discovery]") {
  const PluginDirectory directory{"variant_base"}, links;
  fs::create_symlink(directory.file("variant_base.so"), links.file("one.so"));
  fs::create_symlink("one.so", links.file("two.so"));
  BackendRegistry registry;
  registry.add_search(discovery(only(
      {{"TENON_PLUGIN_PATH", concat(links.path(), ":", directory.path(), ":", links.path())}})));
  CHECK(registry.lookup_backend("VariantBackend").ok());
  const auto infos = registry.enumerate_backends();
  REQUIRE(infos.size() == 4);
  CHECK(infos[0].source->path == links.file("one.so"));
  CHECK_THAT(infos[1].reason, ContainsSubstring("is the same file as " + links.file("one.so")));
}

TEST_CASE("a manifest may name a library elsewhere, pin it, and add to what it says",
          "[discovery][S4.22]") {
  const PluginDirectory library{"variant_base"}, directory;
  auto file = open_file(library.file("variant_base.so"), Trust::checked);
  REQUIRE(file.ok());
  const std::string hash = sha256_of_file(file->descriptor.get())->to_hex();
  directory.write(
      "acme.json",
      concat(R"({"manifest_version": 1, "library": {")", platform_name(), R"(": ")",
             library.file("variant_base.so"), R"("}, "sha256": ")", hash,
             R"(", "backends": [{"id": "VariantBackend", "tags": ["npu"],)",
             R"( "priority": -3}], "facts": {"compiler": "gcc 12.2", "name": "zoo"}})"));
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_FILES", directory.file("acme.json")}})));
  const BackendInfo info = info_of(registry, library.file("variant_base.so"));
  CHECK(info.backend()->tags == Ids{"npu"});
  CHECK(info.backend()->priority == -3);
  CHECK(info.source->record->backends[0].priority == 0);
  CHECK(info.source->facts.at("compiler") == "gcc 12.2");
  CHECK(registry.lookup_backend("VariantBackend").ok());

  // The pin is about the bytes: one more at the end is another file.
  std::ofstream(library.file("variant_base.so"), std::ios::app | std::ios::binary) << '\0';
  const auto changed = registry.lookup_backend("VariantBackend");
  CHECK(changed.error() == Error::AccessFailed);
  CHECK_THAT(std::string(changed.text()), ContainsSubstring("expects " + hash));
  CHECK(unloaded("variant_base.so"));
}

TEST_CASE("a pin holds when another manifest names the same library without one", "[discovery]") {
  const PluginDirectory directory{"variant_base"};
  const std::string plain =
      R"({"manifest_version": 1, "library": "variant_base.so", "backends": [{"id": "VariantBackend"}])";
  const auto with_pin = [&](char digit) {
    return concat(plain, R"(, "sha256": ")", std::string(64, digit), R"("})");
  };
  const auto source = [&] {
    SearchReport report = discover(only({{"TENON_PLUGIN_PATH", directory.path()}}));
    REQUIRE(report.sources.size() == 1);
    return report.sources[0];
  };
  directory.write("a.json", plain + "}");
  directory.write("b.json", with_pin('b'));
  REQUIRE(source()->sha256);
  CHECK(source()->sha256->to_hex() == std::string(64, 'b'));
  CHECK(source()->error == Error::Ok);

  directory.write("c.json", with_pin('c'));
  CHECK(source()->error == Error::InvalidArgument);
  CHECK_THAT(source()->reason, ContainsSubstring("pin it to different hashes"));
}

#if defined(__linux__)
TEST_CASE("a plugin with a pin is loaded from the bytes that were hashed, not from its file",
          "[discovery]") {
  const PluginDirectory directory{"variant_base"};
  const std::string file = directory.file("variant_base.so");
  const auto opened = open_file(file, Trust::caller);
  REQUIRE(opened.ok());
  directory.write("a.json",
                  concat(R"({"manifest_version": 1, "library": "variant_base.so", "sha256": ")",
                         sha256_of_file(opened->descriptor.get())->to_hex(),
                         R"(", "backends": [{"id": "VariantBackend"}]})"));
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  const auto backend = registry.lookup_backend("VariantBackend");
  INFO(backend.text());
  REQUIRE(backend.ok());
  std::ifstream maps("/proc/self/maps");
  const std::string all{std::istreambuf_iterator<char>(maps), {}};
  CHECK_THAT(all, ContainsSubstring("/memfd:tenon-plugin") && !ContainsSubstring(file));
}
#endif

TEST_CASE("a library is not taken when the manifest that names it is refused", "[discovery]") {
  const PluginDirectory directory{"variant_base"};
  directory.write("other_name.json",
                  R"({"manifest_version": 1, "library": "./variant_base.so",
                   "backends": [{"id": "AnotherBackend"}]})");
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  CHECK(registry.list_backends().empty());
  CHECK(info_of(registry, directory.file("variant_base.so")).state == BackendState::refused);
  CHECK(registry.lookup_backend("VariantBackend").error() == Error::NotFound);
}

TEST_CASE("what was found is judged again when it is loaded", "[discovery]") {
  const PluginDirectory directory{"variant_base"};
  const std::string file = directory.file("variant_base.so");
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  CHECK(registry.contains("VariantBackend"));
  ::chmod(file.c_str(), 0666);
  const auto writable = registry.lookup_backend("VariantBackend");
  CHECK(writable.error() == Error::AccessFailed);
  CHECK_THAT(std::string(writable.text()), ContainsSubstring("writable by every user"));
  ::chmod(file.c_str(), 0644);
  CHECK(registry.lookup_backend("VariantBackend").ok());
  fs::remove(file);
  directory.add("variant_preferred", "variant_base.so");
  const auto replaced = registry.lookup_backend("VariantBackend");
  CHECK(replaced.error() == Error::InvalidState);
  fs::remove(file);
  CHECK(registry.lookup_backend("VariantBackend").error() == Error::NotFound);
}

TEST_CASE("the host's log receives each refused file with its reason", "[discovery][S4.24]") {
  const PluginDirectory directory{"bad_magic", "newer_major", "variant_base"};
  std::map<std::string, std::string> lines;
  HostInfo host;
  host.log = [&](std::int32_t, std::string_view file, std::string_view text) {
    lines.emplace(file, text);
  };
  BackendRegistry registry(host);
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  CHECK(registry.list_backends() == Ids{"VariantBackend"});
  CHECK(lines.size() == 2);
  CHECK_THAT(lines[directory.file("bad_magic.so")], ContainsSubstring("refused: "));
  CHECK_THAT(lines[directory.file("newer_major.so")], ContainsSubstring("speaks Tenon ABI 2.3"));
}

TEST_CASE("listing a thousand plugins opens no library", "[discovery]") {
  const PluginDirectory directory;
  directory.add("static_constructor", "0.so");
  for (int i = 1; i < 1000; ++i)
    fs::copy_file(directory.file("0.so"), directory.file(concat(i, ".so")));
  const Footprint before = Footprint::now();
  BackendRegistry registry;
  registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", directory.path()}})));
  CHECK(registry.enumerate_backends().size() == 1000);
  const Footprint after = Footprint::now();
  CHECK(after.mappings == before.mappings);
  CHECK(after.descriptors == before.descriptors);
}

TEST_CASE("sixteen threads whose first look-ups meet share one search and one load",
          "[discovery][threads]") {
  const PluginDirectory directory{"talkative", "two_backends"};
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> searches = 0;
    std::atomic<int> opened = 0;
    HostInfo host;
    host.log = [&](std::int32_t, std::string_view, std::string_view text) {
      if (text.starts_with("opened")) ++opened;
    };
    BackendRegistry registry(host);
    registry.add_search([&] {
      ++searches;
      return discover(only({{"TENON_PLUGIN_PATH", directory.path()}}));
    });
    std::vector<BackendRef> found(16);
    on_sixteen_threads([&](std::size_t i) {
      if (auto backend = registry.lookup_backend("TalkativeBackend"); backend.ok()) {
        found[i] = *std::move(backend);
      }
      if (registry.list_backends().size() != 3) found[i] = BackendRef();
      if (registry.lookup_backend("Nobody").error() != Error::NotFound) found[i] = BackendRef();
    });
    CHECK(searches == 1);
    CHECK(opened == 1);
    CHECK(std::ranges::all_of(
        found, [&](const BackendRef& ref) { return ref && ref.get() == found[0].get(); }));
  }
  CHECK(unloaded("talkative.so"));
}
