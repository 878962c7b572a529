// SPDX-License-Identifier: MIT
//
// Workers load the bytes that were checked, and nothing that was put in their place or next to them
// afterwards; no variable of the environment chooses for the application.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/signatures.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::test;

namespace checked_files_test { namespace {

namespace fs = std::filesystem;

struct HelloCompanions : Companions {
  HelloCompanions()
      : Companions(TENON_TEST_HELLO_COMPANION, "hello_companion.so", TENON_TEST_COMPANION) {}
  /// Another library of the name, in the place of the first.
  void replace_library() const {
    fs::copy_file(library, directory / "new.so");
    std::ofstream(directory / "new.so", std::ios::app | std::ios::binary) << "more";
    fs::rename(directory / "new.so", library);
  }
};

/// The program `tenon-worker`, which does nothing but end.
void put_false_worker(const fs::path& folder) {
  fs::copy_file("/bin/false", folder / "tenon-worker");
  fs::copy_file(TENON_TEST_ISOLATED_TEMPLATE, folder / "tenon-isolated.so");
}

std::shared_ptr<const host::PluginIsolation> isolates_all(
    host::WorkerSettings settings = {}, const fs::path& worker = TENON_TEST_WORKER) {
  return std::make_shared<host::WorkerIsolation>(
      std::vector<host::IsolationRule>{{.pattern = "*", .settings = std::move(settings)}}, worker);
}

std::shared_ptr<const host::LibraryPolicy> policy_of(const Signer& signer) {
  host::Publishers publishers;
  publishers.keys.push_back({"Acme", *host::parse_minisign_key(signer.public_key())});
  return std::make_shared<host::SignaturePolicy>(publishers);
}

/// Loads a method with the plugin, and runs it: "right", or why not.
std::string run(const Result<std::shared_ptr<host::Plugin>>& plugin) {
  static_cast<void>(marked_process());
  if (!plugin.ok()) return std::string(plugin.text());
  auto backend = (*plugin)->backend("Add");
  if (!backend.ok()) return std::string(backend.text());
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(*std::move(backend)).ok());
  host::MethodOptions options;
  options.registry = &registry;
  auto method = host::Method::load(*host::Program::open(add_program), "forward", options);
  if (!method.ok()) return std::string(method.text());
  const auto got = add(**method);
  if (!got.ok()) return std::string(got.text());
  return *got == sum ? "right" : "wrong";
}

/// The files that the workers of this process have mapped.
std::string maps_of_workers() {
  std::string out;
  for (const pid_t each : worker_processes()) {
    std::ifstream file(concat("/proc/", each, "/maps"));
    out.append(std::istreambuf_iterator<char>(file), {});
  }
  return out;
}

/// Makes an isolated plugin of `plugin` in the same folder.
fs::path make_isolated(const fs::path& plugin, host::WorkerSettings settings = {}) {
  const fs::path out = plugin.parent_path() / "isolated.so";
  const auto made = isolate::make_isolated({.template_file = TENON_TEST_ISOLATED_TEMPLATE,
                                            .worker = TENON_TEST_WORKER,
                                            .plugin = plugin,
                                            .out = out,
                                            .settings = std::move(settings)});
  INFO(made.text());
  REQUIRE(made.ok());
  ::chmod(out.c_str(), 0644);
  return out;
}

TEST_CASE("a worker maps no file of its plugin") {
  static_cast<void>(marked_process());
  const HelloCompanions here;
  const auto plugin =
      host::Plugin::load(here.plugin, host::all_layers({.gates = {isolates_all()}}));
  REQUIRE(run(plugin) == "right");
  const std::string maps = maps_of_workers();
  CHECK_THAT(maps, ContainsSubstring("/memfd:tenon-plugin"));
  CHECK_THAT(maps, !ContainsSubstring(here.directory.path().native()));
}

TEST_CASE("later workers load what was checked, whatever is written to the files meanwhile") {
  const std::pair<bool, host::WorkerProfile> cases[] = {
      {false, host::WorkerProfile::none},
      {true, host::WorkerProfile::none},
      {true, TENON_TEST_HAS_SANDBOX ? host::WorkerProfile::strict : host::WorkerProfile::none}};
  for (const auto& [is_made, profile] : cases) {
    INFO(is_made << " " << worker_profile_name(profile));
    const HelloCompanions here;
    const host::WorkerSettings settings{.profile = profile, .own_worker = true};
    const auto plugin =
        is_made ? host::Plugin::load(make_isolated(here.plugin, settings), host::all_layers())
                : host::Plugin::load(here.plugin,
                                     host::all_layers({.gates = {isolates_all(settings)}}));
    REQUIRE(plugin.ok());
    REQUIRE(run(plugin) == "right");
    // Through a mapping, which changes no time of a file before it is unmapped.
    for (const fs::path& each : {here.plugin, here.library}) {
      const host::FileDescriptor file(::open(each.c_str(), O_RDWR | O_CLOEXEC));
      const auto size = static_cast<std::size_t>(fs::file_size(each));
      void* const bytes = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
      REQUIRE(bytes != MAP_FAILED);
      std::memset(bytes, 0xee, size);
      CHECK(run(plugin) == "right");
      ::munmap(bytes, size);
    }
    fs::remove(here.library);
    CHECK(run(plugin) == "right");
  }
}

TEST_CASE("a library that is replaced before the first worker starts is refused") {
  for (const bool is_made : {false, true}) {
    INFO(is_made);
    const HelloCompanions here;
    const auto plugin =
        is_made ? host::Plugin::load(make_isolated(here.plugin), host::all_layers())
                : host::Plugin::load(here.plugin, host::all_layers({.gates = {isolates_all()}}));
    REQUIRE(plugin.ok());
    here.replace_library();
    const std::string refused = run(plugin);
    CHECK((*plugin)->backend("Add").error() == Error::InvalidState);
    CHECK_THAT(refused, ContainsSubstring(here.library.native()) && ContainsSubstring("SHA-256"));
  }
}

TEST_CASE("a library that comes next to the plugin after the check is refused") {
  const HelloCompanions here;
  fs::rename(here.library, here.directory / "kept");
  const fs::path isolated = make_isolated(here.plugin);
  const auto plugin = host::Plugin::load(isolated, host::all_layers());
  REQUIRE(plugin.ok());
  fs::rename(here.directory / "kept", here.library);
  CHECK_THAT(run(plugin), ContainsSubstring("or a library is next to the plugin"));
}

TEST_CASE("under a policy a worker loads libraries that were signed, and the signature's") {
  TENON_TEST_NEEDS_SIGNER();
  const Signer signer;
  const HelloCompanions here;
  const auto policy = policy_of(signer);
  signer.sign_file(here.plugin);
  {
    const auto unsigned_library =
        host::Plugin::load(here.plugin, host::all_layers({.gates = {policy, isolates_all()}}));
    CHECK(unsigned_library.error() == Error::AccessFailed);
    CHECK_THAT(std::string(unsigned_library.text()),
               ContainsSubstring("needed by " + here.plugin.native()));
  }
  signer.sign_file(here.library);
  {
    const auto plugin =
        host::Plugin::load(here.plugin, host::all_layers({.gates = {policy, isolates_all()}}));
    INFO(plugin.text());
    REQUIRE(plugin.ok());
    CHECK(run(plugin) == "right");
  }
  // The publisher's signature of an isolated plugin is one of the wrapped files as well.
  const fs::path isolated = make_isolated(here.plugin);
  signer.sign_file(isolated);
  CHECK(run(host::Plugin::load(isolated, host::all_layers({.gates = {policy}}))) == "right");
  here.replace_library();
  const auto plugin = host::Plugin::load(isolated, host::all_layers({.gates = {policy}}));
  REQUIRE(plugin.ok());
  CHECK((*plugin)->backend("Add").error() == Error::InvalidState);
}

TEST_CASE("under a policy an isolated plugin whose run path leads elsewhere is refused") {
  TENON_TEST_NEEDS_SIGNER();
  const Signer signer;
  const HelloCompanions here;
  std::string bytes = content_of(here.plugin);
  const std::size_t at = bytes.find("$ORIGIN");
  REQUIRE(at != std::string::npos);
  bytes.replace(at, 7, "/opt/ac");
  here.directory.write("hello_companion.so", bytes);
  const fs::path isolated = make_isolated(here.plugin);
  signer.sign_file(isolated);
  const auto plugin =
      host::Plugin::load(isolated, host::all_layers({.gates = {policy_of(signer)}}));
  REQUIRE(plugin.ok());
  CHECK((*plugin)->backend("Add").error() == Error::NotSupported);
  CHECK_THAT(run(plugin), ContainsSubstring("its run path has '/opt/ac"));
}

TEST_CASE("the variable TENON_WORKER does not get around what the application says") {
  const HelloCompanions here;
  const TemporaryDirectory elsewhere;
  put_false_worker(elsewhere.path());
  const ::test::ScopedEnvironment variable(
      ::test::Variables{{"TENON_WORKER", elsewhere.file("tenon-worker")}});
  SECTION("a program that the application names") {
    CHECK(run(host::Plugin::load(here.plugin, host::all_layers({.gates = {isolates_all()}}))) ==
          "right");
  }
  SECTION("a policy of the application, with rules") {
    TENON_TEST_NEEDS_SIGNER();
    const Signer signer;
    signer.sign_file(here.plugin);
    signer.sign_file(here.library);
    const auto plugin = host::Plugin::load(
        here.plugin, host::all_layers({.gates = {policy_of(signer), isolates_all({}, {})}}));
    // The headers of the tests are not installed, and know no program.
    CHECK(plugin.error() == Error::NotFound);
    CHECK_THAT(std::string(plugin.text()), !ContainsSubstring("TENON_WORKER"));
  }
  SECTION("a policy of the application, with an isolated plugin") {
    TENON_TEST_NEEDS_SIGNER();
    const Signer signer;
    const fs::path isolated = make_isolated(here.plugin);
    signer.sign_file(isolated);
    CHECK(run(host::Plugin::load(isolated, host::all_layers({.gates = {policy_of(signer)}}))) ==
          "right");
    CHECK_THAT(run(host::Plugin::load(isolated, host::all_layers())),
               ContainsSubstring("the worker died in open"));
  }
  SECTION("nothing is said") {
    const auto plugin =
        host::Plugin::load(here.plugin, host::all_layers({.gates = {isolates_all({}, {})}}));
    INFO(plugin.text());
    REQUIRE(plugin.ok());
    CHECK_THAT(run(plugin), ContainsSubstring("the worker died in open"));
  }
}

TEST_CASE("a program next to the plugin is not taken for the worker that the application chose") {
  const HelloCompanions here;
  put_false_worker(here.directory.path());
  CHECK(run(host::Plugin::load(here.plugin, host::all_layers({.gates = {isolates_all()}}))) ==
        "right");
}

}}  // namespace checked_files_test
