// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/growth.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/loader/plugin/backend_api.hpp"

/// Suite "device": a backend reports its devices correctly, also where there is none, and their
/// memory works.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(device)

namespace {

/// The devices that the backend lists; `offered` is false without "tenon.devices/1".
struct ListedDevices {
  bool offered = false;
  std::vector<tenon_dl_device> devices;
  std::vector<std::string> identities;  ///< Of the devices; all of the array without a terminator.
};

[[nodiscard]] ListedDevices list_devices(Context& kit, OpenedBackend& backend) {
  ListedDevices out;
  const auto table = backend.backend().extension<tenon_devices_v1>(TENON_EXTENSION_DEVICES);
  if (!table || !table->list_devices) return out;
  out.offered = true;
  const auto sink = [](void* to, const tenon_device_info* device) noexcept {
    auto& listed = *static_cast<ListedDevices*>(to);
    const auto info = host::complete_table<tenon_device_info>(device);
    const auto* end = std::find(std::begin(info.identity), std::end(info.identity), '\0');
    listed.devices.push_back(device->device);
    listed.identities.emplace_back(std::begin(info.identity), end);
  };
  const tenon_status status = table->list_devices(backend.backend().raw(), sink, &out);
  // Without a driver there may be nothing to ask for devices.
  if (status != TENON_STATUS_OK && backend.backend().is_available().ok()) {
    kit.blocked("list_devices gives ", error_name(static_cast<Error>(status)));
  }
  return out;
}

/// Memory of the devices that a backend lists.
class ListedDeviceMemory {
 public:
  explicit ListedDeviceMemory(Context& kit) : backend_(kit) {
    const auto table =
        backend_.backend().extension<tenon_device_memory_v1>(TENON_EXTENSION_DEVICE_MEMORY);
    if (!table) {
      kit.not_applicable("the backend does not offer " TENON_EXTENSION_DEVICE_MEMORY);
    }
    table_ = *table;
    need_device(kit, backend_);
    listed_ = list_devices(kit, backend_);
    if (listed_.devices.empty()) kit.not_applicable("the backend lists no device");
  }

  [[nodiscard]] const std::vector<tenon_dl_device>& devices() const { return listed_.devices; }
  [[nodiscard]] OpenedBackend& backend() noexcept { return backend_; }

  tenon_status allocate(tenon_dl_device device, std::uint64_t size, std::uint64_t alignment,
                        void** out) {
    return table_.allocate(backend_.backend().raw(), device, size, alignment, out);
  }
  void free(tenon_dl_device device, void* block) {
    table_.free(backend_.backend().raw(), device, block);
  }
  tenon_status write(tenon_dl_device device, void* to, std::span<const std::byte> bytes) {
    return table_.copy_to_device(backend_.backend().raw(), device, to, bytes.data(), bytes.size());
  }
  [[nodiscard]] bool has_copy_on() const noexcept { return table_.copy_on != nullptr; }
  tenon_status copy(tenon_dl_device to_device, void* to, tenon_dl_device from_device,
                    const void* from, std::uint64_t size) {
    return table_.copy_on(backend_.backend().raw(), nullptr, to_device, to, from_device, from,
                          size);
  }
  tenon_status read(tenon_dl_device device, const void* from, std::span<std::byte> bytes) {
    return table_.copy_to_host(backend_.backend().raw(), device, bytes.data(), from, bytes.size());
  }

 private:
  OpenedBackend backend_;
  tenon_device_memory_v1 table_{};
  ListedDevices listed_;
};

std::string name_of_device(tenon_dl_device device) {
  return concat("device of type ", device.device_type, ", number ", device.device_id);
}

}  // namespace

TENON_CONFORMANCE_TEST("device/availability-is-consistent",
                       "is_available gives the same answer again and agrees with list_devices",
                       "[device][level-2][backend][TN-BCK-6]") {
  OpenedBackend backend(kit);
  const Status first = backend.backend().is_available();
  const Status again = backend.backend().is_available();
  kit.expect("TN-BCK-6", first.ok() == again.ok(), "is_available gives ",
             first.ok() ? "success" : first.text(), " and then ",
             again.ok() ? "success" : again.text());
  const ListedDevices listed = list_devices(kit, backend);
  if (!listed.offered) return;
  kit.expect("TN-BCK-6", first.ok() != listed.devices.empty(), "is_available gives ",
             first.ok() ? "success" : first.text(), ", and list_devices lists ",
             listed.devices.size(), " devices that can be used");
}

