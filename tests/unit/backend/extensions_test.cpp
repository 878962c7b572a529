// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

/// Has every mixin but options. Its blob says what it answers.
class Able final : public Backend<Able>,
                   public WithCheckBlob<Able>,
                   public WithMemoryInfo<Able>,
                   public WithDevices<Able> {
 public:
  static constexpr std::string_view id = "AbleBackend";
  struct Delegate {
    std::uint64_t weights;
  };

  Result<Delegate> init(InitContext&, Blob processed, CompileSpecs) {
    return Delegate{processed.size()};
  }
  Status execute(ExecutionContext&, Delegate&, Args) { return ok(); }

  Result<BlobVerdict> check_blob(InitContext& context, Blob processed, CompileSpecs specs) {
    if (processed.text() == "optimal") return BlobVerdict{};
    if (processed.text() == "usable") {
      return BlobVerdict{Compatibility::Usable, concat("made for another ", context.method_name())};
    }
    if (processed.text() == "incompatible") {
      return BlobVerdict{Compatibility::Incompatible, concat(specs.size(), " specs")};
    }
    if (processed.text() == "throw") throw std::runtime_error("told to throw");
    return error(Error::InvalidProgram, "unreadable");
  }

  MemoryUses memory_info(const Delegate* delegate) {
    if (!delegate) return {{.weights = 1}};
    return {{.weights = delegate->weights, .workspace = 20},
            {.weights = 30, .session = 40, .device = {TENON_DL_CUDA, 3}}};
  }

  Result<std::vector<DeviceInfo>> devices() {
    if (fail) return error(Error::AccessFailed, "driver is asleep");
    return std::vector<DeviceInfo>{
        {{TENON_DL_CPU, 0}, "CPU", "the host", 0},
        {{TENON_DL_CUDA, 3}, "Card", "driver 1.2", 1ull << 40, identity, true}};
  }
  static inline bool fail = false;
  static inline std::string identity = "uuid:4a1d";
};

/// Has no mixin.
class Plain final : public Backend<Plain>, public IdleDelegates {
 public:
  static constexpr std::string_view id = "PlainBackend";
};

}  // namespace

TENON_PLUGIN(Able, Plain);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Able);

struct Verdict {
  tenon_status status;
  std::uint32_t verdict;
};

Verdict judge(const OpenedBackend& backend, std::string_view text) {
  FakeBuffer processed(text);
  const tenon_compile_spec spec = {sizeof spec, 0, "key", "value", 5};
  tenon_init_context context{};
  context.struct_size = sizeof context;
  context.host = &backend.opened_by;
  context.method_name = "forward";
  context.processed = &processed;
  context.compile_specs = &spec;
  context.num_compile_specs = 1;
  Verdict out{0, 99};
  const auto* table = backend.extension<tenon_check_blob_v1>(TENON_EXTENSION_CHECK_BLOB);
  REQUIRE(table != nullptr);
  CHECK(table->struct_size == sizeof(tenon_check_blob_v1));
  out.status = table->check_blob(backend.backend, &context, &out.verdict);
  CHECK(processed.releases == 0);
  return out;
}

}  // namespace

TEST_CASE("a backend has the extensions of its mixins and no others", "[backend]") {
  const FakeHost host;
  const OpenedBackend able(plugin.api(0), host);
  CHECK(able.extension<void>(TENON_EXTENSION_OPTIONS) == nullptr);
  CHECK(able.extension<void>(TENON_EXTENSION_CHECK_BLOB) != nullptr);
  CHECK(able.extension<void>(TENON_EXTENSION_MEMORY_INFO) != nullptr);
  CHECK(able.extension<void>(TENON_EXTENSION_DEVICES) != nullptr);

  const OpenedBackend plain(plugin.api(1), host);
  for (const char* id : {TENON_EXTENSION_OPTIONS, TENON_EXTENSION_CHECK_BLOB,
                         TENON_EXTENSION_MEMORY_INFO, TENON_EXTENSION_DEVICES}) {
    CHECK(plain.extension<void>(id) == nullptr);
  }
  for (const char* id : {"", "tenon.devices", "tenon.devices/2", "tenon.devices/10", "x"}) {
    CHECK(able.extension<void>(id) == nullptr);
  }
  CHECK(host.num_errors == 0);
}

