// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "arguments.hpp"
#include "boundary/handle_kinds.hpp"
#include "boundary/messages.hpp"
#include "guest_backend.hpp"
#include "guest_delegate.hpp"
#include "tenon/abi/draft/external_memory.h"
#include "tenon/abi/extensions/device_memory.h"
#include "tenon/backend/mapped_memory.hpp"

namespace tenon::isolated {

/// Memory that is not copied: blocks on devices ("tenon.device_memory/1") and imported memory
/// ("tenon.external_memory/1"), by the numbers that the application gives them.
class GuestDevice final : public MemoryOfTensors {
 public:
  explicit GuestDevice(GuestBackend& plugin) noexcept : plugin_(&plugin) {}

  /// The extensions of the plugin, as bits of the answer to `load`.
  [[nodiscard]] std::uint32_t find() { return plugin_->find(table_) | plugin_->find(external_); }
  /// The kinds of memory and fences, for the answer to `load`.
  void describe(Writer& to) const {
    const bool has_fences = external_.wait_fence && external_.signal_fence;
    const HandleKinds fences = has_fences ? tenon::detail::fence_kinds(external_) : HandleKinds();
    to.put(bits_of(sent_memory_kinds, tenon::detail::memory_kinds(external_)));
    to.put(bits_of(sent_fence_kinds, fences));
  }

  [[nodiscard]] void* find(std::uint64_t number, std::uint64_t offset,
                           std::uint64_t nbytes) const override {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(number);
    if (found == all_.end() || offset > found->second.size ||
        nbytes > found->second.size - offset) {
      return nullptr;
    }
    return found->second.address + offset;
  }

  [[nodiscard]] tenon_status allocate(Reader& from) {
    const auto number = from.get<std::uint64_t>();
    Memory made;
    made.device = from.get<tenon_dl_device>();
    made.size = from.get<std::uint64_t>();
    const auto alignment = from.get<std::uint64_t>();
    void* address = nullptr;
    const tenon_status status =
        table_.allocate(plugin_->handle, made.device, made.size, alignment, &address);
    if (status != TENON_STATUS_OK) return status;
    made.address = static_cast<std::byte*>(address);
    made.is_block = true;
    if (add(number, made)) return status;
    table_.free(plugin_->handle, made.device, made.address);
    return taken();
  }
  [[nodiscard]] tenon_status free_block(Reader& from) {
    const auto node = take(from, true);
    if (node.empty()) return unknown();
    const Memory& made = node.mapped();
    table_.free(plugin_->handle, made.device, made.address);
    return TENON_STATUS_OK;
  }
  [[nodiscard]] tenon_status copy_to_device(Reader& from) {
    const Range to = read_range(from);
    const auto bytes = from.get_bytes();
    void* const address = find(to.number, to.offset, bytes.size());
    if (!address) return unknown();
    return table_.copy_to_device(plugin_->handle, device_of(to.number), address, bytes.data(),
                                 bytes.size());
  }
  [[nodiscard]] tenon_status copy_to_host(Reader& from, Reply& reply) {
    const Range at = read_range(from);
    const auto nbytes = from.get<std::uint64_t>();
    const void* const address = find(at.number, at.offset, nbytes);
    if (!address) return unknown();
    // Where the answer has them: they may be 256 MiB.
    std::byte* const to = reply.body.put_room(nbytes);
    const tenon_status status =
        table_.copy_to_host(plugin_->handle, device_of(at.number), to, address, nbytes);
    if (status != TENON_STATUS_OK) reply.body.clear();
    return status;
  }
  [[nodiscard]] tenon_status copy_on(Reader& from) {
    const Range to = read_range(from);
    const Range source = read_range(from);
    const auto nbytes = from.get<std::uint64_t>();
    void* const to_address = find(to.number, to.offset, nbytes);
    const void* const from_address = find(source.number, source.offset, nbytes);
    if (!to_address || !from_address) return unknown();
    return table_.copy_on(plugin_->handle, nullptr, device_of(to.number), to_address,
                          device_of(source.number), from_address, nbytes);
  }