TENON_CONFORMANCE_TEST("device/unavailable-loads-nothing",
                       "a backend that is not available loads no program",
                       "[device][level-3][case][TN-BCK-6]") {
  const CaseProgram program = kit.need(CaseProgram::open(kit.of_case()), "the case");
  OpenedBackend backend(kit);
  const Status available = backend.backend().is_available();
  if (available.ok()) kit.not_applicable("the backend is available");
  backend.boundary().pretend_available = true;
  bool loaded = false;
  backend.boundary().on_init = [&](WatchedInit& call) {
    const tenon_status status = call.forward();
    loaded = loaded || status == TENON_STATUS_OK;
    return status;
  };
  const auto method = CaseMethod::load(program, backend, kit.backend());
  kit.expect("TN-BCK-6", !loaded, "init succeeds, and yet is_available says: ", available.text());
}

TENON_CONFORMANCE_TEST("device/unavailable-answers-queries",
                       "a backend that is not available answers what needs no device",
                       "[device][level-3][backend][TN-BCK-6]") {
  OpenedBackend backend(kit);
  if (backend.backend().is_available().ok()) kit.not_applicable("the backend is available");
  for (const host::OptionDeclaration& option : backend.backend().options()) {
    static_cast<void>(backend.backend().get_option(option.key));
  }
  const ListedDevices listed = list_devices(kit, backend);
  kit.expect("TN-BCK-6", listed.devices.empty(), "it lists ", listed.devices.size(),
             " devices that can be used");
  static_cast<void>(declared_bytes(backend));
}

TENON_CONFORMANCE_TEST("device/has-one-identity",
                       "a device has one identity, which no other device of the backend has",
                       "[device][level-4][backend][TN-IDN-1]") {
  OpenedBackend backend(kit);
  const ListedDevices first = list_devices(kit, backend);
  const ListedDevices again = list_devices(kit, backend);
  if (first.devices.empty()) kit.not_applicable("the backend lists no device");
  kit.expect("TN-IDN-1", first.identities == again.identities,
             "list_devices gives other identities when it is called again");
  for (std::size_t i = 0; i < first.devices.size(); ++i) {
    const std::string& identity = first.identities[i];
    const std::string name = name_of_device(first.devices[i]);
    if (!kit.expect("TN-IDN-1", identity.size() < sizeof(tenon_device_info::identity), name,
                    ": the identity has no terminator")) {
      continue;
    }
    const auto others = std::span(first.identities).first(i);
    kit.expect("TN-IDN-1", identity.empty() || std::ranges::find(others, identity) == others.end(),
               name, " has the identity of another device: ", identity);
  }
}

TENON_CONFORMANCE_TEST("device/memory-keeps-content",
                       "a block of device memory is aligned and keeps what is copied to it",
                       "[device][level-4][backend][TN-DEV-1][TN-DEV-5][TN-DEV-8]") {
  ListedDeviceMemory memory(kit);
  for (const tenon_dl_device device : memory.devices()) {
    for (const std::size_t size : {1U, 17U, 4096U, 1U << 20}) {
      for (const std::uint64_t alignment : {1U, 16U, 256U, 4096U}) {
        void* block = nullptr;
        const tenon_status made = memory.allocate(device, size, alignment, &block);
        if (!kit.expect("TN-DEV-1", made == TENON_STATUS_OK, name_of_device(device),
                        " is listed, and ", size,
                        " bytes of it are refused: ", said_error().text)) {
          return;
        }
        kit.expect("TN-DEV-5", block && reinterpret_cast<std::uintptr_t>(block) % alignment == 0,
                   "a block of ", size, " bytes is at no multiple of ", alignment);
        std::vector<std::byte> sent(size);
        for (std::byte& one : sent) one = static_cast<std::byte>(kit.random()());
        std::vector<std::byte> got(size);
        const tenon_status written = memory.write(device, block, sent);
        const tenon_status read = memory.read(device, block, got);
        kit.expect("TN-DEV-8", written == TENON_STATUS_OK && read == TENON_STATUS_OK && got == sent,
                   "what was copied to a block of ", size, " bytes is not what comes back");
        // A part, from the middle.
        const std::size_t half = size / 2;
        const std::span tail = std::span(got).subspan(half);
        std::ranges::fill(tail, std::byte{0});
        auto* middle = static_cast<std::byte*>(block) + half;
        kit.expect("TN-DEV-8",
                   memory.write(device, block, {}) == TENON_STATUS_OK &&
                       memory.read(device, middle, tail) == TENON_STATUS_OK && got == sent,
                   "what is copied from the middle of a block of ", size,
                   " bytes is not what is stored "
                   "there, or a copy of 0 bytes does something");
        memory.free(device, block);
      }
    }
    memory.free(device, nullptr);
  }
}