TEST_CASE("a blob is judged without the device and the reason is passed to the host",
          "[backend][TN-BLB-1]") {
  const FakeHost host;
  const OpenedBackend backend(plugin.api(), host);
  const Verdict optimal = judge(backend, "optimal");
  CHECK(optimal.status == TENON_STATUS_OK);
  CHECK(optimal.verdict == TENON_BLOB_OPTIMAL);
  CHECK(host.num_errors == 0);

  const Verdict usable = judge(backend, "usable");
  CHECK(usable.status == TENON_STATUS_OK);
  CHECK(usable.verdict == TENON_BLOB_USABLE);
  CHECK(host.last_text == "made for another forward");

  const Verdict incompatible = judge(backend, "incompatible");
  CHECK(incompatible.status == TENON_STATUS_OK);
  CHECK(incompatible.verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK(host.last_text == "1 specs");
}

TEST_CASE("check_blob that fails or throws gives a status and no verdict", "[backend][TN-BCK-1]") {
  const FakeHost host;
  const OpenedBackend backend(plugin.api(), host);
  const Verdict unreadable = judge(backend, "?");
  CHECK(unreadable.status == TENON_STATUS_INVALID_PROGRAM);
  CHECK(unreadable.verdict == 99);
  CHECK(host.last_text == "unreadable");
  CHECK(judge(backend, "throw").status == TENON_STATUS_INTERNAL);
  CHECK(host.last_text == "told to throw");
}

TEST_CASE("memory is reported for one delegate and for what none has", "[backend]") {
  const FakeHost host;
  OpenedBackend backend(plugin.api(), host);
  const auto* table = backend.extension<tenon_memory_info_v1>(TENON_EXTENSION_MEMORY_INFO);
  REQUIRE(table != nullptr);
  CHECK(table->struct_size == sizeof(tenon_memory_info_v1));
  REQUIRE(backend.init("12345") == TENON_STATUS_OK);

  const auto sink = [](void* to, const tenon_memory_use* use) {
    CHECK(use->struct_size == sizeof *use);
    static_cast<std::vector<std::string>*>(to)->push_back(concat(
        use->device.device_type, ":", use->device.device_id, " ", use->kind, " ", use->nbytes));
  };
  std::vector<std::string> uses;
  REQUIRE(table->memory_info(backend.backend, backend.delegate, sink, &uses) == TENON_STATUS_OK);
  CHECK(uses == std::vector<std::string>{"1:0 weights 5", "1:0 workspace 20", "2:3 weights 30",
                                         "2:3 session 40"});
  uses.clear();
  REQUIRE(table->memory_info(backend.backend, nullptr, sink, &uses) == TENON_STATUS_OK);
  CHECK(uses == std::vector<std::string>{"1:0 weights 1"});
  backend.destroy();
}

TEST_CASE("devices are listed one by one, or the reason why not", "[backend]") {
  const FakeHost host;
  const OpenedBackend backend(plugin.api(), host);
  const auto* table = backend.extension<tenon_devices_v1>(TENON_EXTENSION_DEVICES);
  REQUIRE(table != nullptr);
  struct Seen {
    std::vector<std::string> names;
    std::uint64_t memory = 0;
    std::int32_t last_id = -1;
    std::vector<std::string> identities;
    std::uint32_t last_flags = 0;
  } seen;
  const auto sink = [](void* context, const tenon_device_info* device) {
    auto& out = *static_cast<Seen*>(context);
    CHECK(device->struct_size == sizeof(tenon_device_info));
    out.names.push_back(std::string(device->name) + ": " + device->description);
    out.memory += device->memory_bytes;
    out.last_id = device->device.device_id;
    out.identities.emplace_back(device->identity);
    out.last_flags = device->flags;
  };
  REQUIRE(table->list_devices(backend.backend, sink, &seen) == TENON_STATUS_OK);
  CHECK(seen.names == std::vector<std::string>{"CPU: the host", "Card: driver 1.2"});
  CHECK(seen.memory == 1ull << 40);
  CHECK(seen.last_id == 3);
  CHECK(seen.identities == std::vector<std::string>{"", "uuid:4a1d"});
  CHECK(seen.last_flags == TENON_DEVICE_SHARES_ADDRESSES);

  Able::identity = std::string(80, 'x');
  CHECK(table->list_devices(backend.backend, sink, &seen) == TENON_STATUS_INTERNAL);
  CHECK(host.last_text == "the identity of device 3 has 80 characters, expected at most 79");
  Able::identity = "uuid:4a1d";
  seen.names.resize(2);

  Able::fail = true;
  CHECK(table->list_devices(backend.backend, sink, &seen) == TENON_STATUS_ACCESS_FAILED);
  Able::fail = false;
  CHECK(host.last_text == "driver is asleep");
  CHECK(seen.names.size() == 2);
}
