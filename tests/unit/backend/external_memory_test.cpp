// SPDX-License-Identifier: MIT
//
// The mixins for imported memory and for copies from device to device: what they refuse before an
// author's function is called.
#include <tenon/abi/static_plugin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "unit/backend/fake_host.hpp"

using namespace tenon;
using namespace tenon::test;

namespace external_memory_test { namespace {

constexpr tenon_dl_device card{TENON_DL_CUDA, 1};

/// Imports opaque descriptors and surfaces, copies from device to device, and has no streams.
class Importing final : public Backend<Importing>,
                        public IdleDelegates,
                        public WithDevices<Importing>,
                        public WithDeviceMemory<Importing>,
                        public WithExternalMemory<Importing> {
 public:
  static constexpr std::string_view id = "ImportingBackend";
  Result<std::vector<DeviceInfo>> devices() {
    return std::vector<DeviceInfo>{{card, "Card", "", 0}};
  }
  Result<void*> allocate_device(tenon_dl_device, std::size_t, std::size_t) { return nullptr; }
  void free_device(tenon_dl_device, void*) noexcept {}
  Status copy_to_device(tenon_dl_device, void*, const void*, std::size_t) { return ok(); }
  Status copy_to_host(tenon_dl_device, void*, const void*, std::size_t) { return ok(); }
  Status copy_on(void* stream, tenon_dl_device, void*, tenon_dl_device, const void*,
                 std::size_t nbytes) {
    CHECK(stream == nullptr);
    copied += nbytes;
    return ok();
  }

  struct ImportedMemory {
    explicit ImportedMemory(const ExternalMemory& of) : memory(of) { ++live; }
    ImportedMemory(ImportedMemory&& other) noexcept : memory(other.memory) { ++live; }
    ~ImportedMemory() { --live; }
    void* data() { return this; }
    ExternalMemory memory;
  };
  static constexpr std::array memory_kinds{MemoryKind::OpaqueFd, MemoryKind::IoSurface,
                                           "acme.buffer"};
  Result<ImportedMemory> import_memory(const ExternalMemory& memory) {
    if (memory.nbytes == 13) throw std::runtime_error("unlucky");
    last = memory;
    return ImportedMemory(memory);
  }
  static constexpr std::array fence_kinds{FenceKind::SemaphoreFd};
  Status wait_fence(Delegate&, const ExternalFence& fence) {
    waited_for = fence.value;
    return ok();
  }
  Status signal_fence(Delegate&, const ExternalFence&) { return ok(); }

  static inline std::size_t copied = 0;
  static inline int live = 0;
  static inline ExternalMemory last;
  static inline std::uint64_t waited_for = 0;
};

}}  // namespace external_memory_test

using external_memory_test::Importing;

TENON_PLUGIN(Importing);

namespace external_memory_test {
namespace {

const LinkedPlugin plugin(tenon_static_plugin_Importing);

struct Opened {
  FakeHost host;
  OpenedBackend backend{plugin.api(), host};
  const tenon_external_memory_v1& table =
      *backend.extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);

  tenon_status import(const tenon_external_memory* memory) {
    tenon_imported_memory* imported = nullptr;
    void* address = nullptr;
    const tenon_status status = table.import_memory(backend.backend, memory, &imported, &address);
    if (status == TENON_STATUS_OK) {
      CHECK(address == imported);
      CHECK(Importing::live == 1);
    }
    table.release_memory(backend.backend, imported);
    CHECK(Importing::live == 0);
    return status;
  }
};

tenon_external_memory good() {
  tenon_external_memory out{};
  out.struct_size = sizeof out;
  out.kind = TENON_KIND_OPAQUE_FD;
  out.descriptor = 5;
  out.object_size = 4096;
  out.offset = 96;
  out.nbytes = 4000;
  out.access = TENON_EXTERNAL_WRITE;
  out.flags = TENON_EXTERNAL_DEDICATED;
  out.device = card;
  return out;
}

}  // namespace