TENON_CONFORMANCE_TEST("device/copies-between-blocks",
                       "a copy from device to device copies its bytes and no others",
                       "[device][level-4][backend][TN-DEV-9]") {
  ListedDeviceMemory memory(kit);
  if (!memory.has_copy_on()) kit.not_applicable("the backend has no copy_on");
  constexpr std::size_t size = 5000;
  for (const tenon_dl_device from_device : memory.devices()) {
    for (const tenon_dl_device to_device : memory.devices()) {
      void *from = nullptr, *to = nullptr;
      if (memory.allocate(from_device, size, 256, &from) != TENON_STATUS_OK ||
          memory.allocate(to_device, size, 256, &to) != TENON_STATUS_OK) {
        kit.blocked("no memory of ", name_of_device(from_device));
      }
      std::vector<std::byte> source(size), target(size), found(size);
      for (std::size_t i = 0; i < size; ++i) {
        source[i] = static_cast<std::byte>(kit.random()());
        target[i] = ~source[i];
      }
      // What the blocks hold is read back: whether it is what was written is for TN-DEV-8.
      if (memory.write(from_device, from, source) != TENON_STATUS_OK ||
          memory.read(from_device, from, source) != TENON_STATUS_OK) {
        kit.blocked("bytes are not copied to ", name_of_device(from_device), " and back");
      }
      for (const auto& [begin, count] : {std::pair<std::size_t, std::size_t>{0, size},
                                         {1, 1},
                                         {17, 4099},
                                         {size - 3, 3},
                                         {9, 0}}) {
        if (memory.write(to_device, to, target) != TENON_STATUS_OK ||
            memory.read(to_device, to, target) != TENON_STATUS_OK) {
          kit.blocked("bytes are not copied to ", name_of_device(to_device), " and back");
        }
        auto expected = target;
        std::copy_n(source.begin(), count, expected.begin() + static_cast<std::ptrdiff_t>(begin));
        const tenon_status copied =
            memory.copy(to_device, static_cast<std::byte*>(to) + begin, from_device, from, count);
        const bool read = memory.read(to_device, to, found) == TENON_STATUS_OK;
        kit.expect("TN-DEV-9", copied == TENON_STATUS_OK && read && found == expected, "a copy of ",
                   count, " bytes from ", name_of_device(from_device), " to ",
                   name_of_device(to_device), " does not leave the bytes that it is to: ",
                   copied == TENON_STATUS_OK ? "" : said_error().text);
      }
      kit.expect("TN-DEV-9",
                 memory.read(from_device, from, found) == TENON_STATUS_OK && found == source,
                 "copies from ", name_of_device(from_device), " change their source");
      memory.free(to_device, to);
      memory.free(from_device, from);
    }
  }
}

