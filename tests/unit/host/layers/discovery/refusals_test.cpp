// SPDX-License-Identifier: MIT
//
// Every reason for which a file, a directory or an id is refused, word for word. The texts are in
// refusals.txt; TENON_UPDATE_GOLDEN=1 writes them anew, for a person to read in the diff. There
// $MACHINE is the machine for which the test was built.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registry_support.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"
#include "support/file_content.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/layers/discovery/platform_names.hpp"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace refusals_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* golden_path = TENON_TEST_REFUSALS;

/// A directory of plugins as a package makes it, with what a test puts into it.
class Plugins {
 public:
  Plugins() { make("plugins"); }

  void make(const std::string& directory) const {
    fs::create_directories(root / directory);
    ::chmod((root / directory).c_str(), 0755);
  }
  [[nodiscard]] fs::path path(const std::string& name) const { return root / "plugins" / name; }

  void write(const std::string& name, std::string_view content, unsigned mode = 0644) const {
    std::ofstream(path(name), std::ios::binary) << content;
    ::chmod(path(name).c_str(), mode);
  }
  void copy(const std::string& zoo, const std::string& name) const {
    write(name, tenon::test::file_content(concat(TENON_TEST_ZOO "/", zoo, ".so")));
  }
  /// The smallest library for this machine, or another one, with one value changed.
  void write_elf(const std::string& name, std::size_t offset, std::uint16_t value,
                 std::size_t size = SIZE_MAX, std::uint32_t machine = this_platform.machine) const {
    std::vector<std::byte> bytes = elf::build(std::vector<std::byte>(64));
    put_number(bytes, elf::machine, static_cast<std::uint16_t>(machine));
    put_number(bytes, offset, value);
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    write(name, all.substr(0, size));
  }

  TemporaryDirectory root;
};

/// The refusals of one run, by name, with the temporary directory's path and the machine taken out.
class Refusals {
 public:
  explicit Refusals(const TemporaryDirectory& root) : root_(root.path().native()) {}

  void add(const std::string& name, std::string_view text) {
    std::string out(text);
    const std::string machine = machine_name(this_platform);
    for (const auto& [found, put] : {std::pair(root_, "$ROOT"), std::pair(machine, "$MACHINE")}) {
      for (std::size_t at = out.find(found); at != std::string::npos; at = out.find(found)) {
        out.replace(at, found.size(), put);
      }
    }
    // Sanitizers put guards behind objects, which makes them larger.
    constexpr std::string_view size_of_object = "the plugin object has ";
    if (const std::size_t at = out.find(size_of_object); at != std::string::npos) {
      const std::size_t number = at + size_of_object.size();
      out.replace(number, out.find(' ', number) - number, "$SIZE");
    }
    CHECK_FALSE(out.empty());
    CHECK(texts_.emplace(name, out).second);
  }

  /// The refusals of a search, by the name of the file or directory.
  void add_search(const DiscoveryOptions& options) {
    const SearchReport report = discover(options);
    for (const SearchPath& path : report.search_paths) {
      if (path.error != Error::Ok) add("place " + path.path.filename().native(), path.reason);
    }
    for (const auto& source : report.sources) {
      if (source->error == Error::Ok) continue;
      const fs::path& file = source->manifest.empty() ? source->path : source->manifest;
      add(file.filename().native(), source->reason);
    }
  }

  [[nodiscard]] const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  std::string root_;
  std::map<std::string, std::string> texts_;
};

void make_socket(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  ::close(socket);
}

std::map<std::string, std::string> parse_golden(const std::string& text) {
  std::map<std::string, std::string> out;
  std::string* current = nullptr;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("== ")) {
      current = &out[line.substr(3)];
    } else if (current && !line.empty()) {
      *current += concat(current->empty() ? "" : "\n", line);
    }
  }
  return out;
}

