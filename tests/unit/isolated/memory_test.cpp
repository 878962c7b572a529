// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "support/catch.hpp"
#include "tenon/abi/draft/external_memory.h"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/core/application/external_memory.hpp"

using namespace tenon;
using namespace tenon::test;

/// Memory that a plugin in a worker reaches without a copy.
namespace isolated_memory_test { namespace {

constexpr tenon_dl_device device{4, 0};

/// 4 floats in a file in memory, at `offset`.
class Frame {
 public:
  static constexpr std::uint64_t offset = 256;

  Frame() : descriptor_(::memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    REQUIRE(::ftruncate(descriptor_, 4096) == 0);
    REQUIRE(::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    void* const data = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    REQUIRE(data != MAP_FAILED);
    data_ = static_cast<std::byte*>(data);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() {
    ::munmap(data_, 4096);
    ::close(descriptor_);
  }

  [[nodiscard]] float* floats() const noexcept { return reinterpret_cast<float*>(data_ + offset); }
  [[nodiscard]] std::vector<float> values() const { return {floats(), floats() + 4}; }
  [[nodiscard]] tenon_external_memory memory() const {
    ExternalMemory out;
    out.descriptor = descriptor_;
    out.offset = offset;
    out.nbytes = 16;
    out.is_written = true;
    return tenon::detail::to_abi(out);
  }

 private:
  int descriptor_;
  std::byte* data_ = nullptr;
};

class Remote : public Kernels {
 public:
  Remote() : Kernels(TENON_TEST_REMOTE_KERNELS, "RemoteKernels", Application::Place::isolated) {
    external = *backend().extension<tenon_external_memory_v1>(TENON_EXTENSION_EXTERNAL_MEMORY);
    devices = *backend().extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
  }
  [[nodiscard]] tenon_kernel* increase(std::vector<tenon_value*>& args) {
    tenon_kernel* const out = make("remote::increase", args);
    REQUIRE(status() == TENON_STATUS_OK);
    return out;
  }

  tenon_external_memory_v1 external{};
  tenon_device_memory_v1 devices{};
};

bool has_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("the worker itself reads and writes imported memory") {
  Remote remote;
  remote.set_restarts(1);
  const Frame frame;
  const auto before = open_descriptors();
  const tenon_external_memory memory = frame.memory();
  tenon_imported_memory* imported = nullptr;
  void* address = nullptr;
  REQUIRE(remote.external.import_memory(remote.backend().raw(), &memory, &imported, &address) ==
          TENON_STATUS_OK);
  Vector x(static_cast<float*>(address), 4, 4);
  std::vector<tenon_value*> args{&x.value, &x.value};
  tenon_kernel* const increase = remote.increase(args);
  frame.floats()[2] = 7;
  REQUIRE(remote.run(increase) == TENON_STATUS_OK);
  CHECK(frame.values() == std::vector<float>{1, 1, 8, 1});
  CHECK(x.elements() == std::vector<float>{1, 1, 8, 1});

  // A part of the memory.
  Vector part(static_cast<float*>(address) + 1, 2, 2);
  std::vector<tenon_value*> some{&part.value, &part.value};
  tenon_kernel* const increase_part = remote.increase(some);
  REQUIRE(remote.run(increase_part) == TENON_STATUS_OK);
  CHECK(frame.values() == std::vector<float>{1, 2, 9, 1});

  // A new worker imports it as well.
  for (const pid_t each : worker_processes()) ::kill(each, SIGKILL);
  CHECK(remote.run(increase) != TENON_STATUS_OK);
  REQUIRE(remote.run(increase) == TENON_STATUS_OK);
  CHECK(frame.values() == std::vector<float>{2, 3, 10, 2});

  for (tenon_kernel* each : {increase, increase_part}) remote.destroy(each);
  remote.external.release_memory(remote.backend().raw(), imported);
  remote.external.release_memory(remote.backend().raw(), nullptr);
  CHECK(open_descriptors().size() <= before.size() + 5);
}

TEST_CASE("memory and fences that are no descriptors are refused by name") {
  Remote remote;
  REQUIRE(remote.external.num_memory_kinds == 1);
  CHECK(std::string_view(remote.external.memory_kinds[0]) == TENON_KIND_MEMFD);
  CHECK(remote.external.num_fence_kinds == 0);
  CHECK(remote.external.wait_fence == nullptr);
  tenon_external_memory memory{};
  memory.struct_size = sizeof memory;
  memory.kind = TENON_KIND_OPENCL_MEM;
  memory.descriptor = -1;
  memory.handle = &memory;
  memory.nbytes = 16;
  tenon_imported_memory* imported = nullptr;
  void* address = nullptr;
  CHECK(remote.external.import_memory(remote.backend().raw(), &memory, &imported, &address) ==
        TENON_STATUS_NOT_SUPPORTED);
  CHECK(has_text(Kernels::text(), "memory of kind 'opencl.mem' cannot be imported"));
  // The plugin's own refusal: memory that may become smaller.
  const int file = ::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  REQUIRE(::ftruncate(file, 4096) == 0);
  memory = Frame().memory();
  memory.descriptor = file;
  CHECK(remote.external.import_memory(remote.backend().raw(), &memory, &imported, &address) ==
        TENON_STATUS_INVALID_ARGUMENT);
  CHECK(has_text(Kernels::text(), "may become smaller"));
  ::close(file);
}

TEST_CASE("memory that is not what is said of it reaches no worker") {
  Remote remote;
  tenon_backend* const backend = remote.backend().raw();
  const Frame frame;
  const int loose = ::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const int zeros = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  const int event = ::eventfd(1, EFD_CLOEXEC);
  REQUIRE((loose >= 0 && zeros >= 0 && event >= 0));
  using Change = std::function<void(tenon_external_memory&)>;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::pair<const char*, Change> cases[] = {
      {"no size", [](auto& m) { m.struct_size = 0; }},
      {"half a struct", [](auto& m) { m.struct_size = sizeof m / 2; }},
      {"a size of no struct", [](auto& m) { m.struct_size = UINT32_MAX; }},
      {"no kind", [](auto& m) { m.kind = nullptr; }},
      {"an empty kind", [](auto& m) { m.kind = ""; }},
      {"a kind that begins as another", [](auto& m) { m.kind = "memfd2"; }},
      {"memory of the host", [&](auto& m) { m.kind = TENON_KIND_HOST_MEMORY; }},
      {"a dma-buf that is a memfd", [](auto& m) { m.kind = TENON_KIND_DMA_BUF; }},
      {"no descriptor", [](auto& m) { m.descriptor = -1; }},
      {"a descriptor that is not open", [](auto& m) { m.descriptor = 1'000'000; }},
      {"one whose low half is a descriptor",
       [](auto& m) { m.descriptor += std::int64_t{1} << 32; }},
      {"the most negative descriptor", [](auto& m) { m.descriptor = INT64_MIN; }},
      {"a handle as well", [](auto& m) { m.handle = &m; }},
      {"from behind the end", [](auto& m) { m.offset = 4097; }},
      {"one byte too many", [](auto& m) { m.nbytes = 4096 - Frame::offset + 1; }},
      {"a range that wraps around", [](auto& m) { m.offset = most - 7; }},
      {"no bytes", [](auto& m) { m.nbytes = 0; }},
      {"half of all addresses", [](auto& m) { m.nbytes = std::uint64_t{1} << 63; }},
      {"all addresses", [](auto& m) { m.nbytes = most; }},
      {"an object that is smaller", [](auto& m) { m.object_size = Frame::offset + 15; }},
      {"no access", [](auto& m) { m.access = 0; }},
      {"an unknown access", [](auto& m) { m.access = 7; }},
      {"an unknown flag", [](auto& m) { m.flags = 2; }},
      {"the reserved member", [](auto& m) { m.reserved = 1; }},
      {"a device that has no files", [](auto& m) { m.device = device; }},
      {"a device of another backend", [](auto& m) { m.device = {TENON_DL_CUDA, -7}; }},
      {"one that may become smaller", [&](auto& m) { m.descriptor = loose; }},
      {"/dev/zero", [&](auto& m) { m.descriptor = zeros; }},
      {"an event", [&](auto& m) { m.descriptor = event; }},
  };
  tenon_imported_memory* imported = nullptr;
  void* address = nullptr;
  const auto import = [&](const tenon_external_memory* memory) {
    return remote.external.import_memory(backend, memory, &imported, &address);
  };
  // The first call opens what later ones use.
  const tenon_external_memory good = frame.memory();
  REQUIRE(import(&good) == TENON_STATUS_OK);
  remote.external.release_memory(backend, std::exchange(imported, nullptr));
  const auto workers = worker_processes();
  const auto before = open_descriptors();
  for (const auto& [name, change] : cases) {
    CAPTURE(name);
    tenon_external_memory memory = frame.memory();
    change(memory);
    const tenon_status status = import(&memory);
    CHECK((status == TENON_STATUS_INVALID_ARGUMENT || status == TENON_STATUS_NOT_SUPPORTED));
    CHECK(imported == nullptr);
  }
  CHECK(import(nullptr) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(imported == nullptr);
  CHECK(open_descriptors().size() == before.size());
  CHECK(worker_processes() == workers);
  REQUIRE(import(&good) == TENON_STATUS_OK);
  // A number that is given back twice, and a number that never was.
  remote.external.release_memory(backend, imported);
  remote.external.release_memory(backend, imported);
  remote.external.release_memory(backend, reinterpret_cast<tenon_imported_memory*>(&remote));
  CHECK(worker_processes() == workers);
  for (const int each : {loose, zeros, event}) ::close(each);
}

TEST_CASE(
    "blocks on a device of the plugin are the worker's, and bytes are copied there and back") {
  Remote remote;
  tenon_backend* const backend = remote.backend().raw();
  void* block = nullptr;
  REQUIRE(remote.devices.allocate(backend, device, 64, 64, &block) == TENON_STATUS_OK);
  CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
  auto* const floats = static_cast<float*>(block);
  const std::array<float, 4> values{1, 2, 3, 4};
  REQUIRE(remote.devices.copy_to_device(backend, device, floats + 4, values.data(), 16) ==
          TENON_STATUS_OK);
  Vector x(floats + 4, 4, 4);
  x.tensor.dl.device = device;
  std::vector<tenon_value*> args{&x.value, &x.value};
  tenon_kernel* const increase = remote.increase(args);
  REQUIRE(remote.run(increase) == TENON_STATUS_OK);
  REQUIRE(remote.devices.copy_on(backend, nullptr, device, floats, device, floats + 4, 16) ==
          TENON_STATUS_OK);
  std::array<float, 8> got{};
  REQUIRE(remote.devices.copy_to_host(backend, device, got.data(), floats, 32) == TENON_STATUS_OK);
  CHECK(got == std::array<float, 8>{2, 3, 4, 5, 2, 3, 4, 5});

  CHECK(remote.devices.copy_on(backend, &remote, device, floats, device, floats + 4, 16) ==
        TENON_STATUS_NOT_SUPPORTED);
  CHECK(has_text(Kernels::text(), "a stream does not cross to a worker"));
  CHECK(remote.devices.copy_to_host(backend, device, got.data(), floats + 14, 16) ==
        TENON_STATUS_INVALID_ARGUMENT);
  void* other = nullptr;
  CHECK(remote.devices.allocate(backend, {2, 1}, 64, 64, &other) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(has_text(Kernels::text(), "device 2:1 is not 4:0"));

  // Memory of a device that the plugin did not make.
  std::array<float, 4> foreign{};
  Vector stray(foreign.data(), 4, 4);
  stray.tensor.dl.device = device;
  std::vector<tenon_value*> strays{&stray.value, &stray.value};
  CHECK(remote.make("remote::increase", strays) == nullptr);
  CHECK(remote.status() == TENON_STATUS_NOT_SUPPORTED);
  CHECK(has_text(Kernels::text(), "tenon.device_memory/1"));
  CHECK(has_text(Kernels::text(), "tenon.external_memory/1"));

  // The block ends with its worker, also where kernels are made again.
  for (const pid_t each : worker_processes()) ::kill(each, SIGKILL);
  CHECK(remote.run(increase) != TENON_STATUS_OK);
  CHECK(remote.devices.copy_to_host(backend, device, got.data(), floats, 32) ==
        TENON_STATUS_INVALID_STATE);
  CHECK(remote.make("remote::increase", args) == nullptr);
  CHECK(has_text(Kernels::text(), "a block of device memory of another worker"));
  remote.destroy(increase);
  remote.devices.free(backend, device, block);
  remote.devices.free(backend, device, nullptr);
}

}}  // namespace isolated_memory_test