TEST_CASE("imported memory reaches the author as it was described", "[backend][external]") {
  Opened opened;
  CHECK(opened.table.struct_size == sizeof(tenon_external_memory_v1));
  REQUIRE(opened.table.num_memory_kinds == 3);
  CHECK(std::string_view(opened.table.memory_kinds[0]) == TENON_KIND_OPAQUE_FD);
  CHECK(std::string_view(opened.table.memory_kinds[1]) == TENON_KIND_IO_SURFACE);
  CHECK(std::string_view(opened.table.memory_kinds[2]) == "acme.buffer");
  REQUIRE(opened.table.num_fence_kinds == 1);
  CHECK(std::string_view(opened.table.fence_kinds[0]) == TENON_KIND_VULKAN_SEMAPHORE_FD);
  const tenon_external_memory memory = good();
  CHECK(opened.import(&memory) == TENON_STATUS_OK);
  const ExternalMemory& last = Importing::last;
  CHECK(last.kind == MemoryKind::OpaqueFd);
  CHECK(last.descriptor == 5);
  CHECK(last.object_size == 4096);
  CHECK(last.offset == 96);
  CHECK(last.nbytes == 4000);
  CHECK_FALSE(last.is_read);
  CHECK(last.is_written);
  CHECK(last.is_dedicated);
  CHECK(last.device.device_id == 1);
}

TEST_CASE("memory that cannot be is refused before the author sees it",
          "[backend][external][TN-EXM-1][TN-EXM-2]") {
  Opened opened;
  const auto refused = [&](tenon_status status, const char* text, auto change) {
    tenon_external_memory memory = good();
    change(memory);
    CHECK(opened.import(&memory) == status);
    CHECK_THAT(opened.host.last_text, ContainsSubstring(text));
  };
  constexpr auto invalid = TENON_STATUS_INVALID_ARGUMENT;
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  refused(invalid, "struct_size is ", [](auto& m) { m.struct_size = sizeof m - 8; });
  refused(invalid, "found 4000 bytes from 97 of 4096", [](auto& m) { m.offset = 97; });
  refused(invalid, "found 0 bytes", [](auto& m) { m.nbytes = 0; });
  refused(invalid, "bytes from 18446744073709551615", [](auto& m) { m.offset = largest; });
  refused(invalid, "18446744073709551615 bytes from", [](auto& m) { m.nbytes = largest; });
  refused(invalid, "9223372036854775808 bytes from 0 of 0", [](auto& m) {
    m.object_size = 0;
    m.offset = 0;
    m.nbytes = std::uint64_t{1} << 63;
  });
  refused(invalid, "found access 0", [](auto& m) { m.access = 0; });
  refused(invalid, "found access 6", [](auto& m) { m.access = 6; });
  refused(invalid, "with flags 3", [](auto& m) { m.flags = 3; });
  refused(invalid, "reserved member is 1", [](auto& m) { m.reserved = 1; });
  refused(invalid, "found descriptor -1 and no handle", [](auto& m) { m.descriptor = -1; });
  refused(invalid, "found descriptor 4294967301", [](auto& m) { m.descriptor = 4294967301; });
  refused(invalid, "and a handle", [&](auto& m) { m.handle = &opened; });
  refused(invalid, "apple.io_surface: expected a handle and no descriptor",
          [](auto& m) { m.kind = TENON_KIND_IO_SURFACE; });
  refused(invalid, "acme.buffer: expected a descriptor or a handle, found descriptor -1",
          [](auto& m) {
            m.kind = "acme.buffer";
            m.descriptor = -1;
          });
  constexpr auto unsupported = TENON_STATUS_NOT_SUPPORTED;
  refused(unsupported, "kind 'memfd'", [](auto& m) { m.kind = TENON_KIND_MEMFD; });
  refused(unsupported, "kind 'acme.buffe'", [](auto& m) { m.kind = "acme.buffe"; });
  refused(unsupported, "kind ''", [](auto& m) { m.kind = ""; });
  refused(unsupported, "kind ''", [](auto& m) { m.kind = nullptr; });
  refused(TENON_STATUS_INTERNAL, "unlucky", [](auto& m) { m.nbytes = 13; });
  CHECK(opened.import(nullptr) == invalid);
}