/// Files that are no plugin for this host.
void add_wrong_files(const Plugins& plugins) {
  plugins.write("empty.so", "");
  plugins.write("text.so", "INPUT(libreal.so)\n");
  plugins.write("script.so", "#!/bin/sh\n");
  plugins.write("archive.so", "!<arch>\n");
  plugins.write("windows.so", std::string("MZ\0\0", 4));
  plugins.write("lfs.so", "version https://git-lfs.github.com/spec/v1\n");
  plugins.write_elf("bits32.so", 4, 0x0101);
  // Its machine is read in the other order: 62 as 15872.
  plugins.write_elf("big_endian.so", 5, 0x0102, SIZE_MAX, 62);
  plugins.write_elf("other_machine.so", elf::machine, 243);
  plugins.write_elf("executable.so", elf::type, 2);
  plugins.write_elf("object.so", elf::type, 1);
  plugins.write_elf("short.so", elf::type, 3, 40);
  plugins.write_elf("truncated.so", elf::type, 3, 420);
  plugins.write_elf("lies.so", elf::symbol + 16, 0x4000);
  plugins.copy("missing_symbol", "not_a_plugin.so");
  plugins.copy("bad_magic", "bad_magic.so");
  plugins.copy("bad_object_size", "bad_size.so");
  plugins.copy("newer_major", "newer_major.so");
  plugins.copy("needs_newer_minor", "needs_newer_minor.so");
}

/// Names that are no regular file, or that lead nowhere.
void add_wrong_kinds(const Plugins& plugins) {
  fs::create_directory(plugins.path("folder.so"));
  REQUIRE(::mkfifo(plugins.path("fifo.so").c_str(), 0600) == 0);
  make_socket(plugins.path("socket.so"));
  fs::create_symlink("loop.so", plugins.path("loop.so"));
  fs::create_symlink("gone/libreal.so", plugins.path("dangling.so"));
}

/// Files that another user can write to.
void add_untrusted_files(const Plugins& plugins) {
  plugins.copy("variant_base", "world_writable.so");
  ::chmod(plugins.path("world_writable.so").c_str(), 0666);
  plugins.copy("variant_base", "group_writable.so");
  ::chmod(plugins.path("group_writable.so").c_str(), 0664);
  if (::geteuid() != 0) return;
  plugins.copy("variant_base", "of_another.so");
  REQUIRE(::chown(plugins.path("of_another.so").c_str(), 4321, 4321) == 0);
}

std::string manifest(std::string_view library, std::string_view rest) {
  return concat(R"({"manifest_version": 1, "library": ")", library, R"(", )", rest, "}\n");
}

void add_wrong_manifests(const Plugins& plugins) {
  const std::string_view backends = R"("backends": [{"id": "VariantBackend"}])";
  const char* const names[] = {"ids.so",  "facts.so", "typo.so",    "version.so",
                               "json.so", "pin.so",   "platform.so"};
  for (const char* name : names) plugins.copy("variant_base", name);
  plugins.write("ids.json", manifest("ids.so", R"("backends": [{"id": "OtherBackend"}])"));
  plugins.write("facts.json",
                manifest("facts.so", concat(backends, R"(, "facts": {"abi": "1.9"})")));
  plugins.write("typo.json", manifest("typo.so", concat(backends, R"(, "sha265": "00")")));
  plugins.write("version.json", R"({"manifest_version": 2})");
  plugins.write("json.json", R"({"manifest_version": 1,)");
  plugins.write("pin.json", manifest("pin.so", concat(backends, R"(, "sha256": "abc")")));
  plugins.write("platform.json",
                concat(R"({"manifest_version": 1, "library": {"plan9-sparc": "platform.so"}, )",
                       backends, "}"));
  plugins.write("no_library.json", manifest("nowhere.so", backends));
}

