// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <cstdint>
#include <cstring>
#include <string>
#include <tenon/tenon.hpp>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"
#include "unit/core/test_tensor.hpp"

using namespace tenon::test;

namespace {

/// Objects that live right now.
struct Counts {
  int backends = 0;
  int delegates = 0;
} counts;

/// Has everything that a backend may state. A delegate counts how often it ran.
class Stated final : public tenon::Backend<Stated> {
 public:
  static constexpr std::string_view id = "StatedBackend";
  static constexpr std::string_view tags = "experimental,cpu";
  static constexpr std::string_view description = "states all it can";
  static constexpr std::string_view cpu_features = "avx2,fma";
  static constexpr tenon::PayloadVersions payload_versions = {2, 5};
  static constexpr bool runs_embedded_code = true;
  static constexpr std::int32_t priority = -7;

  Stated() { ++counts.backends; }
  ~Stated() { --counts.backends; }

  struct Delegate {
    std::int64_t runs = 0;
    std::string blob;
    explicit Delegate(std::string_view text) : blob(text) { ++counts.delegates; }
    Delegate(Delegate&& other) : runs(other.runs), blob(std::move(other.blob)) {
      ++counts.delegates;
    }
    ~Delegate() { --counts.delegates; }
  };

  tenon::Status open() {
    ++opens_;
    return tenon::ok();
  }

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    if (opens_ != 1) return tenon::error(tenon::Error::InvalidState, "opened ", opens_, " times");
    return Delegate(processed.text());
  }

  /// Argument 0 receives how often this delegate ran, argument 1 is the length of its blob.
  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto runs, args.tensor<std::int64_t>(0));
    TENON_TRY(const auto length, args.integer(1));
    if (length != static_cast<std::int64_t>(delegate.blob.size())) {
      return tenon::error(tenon::Error::InvalidArgument, context.method_name(), ": blob has ",
                          delegate.blob.size(), " bytes, told ", length);
    }
    runs[0] = ++delegate.runs;
    return tenon::ok();
  }

 private:
  int opens_ = 0;
};

/// States nothing that can be left out.
class Bare final : public tenon::Backend<Bare>, public IdleDelegates {
 public:
  static constexpr std::string_view id = "BareBackend";
};

}  // namespace

TENON_PLUGIN(Stated, Bare);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Stated);

/// Runs delegate `backend.delegate` and returns how often it ran so far.
std::int64_t run(OpenedBackend& backend, std::int64_t length) {
  TestTensor runs({1}, {std::int64_t{0}});
  const TestArgs args({runs.value(), integer_value(length)});
  const tenon_status status = backend.execute(args.data(), args.size());
  return status == TENON_STATUS_OK ? runs.elements<std::int64_t>()[0] : -1;
}

}  // namespace

TEST_CASE("the head of a plugin is complete and its offsets are inside the object",
          "[backend][TN-BIN-4]") {
  const tenon_plugin_head& head = plugin.head();
  const std::uint8_t magic[] = TENON_PLUGIN_MAGIC;
  CHECK(std::memcmp(head.magic, magic, sizeof magic) == 0);
  CHECK(head.head_size == sizeof(tenon_plugin_head));
  CHECK(head.abi_major == TENON_ABI_MAJOR);
  CHECK(head.abi_minor == TENON_ABI_MINOR);
  CHECK(head.min_host_abi_minor == 0);
  CHECK(head.pointer_size == sizeof(void*));
  CHECK(head.little_endian == 1);
  CHECK(head.num_backends == 2);
  CHECK(head.record_size == sizeof(tenon_backend_record));
  CHECK(head.records_offset >= head.head_size);
  CHECK(head.records_offset + 2 * head.record_size <= head.body_offset);
  CHECK(head.body_offset + sizeof(tenon_plugin_body) <= head.object_size);
  CHECK(std::string(head.name) == "StatedBackend");
  CHECK(std::string(head.version) == "3.2.1");
  CHECK(std::string(head.vendor) == "Acme");
  CHECK(std::string(head.sdk_version) == TENON_VERSION_STRING);
}

TEST_CASE("the record of a backend has the facts of its class", "[backend][TN-BIN-5][TN-BIN-8]") {
  const tenon_backend_record& stated = plugin.record(0);
  CHECK(stated.struct_size == sizeof(tenon_backend_record));
  CHECK(std::string(stated.id) == "StatedBackend");
  CHECK(std::string(stated.tags) == "experimental,cpu");
  CHECK(std::string(stated.description) == "states all it can");
  CHECK(std::string(stated.cpu_features) == "avx2,fma");
  CHECK(stated.min_payload_version == 2);
  CHECK(stated.max_payload_version == 5);
  CHECK(stated.priority == -7);
  CHECK(stated.flags == TENON_BACKEND_RUNS_EMBEDDED_CODE);
  CHECK(stated.reserved == 0);

  const tenon_backend_record& bare = plugin.record(1);
  CHECK(std::string(bare.id) == "BareBackend");
  CHECK(std::string(bare.tags).empty());
  CHECK(std::string(bare.description).empty());
  CHECK(std::string(bare.cpu_features).empty());
  CHECK(bare.min_payload_version == 0);
  CHECK(bare.max_payload_version == 0);
  CHECK(bare.priority == 0);
  CHECK(bare.flags == 0);
}

