// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "proxied.hpp"
#include "support/catch.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::test;
namespace fs = std::filesystem;

namespace make_proxy_test {
namespace {

constexpr const char* template_file = TENON_TEST_PROXY_TEMPLATE;

Status make(const std::string& plugin, const fs::path& out, bool force = false) {
  return conformance::make_proxy(template_file, plugin, out, force);
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t num_files(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), {}));
}

}  // namespace

TEST_CASE("a proxy has the record of its plugin", "[proxy]") {
  const TemporaryDirectory directory;
  for (const std::string& plugin :
       {std::string(TENON_TEST_HELLO), std::string(TENON_TEST_DEMO), zoo_plugin("good"),
        zoo_plugin("good_code"), std::string(TENON_TEST_ZOO "/two_backends.so"),
        std::string(TENON_TEST_ZOO "/embedded_code.so")}) {
    INFO(plugin);
    REQUIRE(make(plugin, directory / "proxy.so", true).ok());
    const auto theirs = host::peek(fs::path(plugin));
    const auto mine = host::peek(directory / "proxy.so");
    REQUIRE(theirs.ok());
    REQUIRE(mine.ok());
    CHECK(*mine == *theirs);
  }
  CHECK(num_files(directory.path()) == 1);
}

TEST_CASE("a file in the way of a proxy is replaced only by force", "[proxy]") {
  const TemporaryDirectory directory;
  const fs::path out = directory.write("proxy.so", "precious");
  const Status refused = make(TENON_TEST_HELLO, out);
  CHECK(refused.error() == Error::InvalidState);
  CHECK(refused.text() == out.native() + ": already exists (--force replaces it)");
  CHECK(content(out) == "precious");
  CHECK(make(TENON_TEST_HELLO, out, true).ok());
  CHECK(host::peek(out).ok());
  fs::create_directory(directory / "folder");
  CHECK(make(TENON_TEST_HELLO, directory / "folder", true).error() == Error::InvalidState);
}

TEST_CASE("a proxy never replaces its plugin", "[proxy]") {
  const TemporaryDirectory directory;
  fs::copy_file(TENON_TEST_HELLO, directory / "hello.so");
  const std::string before = content(directory / "hello.so");
  const Status refused = make(directory.file("hello.so"), directory / "." / "hello.so", true);
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("is the plugin itself"));
  CHECK(content(directory / "hello.so") == before);
}

TEST_CASE("a proxy of a proxy is refused", "[proxy]") {
  const TemporaryDirectory directory;
  REQUIRE(make(TENON_TEST_HELLO, directory / "one.so").ok());
  const Status refused = make(directory.file("one.so"), directory / "two.so");
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("is a proxy itself, of " + std::string(TENON_TEST_HELLO)));
  CHECK_FALSE(fs::exists(directory / "two.so"));
}

TEST_CASE("a file that is not a plugin gets no proxy", "[proxy]") {
  const TemporaryDirectory directory;
  const fs::path text = directory.write("text.so", "not a library");
  CHECK(make(directory.file("missing.so"), directory / "out.so").error() == Error::NotFound);
  const Status refused = make(text, directory / "out.so");
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("a text file"));
  CHECK(make(TENON_TEST_ZOO "/newer_major.so", directory / "out.so").error() ==
        Error::NotSupported);
  CHECK(make(TENON_TEST_ZOO "/needs_newer_minor.so", directory / "out.so").error() ==
        Error::NotSupported);
  CHECK(conformance::make_proxy(TENON_TEST_HELLO, TENON_TEST_DEMO, directory / "out.so", false)
            .error() == Error::InvalidArgument);
  CHECK(num_files(directory.path()) == 1);
}

TEST_CASE("a plugin with more backends than a proxy supports is refused", "[proxy]") {
  const TemporaryDirectory directory;
  const Status refused = make(TENON_TEST_SEVENTEEN, directory / "out.so");
  CHECK(refused.error() == Error::NotSupported);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("has 17 backends, a proxy supports at most 16"));
  CHECK(num_files(directory.path()) == 0);
}

TEST_CASE("a proxy in a directory that cannot be written is refused", "[proxy]") {
  const Status refused = make(TENON_TEST_HELLO, "/proc/none/out.so");
  CHECK(refused.error() == Error::AccessFailed);
  CHECK_THAT(std::string(refused.text()),
             ContainsSubstring("/proc/none/out.so: cannot create a file next to it"));
}

TEST_CASE("the template of proxies is a plugin that explains its use", "[proxy]") {
  auto plugin = host::Plugin::load(template_file, host::all_layers());
  REQUIRE(plugin.ok());
  const auto backend = (*plugin)->backend("TenonProxyTemplate");
  CHECK(backend.error() == Error::NotSupported);
  CHECK_THAT(std::string(backend.text()),
             ContainsSubstring("tenon-conformance --make-proxy OUT PLUGIN"));
  plugin->reset();
  CHECK_FALSE(is_mapped("tenon-proxy.so"));
}

TEST_CASE("a proxy reports a missing or changed plugin", "[proxy]") {
  const TemporaryDirectory directory;
  fs::copy_file(TENON_TEST_HELLO, directory / "plugin.so");
  REQUIRE(make(directory.file("plugin.so"), directory / "proxy.so").ok());
  const auto open = [&]() -> Status {
    TENON_TRY(auto plugin, host::Plugin::load(directory / "proxy.so", host::all_layers()));
    TENON_TRY(auto backend, plugin->backend("Add"));
    return ok();
  };
  CHECK(open().ok());

  fs::remove(directory / "plugin.so");
  const Status gone = open();
  CHECK(gone.error() == Error::NotSupported);
  CHECK_THAT(std::string(gone.text()),
             ContainsSubstring(directory.file("plugin.so") + ": there is no such file"));

  fs::copy_file(TENON_TEST_DEMO, directory / "plugin.so");
  const Status other = open();
  CHECK(other.error() == Error::NotSupported);
  CHECK_THAT(std::string(other.text()), ContainsSubstring("make the proxy again"));
  CHECK_THAT(std::string(other.text()), ContainsSubstring("BackendWithCompilerDemo"));

  fs::remove(directory / "plugin.so");
  directory.write("plugin.so", "nothing");
  CHECK_THAT(std::string(open().text()), ContainsSubstring("a text file"));
}

}  // namespace make_proxy_test
