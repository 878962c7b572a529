// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>

#include "support/catch.hpp"
#include "unit/backend/fake_host.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon::test;

namespace {

/// The action of the backend at one place.
enum Act : std::int64_t { succeed, fail, throw_text, throw_memory, throw_number, throw_no_text };

struct WithoutText : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return nullptr; }
};

tenon::Status perform(std::int64_t act) {
  switch (act) {
    case fail:
      return tenon::error(tenon::Error::AccessFailed, "the test has it fail");
    case throw_text:
      throw std::runtime_error("told to throw");
    case throw_memory:
      throw std::bad_alloc();
    case throw_number:
      throw 42;
    case throw_no_text:
      throw WithoutText();
    default:
      return tenon::ok();
  }
}

struct Failure {
  Act act;
  tenon_status status;
  std::string_view text;
};

constexpr Failure failures[] = {
    {fail, TENON_STATUS_ACCESS_FAILED, "the test has it fail"},
    {throw_text, TENON_STATUS_INTERNAL, "told to throw"},
    {throw_memory, TENON_STATUS_MEMORY_ALLOCATION_FAILED, "out of memory (std::bad_alloc)"},
    {throw_number, TENON_STATUS_INTERNAL, "an exception that is not a std::exception"},
    {throw_no_text, TENON_STATUS_INTERNAL, "std::exception without a text"},
};

/// Where the acts happen, and the objects that live right now.
struct Script {
  std::int64_t in_constructor = succeed;
  std::int64_t in_open = succeed;
  std::int64_t in_is_available = succeed;
  std::int64_t in_init_after_delegate = succeed;
  bool no_memory_for_delegate = false;
  int backends = 0;
  int delegates = 0;
} script;

class Scripted final : public tenon::Backend<Scripted> {
 public:
  static constexpr std::string_view id = "ScriptedBackend";

  struct Delegate {
    Delegate() { ++script.delegates; }
    Delegate(Delegate&&) noexcept { ++script.delegates; }
    ~Delegate() { --script.delegates; }
    static void* operator new(std::size_t size) {
      if (script.no_memory_for_delegate) throw std::bad_alloc();
      return ::operator new(size);
    }
    static void operator delete(void* memory) { ::operator delete(memory); }
  };

  Scripted() {
    static_cast<void>(perform(script.in_constructor));
    ++script.backends;
  }
  ~Scripted() { --script.backends; }

  tenon::Status open() { return perform(script.in_open); }
  tenon::Status is_available() { return perform(script.in_is_available); }

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    const auto act = tenon::read_le<std::int64_t>(processed.bytes());
    if (act) TENON_RETURN_IF_ERROR(perform(*act));
    Delegate delegate;
    TENON_RETURN_IF_ERROR(perform(script.in_init_after_delegate));
    return delegate;
  }

  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args args) {
    TENON_TRY(const auto act, args.integer(0));
    return perform(act);
  }
};

}  // namespace

TENON_PLUGIN(Scripted);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Scripted);

std::string_view blob_of(const std::int64_t& act) {
  return {reinterpret_cast<const char*>(&act), sizeof act};
}

/// Checks that the host got the text of `expected`, in one call.
void check_told(const FakeHost& host, const Failure& expected, int calls = 1) {
  CHECK(host.num_errors == calls);
  CHECK(host.last_status == expected.status);
  CHECK(host.last_text == expected.text);
}

/// Checks that `open` fails as the script says.
void check_not_opened(const Failure& failure) {
  const FakeHost host;
  const OpenedBackend backend(plugin.api(), host);
  INFO(failure.text);
  CHECK(backend.status == failure.status);
  CHECK(backend.backend == nullptr);
  CHECK(script.backends == 0);
  check_told(host, failure);
}

}  // namespace

TEST_CASE("a failure or an exception in open is a status and leaves nothing",
          "[backend][TN-BCK-1][TN-ERR-2]") {
  for (const Failure& failure : failures) {
    script = {};
    script.in_open = failure.act;
    check_not_opened(failure);
  }
}

TEST_CASE("an exception in the constructor is a status of open", "[backend][TN-BCK-1]") {
  for (const Failure& failure : failures) {
    if (failure.act == fail) continue;
    script = {};
    script.in_constructor = failure.act;
    check_not_opened(failure);
  }
}

TEST_CASE("a backend that is not available says why and stays open", "[backend][TN-BCK-1]") {
  script = {};
  const FakeHost host;
  const OpenedBackend backend(plugin.api(), host);
  int calls = 0;
  for (const Failure& failure : failures) {
    script.in_is_available = failure.act;
    INFO(failure.text);
    CHECK(backend.api.is_available(backend.backend) == failure.status);
    check_told(host, failure, ++calls);
  }
  script.in_is_available = succeed;
  CHECK(backend.api.is_available(backend.backend) == TENON_STATUS_OK);
}

TEST_CASE("a failure or an exception in init is a status and leaves no delegate",
          "[backend][TN-INI-1][TN-BCK-1][TN-ERR-2]") {
  script = {};
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  int calls = 0;
  for (const Failure& failure : failures) {
    INFO(failure.text);
    const std::int64_t act = failure.act;
    CHECK(backend.init(blob_of(act)) == failure.status);
    CHECK(backend.delegate == nullptr);
    CHECK(script.delegates == 0);
    check_told(host, failure, ++calls);
  }
}

TEST_CASE("init that fails after it made its delegate leaves no delegate", "[backend][TN-INI-1]") {
  script = {};
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  for (const Failure& failure : failures) {
    INFO(failure.text);
    script.in_init_after_delegate = failure.act;
    CHECK(backend.init("") == failure.status);
    CHECK(backend.delegate == nullptr);
    CHECK(script.delegates == 0);
  }
}

TEST_CASE("init without memory for the delegate fails and leaves no delegate",
          "[backend][TN-INI-1]") {
  script = {};
  script.no_memory_for_delegate = true;
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  CHECK(backend.init("") == TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  CHECK(backend.delegate == nullptr);
  CHECK(script.delegates == 0);

  script.no_memory_for_delegate = false;
  CHECK(backend.init("") == TENON_STATUS_OK);
  CHECK(script.delegates == 1);
  backend.destroy();
  CHECK(script.delegates == 0);
}

TEST_CASE("a failure or an exception in execute is a status and the next call succeeds",
          "[backend][TN-EXE-3][TN-BCK-1][TN-ERR-2]") {
  script = {};
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  REQUIRE(backend.init("") == TENON_STATUS_OK);
  const TestArgs good({integer_value(succeed)});
  int calls = 0;
  for (const Failure& failure : failures) {
    INFO(failure.text);
    const TestArgs args({integer_value(failure.act)});
    CHECK(backend.execute(args.data(), args.size()) == failure.status);
    check_told(host, failure, ++calls);
    CHECK(backend.execute(good.data(), good.size()) == TENON_STATUS_OK);
    CHECK(host.num_errors == calls);
  }
  backend.destroy();
  CHECK(script.delegates == 0);
}