TEST_CASE("a plugin of two backends has two full tables in the order of the records",
          "[backend][TN-BCK-3]") {
  CHECK(plugin.body().struct_size == sizeof(tenon_plugin_body));
  REQUIRE(plugin.body().num_backends == 2);
  CHECK(&plugin.api(0) != &plugin.api(1));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const tenon_backend_api& api = plugin.api(i);
    CHECK(api.struct_size == sizeof(tenon_backend_api));
    CHECK(api.reserved == 0);
    CHECK((api.open && api.close && api.is_available && api.init && api.execute && api.destroy &&
           api.get_extension));
  }
  const FakeHost host;
  OpenedBackend bare(plugin.api(1), host);
  REQUIRE(bare.status == TENON_STATUS_OK);
  CHECK(bare.init("any") == TENON_STATUS_OK);
  CHECK(bare.execute(nullptr, 0) == TENON_STATUS_OK);
  bare.destroy();
  CHECK(counts.backends == 0);
}

TEST_CASE("a backend lives from open to close and a delegate from init to destroy",
          "[backend][TN-BCK-5][TN-INI-4]") {
  const FakeHost host;
  {
    OpenedBackend backend(plugin.api(), host);
    REQUIRE(backend.status == TENON_STATUS_OK);
    CHECK(counts.backends == 1);
    CHECK(backend.api.is_available(backend.backend) == TENON_STATUS_OK);
    REQUIRE(backend.init("blob") == TENON_STATUS_OK);
    CHECK(counts.delegates == 1);
    CHECK(run(backend, 4) == 1);
    backend.destroy();
    CHECK(counts.delegates == 0);
    CHECK(counts.backends == 1);
  }
  CHECK(counts.backends == 0);
  CHECK(host.num_errors == 0);
}

TEST_CASE("a delegate runs any number of times and keeps its own state", "[backend][TN-EXE-1]") {
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  REQUIRE(backend.init("first") == TENON_STATUS_OK);
  tenon_delegate* const first = backend.delegate;
  REQUIRE(backend.init("no 2") == TENON_STATUS_OK);
  tenon_delegate* const second = backend.delegate;
  CHECK(counts.delegates == 2);
  for (std::int64_t i = 1; i <= 100; ++i) CHECK(run(backend, 4) == i);
  backend.delegate = first;
  CHECK(run(backend, 5) == 1);
  backend.destroy();
  backend.delegate = second;
  CHECK(run(backend, 4) == 101);
  backend.destroy();
  CHECK(counts.delegates == 0);
}

TEST_CASE("destroying one delegate leaves the others alone", "[backend][TN-DES-1]") {
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  tenon_delegate* delegates[3];
  for (tenon_delegate*& delegate : delegates) {
    REQUIRE(backend.init("same") == TENON_STATUS_OK);
    delegate = backend.delegate;
  }
  backend.delegate = delegates[1];
  backend.destroy();
  for (const int i : {0, 2}) {
    backend.delegate = delegates[i];
    CHECK(run(backend, 4) == 1);
    backend.destroy();
  }
}

TEST_CASE("destroy accepts a delegate that is null", "[backend][TN-DES-2]") {
  const FakeHost host;
  const OpenedBackend backend(plugin.api(), host);
  backend.api.destroy(backend.backend, nullptr);
  CHECK(counts.delegates == 0);
}

TEST_CASE("two hosts that open one backend get two objects", "[backend]") {
  const FakeHost first_host;
  const FakeHost second_host;
  const OpenedBackend first(plugin.api(), first_host);
  OpenedBackend second(plugin.api(), second_host);
  CHECK(first.backend != second.backend);
  CHECK(counts.backends == 2);
  CHECK(second.init("blob") == TENON_STATUS_OK);
  CHECK(run(second, 99) == -1);
  CHECK(second_host.num_errors == 1);
  CHECK(first_host.num_errors == 0);
  second.destroy();
}

TEST_CASE("a host of another ABI major is refused with both versions", "[backend][TN-BCK-4]") {
  FakeHost host;
  host.abi_major = 2;
  host.abi_minor = 3;
  const OpenedBackend backend(plugin.api(), host);
  CHECK(backend.status == TENON_STATUS_NOT_SUPPORTED);
  CHECK(backend.backend == nullptr);
  CHECK(counts.backends == 0);
  CHECK(host.last_status == TENON_STATUS_NOT_SUPPORTED);
  CHECK_THAT(host.last_text, ContainsSubstring("StatedBackend") && ContainsSubstring("1.0") &&
                                 ContainsSubstring("2.3") && ContainsSubstring("fake host 9.8"));
}

TEST_CASE("a failed execute leaves its text with the host and the next call succeeds",
          "[backend][TN-ERR-2][TN-EXE-3]") {
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  REQUIRE(backend.init("blob") == TENON_STATUS_OK);
  TestTensor runs({1}, {std::int64_t{0}});

  const TestArgs wrong({runs.value(), integer_value(5)});
  CHECK(backend.execute(wrong.data(), wrong.size()) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(host.last_status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(host.last_text == "forward: blob has 4 bytes, told 5");

  CHECK(backend.execute(wrong.data(), 1) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(host.last_text == "number of arguments: expected 2, found 1");
  CHECK(host.num_errors == 2);

  CHECK(run(backend, 4) == 1);
  CHECK(host.num_errors == 2);
  backend.destroy();
}
