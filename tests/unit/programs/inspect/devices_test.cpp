// SPDX-License-Identifier: MIT
#include "tenon/host/layers/devices/devices.hpp"

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"

using namespace tenon;
using namespace tenon::host;

namespace {

/// The devices of the backend of the current test.
struct Behaviour {
  const void* extension = nullptr;
  std::vector<const tenon_device_info*> devices;
  tenon_status status = TENON_STATUS_OK;
  const tenon_host* host = nullptr;
};
Behaviour behaviour;

const void* get_extension(tenon_backend*, const char* id) {
  return std::string_view(id) == TENON_EXTENSION_DEVICES ? behaviour.extension : nullptr;
}

tenon_status list(tenon_backend*, tenon_device_sink sink, void* context) {
  for (const tenon_device_info* device : behaviour.devices) sink(context, device);
  constexpr std::string_view why = "the bus is off";
  if (behaviour.status != TENON_STATUS_OK) {
    behaviour.host->set_last_error(behaviour.host, behaviour.status, why.data(), why.size());
  }
  return behaviour.status;
}

const tenon_devices_v1 whole_table{sizeof(tenon_devices_v1), 0, &list};

Result<std::vector<BackendDevice>> devices_of(Behaviour now) {
  HostTable table({"test", {}}, "test.so");
  now.host = table.get();
  behaviour = std::move(now);
  BackendRecord record;
  record.id = "TestBackend";
  tenon_backend_api api = test::idle_table();
  api.get_extension = &get_extension;
  auto backend = LoadedBackend::open(record, table.get(), api);
  REQUIRE(backend.ok());
  return list_devices(*backend);
}

tenon_device_info device(std::int32_t index, const char* name, const char* description,
                         std::uint64_t memory_bytes) {
  return {sizeof(tenon_device_info),
          TENON_DEVICE_SHARES_ADDRESSES,
          {TENON_DL_CUDA, index},
          memory_bytes,
          name,
          description,
          "uuid:1"};
}

}  // namespace

TEST_CASE("a backend without the extension has no devices") {
  const auto none = devices_of({});
  REQUIRE(none.ok());
  CHECK(none->empty());
  // A table so old that it ends before the function.
  const tenon_devices_v1 short_table{offsetof(tenon_devices_v1, list_devices), 0, &list};
  const tenon_device_info unseen = device(0, "unseen", "", 1);
  const auto older = devices_of({&short_table, {&unseen}});
  REQUIRE(older.ok());
  CHECK(older->empty());
}

TEST_CASE("devices are copied in the backend's order") {
  std::string name = "second";
  const tenon_device_info devices[] = {device(1, name.c_str(), "a card", 1024),
                                       device(0, "first", "", 0)};
  const auto found = devices_of({&whole_table, {&devices[0], &devices[1]}});
  name.assign("changed");
  REQUIRE(found.ok());
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].device.device_type == TENON_DL_CUDA);
  CHECK((*found)[0].device.device_id == 1);
  CHECK((*found)[0].name == "second");
  CHECK((*found)[0].description == "a card");
  CHECK((*found)[0].memory_bytes == 1024);
  CHECK((*found)[0].identity == "uuid:1");
  CHECK((*found)[0].shares_addresses);
  CHECK((*found)[1].name == "first");
  CHECK((*found)[1].memory_bytes == 0);
}

TEST_CASE("what a shorter description of a device lacks reads as unknown") {
  // On the heap in its own size, so that a sanitizer sees a read behind it.
  constexpr std::uint32_t size = offsetof(tenon_device_info, description);
  const tenon_device_info whole = device(3, "short", "not there", 77);
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &whole, size);
  std::memcpy(bytes.data(), &size, sizeof size);
  const auto* cut = reinterpret_cast<const tenon_device_info*>(bytes.data());
  const auto found = devices_of({&whole_table, {cut}});
  REQUIRE(found.ok());
  REQUIRE(found->size() == 1);
  CHECK(found->front().device.device_id == 3);
  CHECK(found->front().name == "short");
  CHECK(found->front().description.empty());
  CHECK(found->front().memory_bytes == 77);
  CHECK(found->front().identity.empty());
}

TEST_CASE("an identity without a terminator is ignored") {
  tenon_device_info endless = device(0, "first", "", 0);
  std::memset(endless.identity, 'x', sizeof endless.identity);
  const auto found = devices_of({&whole_table, {&endless}});
  REQUIRE(found.ok());
  REQUIRE(found->size() == 1);
  CHECK(found->front().identity.empty());
}

TEST_CASE("a device without texts, and none at all, are borne") {
  const tenon_device_info silent = device(0, nullptr, nullptr, 5);
  const auto found = devices_of({&whole_table, {nullptr, &silent}});
  REQUIRE(found.ok());
  REQUIRE(found->size() == 1);
  CHECK(found->front().name.empty());
  CHECK(found->front().description.empty());
}

TEST_CASE("a backend that cannot list its devices says why, and none is returned") {
  const tenon_device_info first = device(0, "first", "", 0);
  const auto found = devices_of({&whole_table, {&first}, TENON_STATUS_ACCESS_FAILED});
  REQUIRE_FALSE(found.ok());
  CHECK(found.error() == Error::AccessFailed);
  CHECK_THAT(std::string(found.text()),
             ContainsSubstring("TestBackend") && ContainsSubstring("the bus is off"));
}