  [[nodiscard]] tenon_status import_memory(Reader& from, const WorkerLane::Message& message) {
    const auto number = from.get<std::uint64_t>();
    const char* const kind = kind_of(sent_memory_kinds, from.get<std::uint32_t>());
    const auto bytes = from.get_bytes();
    tenon_external_memory memory{};
    if (!kind || bytes.size() != sizeof memory || message.descriptors.empty()) return unknown();
    std::memcpy(&memory, bytes.data(), sizeof memory);
    memory.kind = kind;
    memory.handle = nullptr;
    memory.descriptor = message.descriptors.front().get();
    Memory made;
    made.device = memory.device;
    made.size = memory.nbytes;
    if (!tenon::detail::has_kind(tenon::detail::memory_kinds(external_), kind) ||
        HandleKind(kind) == MemoryKind::HostMemory) {
      return map(number, memory, std::move(made));
    }
    void* address = nullptr;
    const tenon_status status =
        external_.import_memory(plugin_->handle, &memory, &made.imported, &address);
    if (status != TENON_STATUS_OK) return status;
    made.address = static_cast<std::byte*>(address);
    if (add(number, made)) return status;
    external_.release_memory(plugin_->handle, made.imported);
    return taken();
  }
  [[nodiscard]] tenon_status release_memory(Reader& from) {
    const auto node = take(from, false);
    if (node.empty()) return unknown();
    const Memory& made = node.mapped();
    if (made.imported) external_.release_memory(plugin_->handle, made.imported);
    return TENON_STATUS_OK;
  }
  [[nodiscard]] tenon_status pass_fence(const GuestDelegate& delegate, bool waits, Reader& from,
                                        const WorkerLane::Message& message) {
    tenon_external_fence fence{};
    fence.struct_size = sizeof fence;
    fence.kind = kind_of(sent_fence_kinds, from.get<std::uint32_t>());
    fence.value = from.get<std::uint64_t>();
    if (!fence.kind || !from.is_at_end() || message.descriptors.empty()) return unknown();
    fence.descriptor = message.descriptors.front().get();
    const auto pass = waits ? external_.wait_fence : external_.signal_fence;
    if (!pass) return plugin_->fail(Error::NotSupported, "the plugin knows no fences");
    return pass(plugin_->handle, delegate.handle, &fence);
  }

 private:
  struct Memory {
    std::byte* address = nullptr;
    std::uint64_t size = 0;
    tenon_dl_device device{};
    tenon_imported_memory* imported = nullptr;
    bool is_block = false;
    std::optional<MappedMemory> mapped;
  };
  using Memories = std::map<std::uint64_t, Memory>;
  struct Range {
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
  };

  static Range read_range(Reader& from) {
    Range out;
    out.number = from.get<std::uint64_t>();
    out.offset = from.get<std::uint64_t>();
    return out;
  }
  /// Memory of a memfd that the plugin need not import, as it is any other memory of the CPU.
  [[nodiscard]] tenon_status map(std::uint64_t number, const tenon_external_memory& memory,
                                 Memory made) {
    const HandleKind kind = memory.kind;
    if (kind != MemoryKind::MemFd && kind != MemoryKind::HostMemory) {
      return plugin_->fail(error(Error::NotSupported, "the plugin imports no memory of kind '",
                                 kind.text(), "', and its worker only files in memory"));
    }
    ExternalMemory range;
    range.descriptor = static_cast<int>(memory.descriptor);
    range.offset = memory.offset;
    range.nbytes = memory.nbytes;
    range.is_written = (memory.access & TENON_EXTERNAL_WRITE) != 0;
    range.device = memory.device;
    auto mapped = MappedMemory::map(range);
    if (!mapped.ok()) return plugin_->fail(std::move(mapped).status());
    made.mapped.emplace(*std::move(mapped));
    made.address = static_cast<std::byte*>(made.mapped->data());
    if (!add(number, made)) return taken();
    return TENON_STATUS_OK;
  }
  [[nodiscard]] tenon_status unknown() const {
    return plugin_->fail(Error::InvalidArgument, "the worker does not have this memory");
  }
  [[nodiscard]] tenon_status taken() const {
    return plugin_->fail(Error::InvalidArgument, "the worker has other memory of this number");
  }
  /// False when the number is taken; `made` is then as it was.
  [[nodiscard]] bool add(std::uint64_t number, Memory& made) {
    const std::lock_guard lock(mutex_);
    return all_.try_emplace(number, std::move(made)).second;
  }
  /// A block, or an import.
  [[nodiscard]] Memories::node_type take(Reader& from, bool is_block) {
    const auto number = from.get<std::uint64_t>();
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(number);
    if (found == all_.end() || found->second.is_block != is_block) return {};
    return all_.extract(found);
  }
  [[nodiscard]] tenon_dl_device device_of(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(number);
    return found == all_.end() ? tenon_dl_device{} : found->second.device;
  }

  GuestBackend* plugin_;
  tenon_device_memory_v1 table_{};
  tenon_external_memory_v1 external_{};
  mutable std::mutex mutex_;
  Memories all_;
};

}  // namespace tenon::isolated