TENON_CONFORMANCE_TEST("device/refuses-missing-device",
                       "memory of a device that is not there is refused",
                       "[device][level-4][backend][TN-DEV-1][TN-DEV-5]") {
  ListedDeviceMemory memory(kit);
  tenon_dl_device unknown = memory.devices().front();
  for (const tenon_dl_device& device : memory.devices()) {
    unknown.device_id = std::max(unknown.device_id, device.device_id);
  }
  unknown.device_id += 57;
  void* block = nullptr;
  const tenon_status status = memory.allocate(unknown, 64, 16, &block);
  const std::string text = said_error().text;
  if (kit.expect("TN-DEV-1", status == TENON_STATUS_INVALID_ARGUMENT, name_of_device(unknown),
                 " is not listed, and memory of it is ",
                 status == TENON_STATUS_OK ? "there" : "refused with ",
                 status == TENON_STATUS_OK ? "" : error_name(static_cast<Error>(status)))) {
    kit.expect("TN-DEV-1", text.find(std::to_string(unknown.device_id)) != std::string::npos,
               "the text does not name ", name_of_device(unknown), ": ", text);
  }
  // More than any device has.
  const tenon_status too_much =
      memory.allocate(memory.devices().front(), std::uint64_t{1} << 61, 256, &block);
  kit.expect("TN-DEV-5", too_much == TENON_STATUS_MEMORY_ALLOCATION_FAILED,
             "a block of 2^61 bytes: expected MemoryAllocationFailed, found ",
             too_much == TENON_STATUS_OK ? "success" : error_name(static_cast<Error>(too_much)));
}

TENON_CONFORMANCE_TEST("device/gives-memory-back",
                       "blocks of device memory that were freed are given back",
                       "[device][level-6][backend][TN-DEV-5]") {
  ListedDeviceMemory memory(kit);
  const tenon_dl_device device = memory.devices().front();
  const auto growth = growth_of(stretch_of(kit), [&] {
    void* block = nullptr;
    if (memory.allocate(device, 100000, 256, &block) != TENON_STATUS_OK) {
      kit.blocked("no memory of ", name_of_device(device));
    }
    memory.free(device, block);
    static_cast<void>(memory.allocate(device, std::uint64_t{1} << 61, 256, &block));
  });
  kit.expect("TN-DEV-5", growth.empty(), "allocate and free: ", join_with_and(growth));
}

TENON_CONFORMANCE_TEST("device/stream-kind", "the table of streams says of which kind they are",
                       "[device][level-4][backend][TN-STR-6]") {
  OpenedBackend backend(kit);
  const auto table = backend.backend().extension<tenon_streams_v1>(TENON_EXTENSION_STREAMS);
  if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_STREAMS);
  const std::string_view kind = table->kind ? table->kind : "";
  constexpr std::string_view known[] = {TENON_KIND_CUDA_STREAM, TENON_KIND_METAL_COMMAND_QUEUE,
                                        TENON_KIND_OPENCL_COMMAND_QUEUE};
  const std::size_t dot = kind.find('.');
  const bool is_of_vendor = dot != std::string_view::npos && dot != 0 && dot + 1 != kind.size();
  kit.expect("TN-STR-6", std::ranges::find(known, kind) != std::end(known) || is_of_vendor,
             "the kind of streams is ", table->kind ? "'" : "", table->kind ? table->kind : "NULL",
             table->kind ? "'" : "",
             ": expected a text of abi/native_handle.h, or a vendor's name, a dot and more");
}

TENON_CONFORMANCE_TEST("device/keeps-own-stream",
                       "a delegate keeps its own stream when it is given none",
                       "[device][level-4][case][TN-STR-1]") {
  LiveCase live(kit);
  const auto table = live.backend().backend().extension<tenon_streams_v1>(TENON_EXTENSION_STREAMS);
  if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_STREAMS);
  const auto expected = live.run(*live.load());
  std::vector<WatchedDelegate*> delegates;
  live.boundary().on_init = [&](WatchedInit& call) {
    const tenon_status status = call.forward();
    if (status == TENON_STATUS_OK) delegates.push_back(&call.delegate);
    return status;
  };
  const auto method = live.load();
  for (WatchedDelegate* delegate : delegates) {
    const tenon_status status = table->set_stream(
        live.backend().backend().raw(), reinterpret_cast<tenon_delegate*>(delegate), nullptr);
    kit.expect("TN-STR-1", status == TENON_STATUS_OK || status == TENON_STATUS_NOT_SUPPORTED,
               "set_stream with NULL gives ", error_name(static_cast<Error>(status)),
               ", expected success or NotSupported: ", said_error().text);
  }
  const auto found = live.run(*method);
  if (kit.backend().deterministic) {
    kit.expect("TN-STR-1", found == expected, "after set_stream with NULL the outputs differ");
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
