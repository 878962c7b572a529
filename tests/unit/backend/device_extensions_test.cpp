// SPDX-License-Identifier: MIT
#include <tenon/abi/static_plugin.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
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

constexpr tenon_dl_device card{TENON_DL_CUDA, 1};

/// Device memory that is the process's own, and delegates that remember their stream.
class Roomy final : public Backend<Roomy>,
                    public WithDevices<Roomy>,
                    public WithDeviceMemory<Roomy>,
                    public WithStreams<Roomy> {
 public:
  static constexpr std::string_view id = "RoomyBackend";
  struct Delegate {
    void* stream = nullptr;
  };

  Result<Delegate> init(InitContext&, Blob, CompileSpecs) { return Delegate{}; }
  Status execute(ExecutionContext&, Delegate&, Args) { return ok(); }
  Result<std::vector<DeviceInfo>> devices() {
    return std::vector<DeviceInfo>{{card, "Card", "", 0}};
  }

  Result<void*> allocate_device(tenon_dl_device device, std::size_t nbytes, std::size_t alignment) {
    TENON_RETURN_IF_ERROR(check(device));
    if (nbytes > 1024) throw std::bad_alloc();
    ++blocks;
    last_alignment = alignment;
    return ::operator new(nbytes, std::align_val_t(64));
  }
  void free_device(tenon_dl_device, void* block) noexcept {
    --blocks;
    ::operator delete(block, std::align_val_t(64));
  }
  Status copy_to_device(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    TENON_RETURN_IF_ERROR(check(device));
    std::memcpy(to, from, nbytes);
    return ok();
  }
  Status copy_to_host(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    if (nbytes == 13) throw std::runtime_error("unlucky");
    return copy_to_device(device, to, from, nbytes);
  }

  static constexpr const char* stream_kind = "acme.stream";
  Status set_stream(Delegate& delegate, void* stream) {
    if (stream == this) return error(Error::NotSupported, "that is no stream");
    delegate.stream = stream;
    last_stream = stream;
    return ok();
  }

  static inline int blocks = 0;
  static inline std::size_t last_alignment = 0;
  static inline void* last_stream = nullptr;

 private:
  static Status check(tenon_dl_device device) {
    if (device.device_type == card.device_type && device.device_id == card.device_id) return ok();
    return error(Error::InvalidArgument, "no device ", device.device_type, ":", device.device_id);
  }
};

class Roomless final : public Backend<Roomless>,
                       public IdleDelegates,
                       public WithDevices<Roomless> {
 public:
  static constexpr std::string_view id = "RoomlessBackend";
  Result<std::vector<DeviceInfo>> devices() { return std::vector<DeviceInfo>(); }
};

}  // namespace

TENON_PLUGIN(Roomy, Roomless);

namespace {

const LinkedPlugin plugin(tenon_static_plugin_Roomy);

struct Opened {
  FakeHost host;
  OpenedBackend backend{plugin.api(), host};
  const tenon_device_memory_v1& memory =
      *backend.extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
  const tenon_streams_v1& streams = *backend.extension<tenon_streams_v1>(TENON_EXTENSION_STREAMS);
};

}  // namespace

TEST_CASE("device memory and streams are extensions of backends with their mixins only",
          "[backend]") {
  const FakeHost host;
  const OpenedBackend roomy(plugin.api(0), host);
  const OpenedBackend roomless(plugin.api(1), host);
  const auto* memory = roomy.extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
  const auto* streams = roomy.extension<tenon_streams_v1>(TENON_EXTENSION_STREAMS);
  REQUIRE(memory != nullptr);
  REQUIRE(streams != nullptr);
  CHECK(memory->struct_size == sizeof(tenon_device_memory_v1));
  CHECK(streams->struct_size == sizeof(tenon_streams_v1));
  CHECK(roomless.extension<void>(TENON_EXTENSION_DEVICE_MEMORY) == nullptr);
  CHECK(roomless.extension<void>(TENON_EXTENSION_STREAMS) == nullptr);
}

