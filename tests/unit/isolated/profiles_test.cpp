// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "support/sanitizer.hpp"
#include "tenon/host/layers/async/worker_pool.hpp"
#include "tenon/host/layers/prepared/prepared_cache.hpp"

using namespace tenon;
using namespace tenon::test;

namespace isolated_profiles_test { namespace {

/// A way out, and what the application reads of it. An escape that ends the worker is in the
/// failure of the call; any other is in the log when the worker ends.
struct Escape {
  std::string how;
  std::string text;
  bool ends = false;
};

const std::vector<Escape> escapes = {
    {"read_passwords", "refused openat of /etc/passwd"},
    {"write_file", "refused openat of /tmp/tenon-escaped"},
    {"connect", "refused socket"},
    {"listen", "refused socket"},
    {"trace_parent", "ended by ptrace", true},
    {"read_parent", "ended by process_vm_readv", true},
    {"kill_parent", "ended by kill", true},
    {"start_program", "ended by execve", true},
    {"mount_over", "ended by mount", true},
    {"read_keys", "ended by keyctl", true},
    {"load_kernel_code", "ended by bpf", true},
};

/// A slow machine has no line in the log about calls without a deadline.
const host::WorkerSettings strict_in_time{.profile = host::WorkerProfile::strict,
                                          .deadline_ms = 100'000};

bool has_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// Whether this machine has the profile `strict`: Landlock, and a worker that no sanitizer watches.
bool has_strict() {
#if defined(TENON_TEST_HAS_SANITIZER)
  WARN("not run: sanitizers make calls and threads of their own");
  return false;
#else
  Application application(TENON_TEST_HELLO, Application::Place::isolated,
                          host::WorkerProfile::strict);
  const auto method = application.load(add_program);
  const bool lacks = !method.ok() && has_text(method.text(), "this kernel has no Landlock");
  if (lacks) WARN("not run: " << method.text());
  return !lacks;
#endif
}

TEST_CASE("a plugin does not get out of a worker with the profile strict, and the way is named") {
  if (!has_strict()) return;
  for (const Escape& escape : escapes) {
    INFO(escape.how);
    std::shared_ptr<const TestLog> log;
    {
      Application application(TENON_TEST_ESCAPES, Application::Place::isolated,
                              host::WorkerProfile::strict);
      auto method = application.load(add_program, {{"Add", "how", escape.how}});
      REQUIRE(std::string(method.text()) == "");
      const auto result = add(**method);
      INFO(result.text());
      REQUIRE_FALSE(result.ok());
      if (escape.ends) {
        CHECK(has_text(result.text(), "it was ended by SIGSYS"));
        CHECK(has_text(result.text(), escape.text));
      } else {
        CHECK(has_text(result.text(), escape.how + " is refused"));
      }
      log = application.log();
    }
    if (!escape.ends) CHECK(has_text(joined(log->lines()), escape.text));
  }
}

TEST_CASE("a plugin without a profile does what the user may do") {
  Application application(TENON_TEST_ESCAPES);
  auto method = application.load(add_program, {{"Add", "how", "read_passwords"}});
  REQUIRE(method.ok());
  CHECK(*add(**method) == sum);
}

TEST_CASE("plugins that compute have the same results with the profile strict") {
  if (!has_strict()) return;
  std::shared_ptr<const TestLog> log;
  {
    Application application(TENON_TEST_HELLO, Application::Place::isolated, strict_in_time);
    log = application.log();
    auto method = application.load(add_program);
    REQUIRE(std::string(method.text()) == "");
    CHECK(*add(**method) == sum);
  }
  // Nothing was refused.
  CHECK(joined(log->lines()) == "");
}

TEST_CASE(
    "prepared bytes and a pool reach a plugin with the profile strict, and nothing is refused") {
  if (!has_strict()) return;
  const TemporaryDirectory directory;
  auto cache = host::PreparedCache::open(directory / "prepared");
  REQUIRE(cache.ok());
  auto pool = host::WorkerPool::create(2);
  REQUIRE(pool.ok());
  host::MethodOptions options;
  options.layers.add(*cache);
  options.layers.add(**pool);
  std::shared_ptr<const TestLog> log;
  {
    Application application(TENON_TEST_USES_HOST, Application::Place::isolated, strict_in_time);
    log = application.log();
    const host::BackendOption keeps{"Add", "keeps", std::string("init")};
    REQUIRE(application.load(add_program, {keeps}, options).ok());
    auto method = application.load(add_program, {keeps}, options);
    REQUIRE(method.ok());
    auto expected = sum;
    for (float& each : expected) each += 1000 + 20000;
    CHECK(*add(**method) == expected);
  }
  CHECK(joined(log->lines()) == "");
}

TEST_CASE("a permission that the profile does not have is refused when the plugin is made") {
  TemporaryDirectory directory;
  isolate::Request request{.template_file = TENON_TEST_ISOLATED_TEMPLATE,
                           .worker = TENON_TEST_WORKER,
                           .plugin = TENON_TEST_HELLO,
                           .out = directory / "isolated.so"};
  using enum host::WorkerProfile;
  const auto refusal = [&](host::WorkerProfile profile, const char* permission) {
    request.settings = {.profile = profile, .permissions = {permission}};
    return std::string(isolate::make_isolated(request).text());
  };
  CHECK(has_text(refusal(none, "read=/opt"), "without a profile nothing is refused"));
  CHECK(has_text(refusal(strict, "write=/tmp"), "the profile strict has no such permission"));
  CHECK(has_text(refusal(driver, "write=tmp"), "expected an absolute path"));
  CHECK(has_text(refusal(strict, "read=/a\nread=/b"), "expected an absolute path"));
  CHECK(has_text(refusal(driver, "reads=/opt"), "expected read=, write=, device= or program="));
}

}}  // namespace isolated_profiles_test
