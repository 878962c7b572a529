// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/sanitizer.hpp"
#include "support/signer.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/discovery.hpp"
#include "tenon/host/isolation.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/signatures.hpp"
#include "unit/host/loader/plugin/process.hpp"

using namespace tenon;
using namespace tenon::test;

namespace isolation_test { namespace {

std::shared_ptr<const host::PluginIsolation> by_rules(std::string_view text) {
  return std::make_shared<host::WorkerIsolation>(*host::parse_isolation_rules(text),
                                                 TENON_TEST_WORKER);
}

host::HostInfo info_with(std::shared_ptr<const host::PluginIsolation> isolation,
                         std::shared_ptr<TestLog> log = std::make_shared<TestLog>()) {
  host::HostInfo out;
  out.log = [log = std::move(log)](std::int32_t, std::string_view, std::string_view text) {
    log->add(text);
  };
  out.gates.push_back(std::move(isolation));
  return out;
}

/// An application whose registry has the rules of `isolation`.
struct Host {
  explicit Host(std::shared_ptr<const host::PluginIsolation> isolation)
      : registry(info_with(std::move(isolation), log)) {
    static_cast<void>(marked_process());
  }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(host::MethodOptions options = {}) {
    TENON_TRY(auto program, host::Program::open(add_program));
    options.registry = &registry;
    return host::Method::load(program, "forward", std::move(options));
  }