void add_wrong_places(const Plugins& plugins, Refusals& refusals) {
  const std::string root = plugins.root.path().native();
  plugins.write("a_file", "");
  plugins.make("open");
  ::chmod((plugins.root / "open").c_str(), 0777);
  plugins.make("shared");
  ::chmod((plugins.root / "shared").c_str(), 0775);
  plugins.make("shared/inside");
  plugins.make("sticky");
  ::chmod((plugins.root / "sticky").c_str(), 01777);
  fs::create_symlink("circle", plugins.root / "circle");
  refusals.add_search(
      only({{"TENON_PLUGIN_PATH",
             concat("relative/folder::", root, "/nowhere:", root, "/plugins/a_file:", root,
                    "/open:", root, "/shared/inside:", root, "/sticky:", root, "/circle")},
            {"TENON_PLUGIN_FILES", concat("./x.so:", root, "/missing.so")}}));
}

/// Ids that are known and cannot be used, or not known at all.
void add_wrong_ids(Refusals& refusals) {
  const Plugins plugins;
  Refusals texts(plugins.root);
  plugins.make("second");
  plugins.copy("variant_base", "base.so");
  plugins.copy("variant_twin", "twin.so");
  plugins.copy("tagged_debug", "debug.so");
  plugins.copy("two_backends", "two.so");
  plugins.copy("static_constructor", "pinned.so");
  plugins.copy("newer_major", "too_new.so");
  plugins.write("pinned.json",
                manifest("pinned.so",
                         R"("backends": [{"id": "ZooBackend"}], "sha256": )"
                         R"("0000000000000000000000000000000000000000000000000000000000000000")"));
  const auto look_up = [&](const std::string& name, std::string_view id,
                           std::map<std::string, std::string> variables,
                           const CpuFeatures* cpu = nullptr) {
    variables.emplace("TENON_PLUGIN_PATH", plugins.path("").native());
    BackendRegistry registry({}, cpu);
    registry.add_search(discovery(only(variables)));
    const auto found = registry.lookup_backend(id);
    CHECK_FALSE(found.ok());
    texts.add("id " + name, found.text());
  };
  look_up("mistyped", "VariantBackends", {});
  look_up("claimed twice", "VariantBackend", {});
  look_up("disabled", "DebugBackend", {{"TENON_DISABLE", "Debug*"}});
  look_up("not selected", "DebugBackend", {{"TENON_SELECT", "two.so"}});
  {
    BackendRegistry registry;
    registry.add_search(discovery(only({{"TENON_PLUGIN_PATH", plugins.path("").native()}})));
    const auto pinned = registry.lookup_backend("ZooBackend");
    // The hash of the file differs from compiler to compiler.
    std::string text(pinned.text());
    const std::size_t hash = text.find("its SHA-256 is ");
    REQUIRE(hash != std::string::npos);
    text.replace(hash + 15, 64, "$FOUND");
    texts.add("id pinned", text);
  }
  const CpuFeatures plain({});
  fs::remove(plugins.path("twin.so"));
  plugins.copy("variant_fast", "base.so");
  look_up("other cpu", "VariantBackend", {}, &plain);
  for (const auto& [name, text] : texts.texts()) refusals.add(name, text);
}

}  // namespace

TEST_CASE("every refusal says what, where, expected and found", "[discovery]") {
  const Plugins plugins;
  Refusals refusals(plugins.root);
  add_wrong_files(plugins);
  add_wrong_kinds(plugins);
  add_untrusted_files(plugins);
  add_wrong_manifests(plugins);
  refusals.add_search(only({{"TENON_PLUGIN_PATH", plugins.path("").native()}}));
  add_wrong_places(plugins, refusals);
  add_wrong_ids(refusals);
  CHECK(refusals.texts().size() >= 45);

  if (std::getenv("TENON_UPDATE_GOLDEN")) {
    std::ofstream out(golden_path);
    for (const auto& [name, text] : refusals.texts())
      out << "== " << name << "\n" << text << "\n\n";
    return;
  }
  auto golden = parse_golden(tenon::test::file_content(golden_path));
  if (::geteuid() != 0) golden.erase("of_another.so");
  CHECK(refusals.texts().size() == golden.size());
  for (const auto& [name, text] : refusals.texts()) {
    INFO(name);
    CHECK(text == golden[name]);
  }
}

}  // namespace refusals_test