TEST_CASE("bytes are copied to a device and back through the boundary", "[backend][TN-DEV-5]") {
  const Opened opened;
  tenon_backend* const backend = opened.backend.backend;
  void* block = nullptr;
  REQUIRE(opened.memory.allocate(backend, card, 8, 64, &block) == TENON_STATUS_OK);
  CHECK(Roomy::blocks == 1);
  CHECK(Roomy::last_alignment == 64);
  const std::array<char, 8> sent{'d', 'e', 'v', 'i', 'c', 'e', 's', '!'};
  std::array<char, 8> received{};
  REQUIRE(opened.memory.copy_to_device(backend, card, block, sent.data(), 8) == TENON_STATUS_OK);
  REQUIRE(opened.memory.copy_to_host(backend, card, received.data(), block, 8) == TENON_STATUS_OK);
  CHECK(received == sent);
  opened.memory.free(backend, card, block);
  CHECK(Roomy::blocks == 0);
}

TEST_CASE("device memory that is exhausted, or is requested wrongly, leaves nothing behind",
          "[backend][TN-DEV-1][TN-DEV-4][TN-BCK-1]") {
  const Opened opened;
  tenon_backend* const backend = opened.backend.backend;
  void* block = nullptr;
  const auto allocate = [&](tenon_dl_device device, std::uint64_t nbytes, std::uint64_t alignment) {
    return opened.memory.allocate(backend, device, nbytes, alignment, &block);
  };
  CHECK(allocate(card, 4096, 64) == TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  CHECK(allocate({TENON_DL_CUDA, 7}, 8, 64) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(opened.host.last_text == "no device 2:7");
  for (const std::uint64_t alignment : {0u, 3u}) {
    CHECK(allocate(card, 8, alignment) == TENON_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(opened.host.last_text, ContainsSubstring("TN-DEV-4"));
  }
  CHECK(allocate(card, 0, 64) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(block == nullptr);
  CHECK(Roomy::blocks == 0);
  opened.memory.free(backend, card, nullptr);
  CHECK(Roomy::blocks == 0);
}

TEST_CASE("a copy of nothing is nothing, and a copy that throws gives a status",
          "[backend][TN-BCK-1]") {
  const Opened opened;
  tenon_backend* const backend = opened.backend.backend;
  const tenon_dl_device nobody{TENON_DL_METAL, 0};
  CHECK(opened.memory.copy_to_device(backend, nobody, nullptr, nullptr, 0) == TENON_STATUS_OK);
  CHECK(opened.memory.copy_to_host(backend, nobody, nullptr, nullptr, 0) == TENON_STATUS_OK);
  CHECK(opened.host.num_errors == 0);
  std::array<char, 13> bytes{};
  CHECK(opened.memory.copy_to_host(backend, card, bytes.data(), bytes.data(), 13) ==
        TENON_STATUS_INTERNAL);
  CHECK(opened.host.last_text == "unlucky");
  CHECK(opened.memory.copy_to_device(backend, nobody, bytes.data(), bytes.data(), 1) ==
        TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a delegate gets the caller's stream, its own again, or the reason why not",
          "[backend][TN-STR-1][TN-STR-6]") {
  Opened opened;
  CHECK(std::string_view(opened.streams.kind) == "acme.stream");
  REQUIRE(opened.backend.init("") == TENON_STATUS_OK);
  tenon_backend* const backend = opened.backend.backend;
  tenon_delegate* const delegate = opened.backend.delegate;
  int stream = 0;
  CHECK(opened.streams.set_stream(backend, delegate, &stream) == TENON_STATUS_OK);
  CHECK(Roomy::last_stream == &stream);
  CHECK(opened.streams.set_stream(backend, delegate, backend) == TENON_STATUS_NOT_SUPPORTED);
  CHECK(opened.host.last_text == "that is no stream");
  CHECK(Roomy::last_stream == &stream);
  CHECK(opened.streams.set_stream(backend, delegate, nullptr) == TENON_STATUS_OK);
  CHECK(Roomy::last_stream == nullptr);
  opened.backend.destroy();
}