  std::shared_ptr<TestLog> log = std::make_shared<TestLog>();
  host::BackendRegistry registry;
};

std::unique_ptr<host::Method> load_add(const host::BackendRegistry& registry) {
  const auto program = host::Program::open(add_program);
  INFO(program.text());
  REQUIRE(program.ok());
  host::MethodOptions options;
  options.registry = &registry;
  auto method = host::Method::load(*program, "forward", std::move(options));
  INFO(method.text());
  REQUIRE(method.ok());
  return *std::move(method);
}

TEST_CASE("a plugin whose file or backend a rule matches runs in a worker") {
  for (const std::string_view rules : {"hello*", "Add", "other=strict, Ad[a-d]", "*.so = none"}) {
    INFO(rules);
    Host here(by_rules(rules));
    REQUIRE(here.registry.register_backend(TENON_TEST_HELLO).ok());
    CHECK(worker_processes().empty());  // Nothing is loaded yet.
    auto method = here.load();
    INFO(method.text());
    REQUIRE(method.ok());
    CHECK_FALSE(is_mapped("hello.so"));
    CHECK(worker_processes().size() == processes_of_worker);
    CHECK(*add(**method) == sum);
    CHECK(here.registry.lookup_backend("Add").ok());
  }
  CHECK(worker_processes().empty());
}

TEST_CASE("a plugin that no rule matches runs in the process") {
  Host here(by_rules("hello,add,Add?=strict"));
  REQUIRE(here.registry.register_backend(TENON_TEST_HELLO).ok());
  auto method = here.load();
  REQUIRE(method.ok());
  CHECK(is_mapped("hello.so"));
  CHECK(worker_processes().empty());
}

TEST_CASE("the first rule that matches says the profile, and options of a rule hold") {
  const std::vector<host::IsolationRule> rules{
      {.pattern = "dies.so", .settings = {.deadline_ms = 300}},
      {.pattern = "Add", .settings = {.deadline_ms = 1}}};
  Host here(std::make_shared<host::WorkerIsolation>(rules, TENON_TEST_WORKER));
  REQUIRE(here.registry.register_backend(TENON_TEST_DIES).ok());
  host::MethodOptions options;
  options.backend_options = {{"Add", "how", "hang"}};
  auto method = here.load(std::move(options));
  INFO(method.text());
  REQUIRE(method.ok());
  CHECK_THAT(std::string(add(**method, 666).text()), ContainsSubstring("the deadline of 300 ms"));
}

TEST_CASE("rules that cannot be read are refused, and then no plugin is loaded") {
  CHECK(host::parse_isolation_rules("")->empty());
  CHECK(host::parse_isolation_rules(" , ")->empty());
  const auto two = host::parse_isolation_rules(" acme* = driver ,b");
  REQUIRE(two.ok());
  REQUIRE(two->size() == 2);
  CHECK(two->front().pattern == "acme*");
  CHECK(two->front().settings.profile == host::WorkerProfile::driver);
  CHECK(two->back().settings.profile == host::WorkerProfile::none);
  const auto unknown = host::parse_isolation_rules("acme=tight");
  CHECK(unknown.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(unknown.text()),
             ContainsSubstring("expected none, open, driver or strict"));
  CHECK_THAT(std::string(host::parse_isolation_rules("=strict").text()),
             ContainsSubstring("has no pattern"));

  const ::test::ScopedEnvironment variable(::test::Variables{{"TENON_ISOLATE", "acme=tight"}});
  Host here(host::environment_isolation(TENON_TEST_WORKER));
  REQUIRE(here.registry.register_backend(TENON_TEST_HELLO).ok());
  const auto method = here.load();
  CHECK(method.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("TENON_ISOLATE"));
  CHECK_FALSE(is_mapped("hello.so"));
}

TEST_CASE("the variable isolates what it matches, and nothing when it is not set") {
  CHECK(host::environment_isolation() == nullptr);
  const ::test::ScopedEnvironment variable(::test::Variables{{"TENON_ISOLATE", "Add=none"}});
  Host here(host::environment_isolation(TENON_TEST_WORKER));
  REQUIRE(here.registry.register_backend(TENON_TEST_HELLO).ok());
  auto method = here.load();
  INFO(method.text());
  REQUIRE(method.ok());
  CHECK_FALSE(is_mapped("hello.so"));
  CHECK(*add(**method) == sum);
}

TEST_CASE("without a worker, or a template next to it, the load fails and names the places") {
  TemporaryDirectory directory;
  std::filesystem::copy_file(TENON_TEST_WORKER, directory / "tenon-worker");
  for (const std::filesystem::path& worker : {directory / "none", directory / "tenon-worker"}) {
    Host here(std::make_shared<host::WorkerIsolation>(*host::parse_isolation_rules("*"), worker));
    REQUIRE(here.registry.register_backend(TENON_TEST_HELLO).ok());
    const auto method = here.load();
    CHECK(method.error() == Error::NotFound);
    CHECK_THAT(std::string(method.text()), ContainsSubstring(worker.native()));
    CHECK_FALSE(is_mapped("hello.so"));
  }
  const ::test::ScopedEnvironment variable(::test::Variables{{"TENON_WORKER", TENON_TEST_WORKER}});
  Host here(std::make_shared<host::WorkerIsolation>(*host::parse_isolation_rules("*")));
  REQUIRE(here.registry.register_backend(TENON_TEST_HELLO).ok());
  CHECK(here.load().ok());
}

TEST_CASE("what is part of the application cannot be isolated, and is not run in its place") {
  constexpr auto close = [](void* handle) { ::dlclose(handle); };
  const std::unique_ptr<void, decltype(close)> library(
      ::dlopen(TENON_TEST_HELLO, RTLD_NOW | RTLD_LOCAL));
  REQUIRE(library != nullptr);
  const auto* const head =
      static_cast<const tenon_plugin_head*>(::dlsym(library.get(), TENON_PLUGIN_SYMBOL));
  const auto linked = host::Plugin::from_static(head, host::all_layers(info_with(by_rules("Add"))));
  CHECK(linked.error() == Error::NotSupported);
  CHECK_THAT(std::string(linked.text()), ContainsSubstring("is linked into the application"));

  const auto plugin =
      host::Plugin::from_static(head, host::all_layers(info_with(by_rules("hello.so"))));
  REQUIRE(plugin.ok());
  Host here(nullptr);
  REQUIRE(here.registry.register_backend(*(*plugin)->backend("Add")).ok());
  host::MethodOptions options;
  options.layers = {host::Isolation(by_rules("Add"))};
  const auto method = here.load(std::move(options));
  CHECK(method.error() == Error::NotSupported);
  CHECK_THAT(std::string(method.text()), ContainsSubstring("is part of the application"));
}

TEST_CASE("a method may have workers of its own while others run in the process") {
  Host here(nullptr);
  REQUIRE(here.registry.register_backend(TENON_TEST_HELLO).ok());
  auto plain = here.load();
  REQUIRE(plain.ok());
  host::MethodOptions options;
  options.layers = {host::Isolation(by_rules("hello.so=none"))};
  auto first = here.load(options);
  auto second = here.load(options);
  INFO(first.text() << second.text());
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(worker_processes().size() == 2 * processes_of_worker);
  CHECK(*add(**plain) == sum);
  CHECK(*add(**first) == sum);
  CHECK(*add(**second) == sum);
  first->reset();
  CHECK(*add(**second) == sum);
  // A layer whose rules do not match changes nothing.
  options.layers = {host::Isolation(by_rules("other"))};
  const auto third = here.load(options);
  REQUIRE(third.ok());
  CHECK(worker_processes().size() == processes_of_worker);
}

TEST_CASE("a method's worker is not asked for a backend of another name, and this is said") {
  Host here(nullptr);
  REQUIRE(here.registry.register_backend(TENON_TEST_HELLO, {.name = "Sum"}).ok());
  const auto isolated = here.registry.isolate_backend("Sum", by_rules("*"));
  CHECK(isolated.error() == Error::NotSupported);
  CHECK_THAT(std::string(isolated.text()), ContainsSubstring("registered under another name"));
  CHECK(here.registry.isolate_backend("None", by_rules("*")).error() == Error::NotFound);
  const auto other = here.registry.isolate_backend("Sum", by_rules("none"));
  REQUIRE(other.ok());
  CHECK_FALSE(static_cast<bool>(*other));
}

TEST_CASE("an isolated plugin is kept when it has the restrictions of the rule, else refused") {
  Application made(TENON_TEST_HELLO);
  Host kept(by_rules("*"));
  REQUIRE(kept.registry.register_backend(made.path()).ok());
  auto method = kept.load();
  INFO(method.text());
  REQUIRE(method.ok());
  CHECK(*add(**method) == sum);
  Host refused(by_rules("*=strict"));
  REQUIRE(refused.registry.register_backend(made.path()).ok());
  CHECK_THAT(std::string(refused.load().text()),
             ContainsSubstring("is an isolated plugin with another profile than strict"));
}

TEST_CASE("kernels of a plugin that a rule matches run in its worker") {
  Host here(by_rules("*"));
  REQUIRE(here.registry.register_backend(TENON_TEST_ARITHMETIC_KERNELS).ok());
  const auto program = host::Program::open(TENON_TEST_FIXTURES "/add_dynamic_portable/model.pte");
  REQUIRE(program.ok());
  host::MethodOptions options;
  options.registry = &here.registry;
  const auto method = host::Method::load(*program, "forward", std::move(options));
  INFO(method.text());
  REQUIRE(method.ok());
  CHECK_FALSE(is_mapped("arithmetic_kernels.so"));
}

TEST_CASE("a plugin is checked by the policy of signatures before it is isolated") {
  TENON_TEST_NEEDS_SIGNER();
  TemporaryDirectory directory;
  const std::filesystem::path plugin = directory / "hello.so";
  std::filesystem::copy_file(TENON_TEST_HELLO, plugin);
  const Signer signer;
  host::Publishers publishers;
  publishers.keys.push_back({"Acme", *host::parse_minisign_key(signer.public_key())});
  const auto policy = std::make_shared<host::SignaturePolicy>(publishers);
  const auto load = [&] {
    host::HostInfo info;
    info.gates = {policy, by_rules("*")};
    return host::Plugin::load(plugin, host::all_layers(std::move(info)));
  };
  CHECK(load().error() == Error::AccessFailed);
  signer.sign_file(plugin);
  {
    const auto loaded = load();
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    CHECK((*loaded)->backend("Add").ok());
    CHECK_FALSE(is_mapped("hello.so"));
  }
  {
    // What was checked is what runs: another file in its place is refused.
    const auto loaded = load();
    REQUIRE(loaded.ok());
    std::filesystem::copy_file(TENON_TEST_GRAPH, directory / "new.so");
    std::filesystem::rename(directory / "new.so", plugin);
    CHECK_THAT(std::string((*loaded)->backend("Add").text()), ContainsSubstring("SHA-256"));
  }
}

TEST_CASE("a plugin whose file is shortened runs on where it was copied") {
  for (const bool is_signed : {false, true}) {
    if (is_signed) TENON_TEST_NEEDS_SIGNER();
    TemporaryDirectory directory;
    const std::filesystem::path plugin = directory / "hello.so";
    std::filesystem::copy_file(TENON_TEST_HELLO, plugin);
    host::HostInfo info;
    if (is_signed) {
      const Signer signer;
      host::Publishers publishers;
      publishers.keys.push_back({"Acme", *host::parse_minisign_key(signer.public_key())});
      signer.sign_file(plugin);
      info.gates.push_back(std::make_shared<host::SignaturePolicy>(publishers));
    } else {
      info.gates.push_back(by_rules("*"));
    }
    host::BackendRegistry registry(info);
    REQUIRE(registry.register_backend(plugin).ok());
    const auto method = load_add(registry);
    std::filesystem::resize_file(plugin, 0);
    const auto got = add(*method);
    INFO(got.text());
    REQUIRE(got.ok());
    CHECK(*got == sum);
  }
}

// A fork begins again when a signal comes, and must be done before the next one.
#if defined(TENON_TEST_HAS_SANITIZER)
constexpr suseconds_t between_signals = 20'000;
#else
constexpr suseconds_t between_signals = 1'000;
#endif

/// While it lives, a signal whose handler interrupts calls comes often.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action{};
    action.sa_handler = [](int) { ++count(); };
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, between_signals}, {0, between_signals}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  static std::atomic<int>& count() {
    static std::atomic<int> value = 0;
    return value;
  }

 private:
  struct sigaction before_{};
};

TEST_CASE("signals that interrupt calls make no load and no run fail") {
  const Interruptions interruptions;
  TemporaryDirectory directory;
  std::filesystem::copy_file(TENON_TEST_HELLO, directory / "hello.so");
  const bool is_signed = Signer::is_possible();
  host::Publishers publishers;
  if (is_signed) {
    const Signer signer;
    publishers.keys.push_back({"Acme", *host::parse_minisign_key(signer.public_key())});
    signer.sign_file(directory / "hello.so");
  }
  for (int i = 0; i < 100 || Interruptions::count() < 20; ++i) {
    host::HostInfo info;
    if (is_signed) info.gates.push_back(std::make_shared<host::SignaturePolicy>(publishers));
    if (i % 2 == 0) info.gates.push_back(by_rules("*"));
    host::BackendRegistry registry(info);
    registry.add_search(
        host::discovery({.paths = {directory.path()}, .use_environment = false, .installed = {}}));
    const auto method = load_add(registry);
    for (int k = 0; k < 20; ++k) REQUIRE(*add(*method) == sum);
  }
}

}}  // namespace isolation_test