TEST_CASE("a vendor's memory is a descriptor, a handle, or both", "[backend][external]") {
  Opened opened;
  // Equal texts are one kind, wherever they are.
  std::string kind = "acme.";
  kind += "buffer";
  tenon_external_memory memory = good();
  memory.kind = kind.c_str();
  CHECK(opened.import(&memory) == TENON_STATUS_OK);
  CHECK(Importing::last.kind == "acme.buffer");
  CHECK(Importing::last.descriptor == 5);
  memory.handle = &opened;
  CHECK(opened.import(&memory) == TENON_STATUS_OK);
  CHECK(Importing::last.handle == &opened);
  memory.descriptor = -1;
  CHECK(opened.import(&memory) == TENON_STATUS_OK);
  CHECK(Importing::last.descriptor == -1);
  const tenon_external_memory back = tenon::detail::to_abi(Importing::last);
  CHECK(std::string_view(back.kind) == "acme.buffer");
  CHECK(back.handle == &opened);
  CHECK(back.descriptor == -1);
}

TEST_CASE("fences reach the author, or are refused", "[backend][external][TN-EXM-1]") {
  Opened opened;
  REQUIRE(opened.backend.init("") == TENON_STATUS_OK);
  tenon_external_fence fence{};
  fence.struct_size = sizeof fence;
  fence.kind = TENON_KIND_VULKAN_SEMAPHORE_FD;
  fence.descriptor = 4;
  fence.value = 9;
  const auto wait = [&] {
    return opened.table.wait_fence(opened.backend.backend, opened.backend.delegate, &fence);
  };
  CHECK(wait() == TENON_STATUS_OK);
  CHECK(Importing::waited_for == 9);
  CHECK(opened.table.signal_fence(opened.backend.backend, opened.backend.delegate, &fence) ==
        TENON_STATUS_OK);
  CHECK(opened.table.signal_fence(opened.backend.backend, opened.backend.delegate, nullptr) ==
        TENON_STATUS_INVALID_ARGUMENT);
  fence.struct_size = 8;
  CHECK(wait() == TENON_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(opened.host.last_text, ContainsSubstring("a fence: struct_size is 8"));
  fence.struct_size = sizeof fence;
  fence.reserved = 1;
  CHECK(wait() == TENON_STATUS_INVALID_ARGUMENT);
  fence.reserved = 0;
  fence.descriptor = -3;
  CHECK(wait() == TENON_STATUS_INVALID_ARGUMENT);
  fence.kind = TENON_KIND_VULKAN_SEMAPHORE_WIN32;
  CHECK(wait() == TENON_STATUS_NOT_SUPPORTED);
  CHECK_THAT(opened.host.last_text, ContainsSubstring("kind 'vulkan.semaphore_win32'"));
  opened.backend.destroy();
}

TEST_CASE("copies on a stream are refused for a backend without streams", "[backend][TN-DEV-9]") {
  Opened opened;
  const auto& memory =
      *opened.backend.extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
  REQUIRE(memory.copy_on != nullptr);
  std::array<char, 8> bytes{};
  const auto copy = [&](void* stream, std::uint64_t nbytes) {
    return memory.copy_on(opened.backend.backend, stream, card, bytes.data(), card, bytes.data(),
                          nbytes);
  };
  const std::size_t before = Importing::copied;
  CHECK(copy(nullptr, 4) == TENON_STATUS_OK);
  CHECK(copy(nullptr, 0) == TENON_STATUS_OK);
  CHECK(copy(&opened, 4) == TENON_STATUS_NOT_SUPPORTED);
  CHECK_THAT(opened.host.last_text, ContainsSubstring("copies on no stream of the application"));
  CHECK(Importing::copied == before + 4);
}

}  // namespace external_memory_test
