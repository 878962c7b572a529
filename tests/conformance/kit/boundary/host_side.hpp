// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>

#include "kit/boundary/watch.hpp"
#include "kit/process/faults.hpp"
#include "kit/process/guarded_memory.hpp"
#include "kit/process/interposition.hpp"
#include "tenon/abi/backend.h"
#include "tenon/abi/version.h"
#include "tenon/conformance/boundary.hpp"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

/// The host as the plugin sees it: copies of the host's objects, which can have the shape of a
/// newer host, can fail, and fault on access out of bounds.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance { namespace detail {

/// A struct of the boundary with `unknown` bytes more, before a forbidden page, with a pointer to
/// `Owner` in front of it.
template <class Struct, class Owner>
class GuardedStruct {
 public:
  GuardedStruct() = default;
  GuardedStruct(const Struct& from, std::uint32_t unknown, Owner* owner)
      : memory_(before + sizeof from + unknown, alignof(Struct),
                {"TN-HST-1", "behind a struct of the host"}) {
    std::memcpy(memory_.data(), &owner, sizeof owner);
    std::memcpy(memory_.data() + before, &from, sizeof from);
    std::memset(memory_.data() + before + sizeof from, 0xA5, unknown);
    const auto stated = static_cast<std::uint32_t>(sizeof from + unknown);
    std::memcpy(memory_.data() + before, &stated, sizeof stated);
  }
  [[nodiscard]] Struct* get() const noexcept {
    return reinterpret_cast<Struct*>(memory_.data() + before);
  }
  /// Makes any access fault.
  void forbid(Forbidden why) noexcept { memory_.forbid(why); }
  [[nodiscard]] static Owner& owner_of(const Struct* seen) noexcept {
    Owner* owner;
    std::memcpy(&owner, reinterpret_cast<const std::byte*>(seen) - before, sizeof owner);
    return *owner;
  }

 private:
  static constexpr std::size_t before = 16;
  GuardedMemory memory_;
};

/// The largest power of two up to `most` that `address` is a multiple of.
[[nodiscard]] inline std::size_t alignment_of(const void* address, std::size_t most) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return number == 0 ? most : std::min(most, std::size_t{1} << std::countr_zero(number));
}

/// Bytes that the host lends, copied to memory where writes, and accesses out of bounds or after
/// their release, fault. The plugin may move its `tenon_buffer`.
class GuardedBytes {
 public:
  GuardedBytes(tenon_buffer* original, Forbidden outside, bool guard = true) : original_(original) {
    if (!original || !guard) return;
    const auto size = static_cast<std::size_t>(original->nbytes);
    if (!original->data || size == 0 || size > largest) return;
    copy_ = GuardedMemory(size, alignment_of(original->data, 64), outside);
    std::memcpy(copy_.data(), original->data, size);
    copy_.forbid_writes(outside);
  }
  /// The buffer for the plugin.
  [[nodiscard]] tenon_buffer buffer() noexcept {
    if (!original_) return {};
    const void* data = copy_.data() ? copy_.data() : original_->data;
    return {sizeof(tenon_buffer), 0, data, original_->nbytes, this, &release};
  }
  [[nodiscard]] bool was_released() const noexcept { return released_; }

 private:
  /// Copying more would only cost time: accesses behind a mapped file are rare.
  static constexpr std::size_t largest = std::size_t{4} << 20;

  static void release(tenon_buffer* seen) {
    const OutsidePlugin outside;
    auto* bytes = static_cast<GuardedBytes*>(seen->owner);
    seen->data = nullptr;
    seen->nbytes = 0;
    if (std::exchange(bytes->released_, true)) return;
    if (bytes->copy_.data()) bytes->copy_.forbid({"TN-BUF-1", "bytes that were released"});
    if (bytes->original_->release) bytes->original_->release(bytes->original_);
  }

  tenon_buffer* original_;
  GuardedMemory copy_;
  bool released_ = false;
};

/// An allocator of the host that can fail.
class GuardedAllocator {
 public:
  GuardedAllocator(tenon_allocator* original, Service service, Faults& faults) noexcept
      : table_{sizeof(tenon_allocator), 0, &allocate},
        original_(original),
        service_(service),
        faults_(&faults) {}
  [[nodiscard]] tenon_allocator* table() noexcept { return original_ ? &table_ : nullptr; }

 private:
  static void* allocate(tenon_allocator* table, std::uint64_t nbytes, std::uint64_t alignment) {
    const OutsidePlugin outside;
    auto& self = *reinterpret_cast<GuardedAllocator*>(table);
    if (self.faults_->should_fail(self.service_)) return nullptr;
    void* block = self.original_->allocate(self.original_, nbytes, alignment);
    if (block) interposition.lend(block);
    return block;
  }

  tenon_allocator table_;  // First, so that a plugin's pointer to it is a pointer to this.
  tenon_allocator* original_;
  Service service_;
  Faults* faults_;
};

/// A named data map of the host that can fail, and whose bytes are guarded.
class GuardedNamedData {
 public:
  GuardedNamedData(const tenon_named_data_map* original, Faults& faults, bool guard)
      : table_{sizeof(tenon_named_data_map), original ? original->num_keys : 0, &get_data,
               &get_tensor_layout, &get_key},
        original_(original),
        faults_(&faults),
        guard_(guard) {}
  GuardedNamedData(const GuardedNamedData&) = delete;
  GuardedNamedData& operator=(const GuardedNamedData&) = delete;

  [[nodiscard]] const tenon_named_data_map* table() const noexcept {
    return original_ ? &table_ : nullptr;
  }

 private:
  struct Lent {
    Lent(const tenon_buffer& from, bool guard)
        : original(from), seen(&original, {"TN-INI-5", "around the bytes of named data"}, guard) {}
    tenon_buffer original;
    GuardedBytes seen;
  };

  static GuardedNamedData& self(const tenon_named_data_map* table) noexcept {
    return *const_cast<GuardedNamedData*>(reinterpret_cast<const GuardedNamedData*>(table));
  }
  static tenon_status get_data(const tenon_named_data_map* table, const char* key,
                               std::uint64_t size, tenon_buffer* out) {
    const OutsidePlugin outside;
    GuardedNamedData& map = self(table);
    if (map.faults_->should_fail(Service::named_data)) return TENON_STATUS_NOT_FOUND;
    tenon_buffer original{};
    original.struct_size = sizeof original;
    const tenon_status status = map.original_->get_data(map.original_, key, size, &original);
    if (status != TENON_STATUS_OK) return status;
    const std::lock_guard lock(map.mutex_);
    Lent& lent = map.lent_.emplace_back(original, map.guard_);
    const tenon_buffer buffer = lent.seen.buffer();
    std::memcpy(out, &buffer, std::min<std::size_t>(out->struct_size, sizeof buffer));
    return TENON_STATUS_OK;
  }
  static tenon_status get_tensor_layout(const tenon_named_data_map* table, const char* key,
                                        std::uint64_t size, tenon_tensor_layout* out) {
    const OutsidePlugin outside;
    const tenon_named_data_map* original = self(table).original_;
    return original->get_tensor_layout(original, key, size, out);
  }
  static tenon_status get_key(const tenon_named_data_map* table, std::uint32_t index,
                              const char** key, std::uint64_t* size) {
    const OutsidePlugin outside;
    const tenon_named_data_map* original = self(table).original_;
    return original->get_key(original, index, key, size);
  }

  tenon_named_data_map table_;  // First, for the same reason.
  const tenon_named_data_map* original_;
  Faults* faults_;
  bool guard_;
  std::mutex mutex_;
  std::list<Lent> lent_;  // A list: the plugin's buffers point to its items.
};

/// The host's table as the plugin sees it.
class GuardedHost {
 public:
  /// `on_resize` may be empty.
  GuardedHost(const tenon_host* original, const HostShape& shape, Faults& faults,
              const OnResize& on_resize)
      : original_(original), faults_(&faults), on_resize_(&on_resize) {
    tenon_host table = *original;
    table.abi_major = shape.abi_major;
    table.abi_minor = shape.abi_minor;
    if (shape.plugin_path) table.plugin_path = shape.plugin_path;
    table.set_last_error = &set_last_error;
    table.log = &log;
    table.resize_tensor = &resize_tensor;
    table.get_extension = shape.host_extensions ? &get_extension : &no_extension;
    seen_ = {table, shape.unknown_bytes, this};
  }
  GuardedHost(const GuardedHost&) = delete;
  GuardedHost& operator=(const GuardedHost&) = delete;
  [[nodiscard]] const tenon_host* get() const noexcept { return seen_.get(); }
  /// From now on the plugin must not touch it: any access faults.
  void forbid(Forbidden why) noexcept { seen_.forbid(why); }
  /// The host behind the host that a plugin sees.
  [[nodiscard]] static const tenon_host* original_of(const tenon_host* seen) noexcept {
    return HostStruct::owner_of(seen).original_;
  }

 private:
  using HostStruct = GuardedStruct<tenon_host, GuardedHost>;

  static void set_last_error(const tenon_host* host, tenon_status status, const char* text,
                             std::uint64_t size) {
    const OutsidePlugin outside;
    const tenon_host* original = HostStruct::owner_of(host).original_;
    said_error() = {true, status, std::string_view(text, static_cast<std::size_t>(size))};
    original->set_last_error(original, status, text, size);
  }
  static void log(const tenon_host* host, std::int32_t level, const char* text,
                  std::uint64_t size) {
    const OutsidePlugin outside;
    const tenon_host* original = HostStruct::owner_of(host).original_;
    const std::int64_t before = bytes_in_standard_streams();
    original->log(original, level, text, size);
    current_call().host_wrote += bytes_in_standard_streams() - before;
  }
  static tenon_status resize_tensor(const tenon_host* host, tenon_tensor* tensor,
                                    const std::int64_t* sizes, std::uint32_t rank) {
    const OutsidePlugin outside;
    GuardedHost& self = HostStruct::owner_of(host);
    if (self.faults_->should_fail(Service::resize)) return TENON_STATUS_NOT_SUPPORTED;
    if (*self.on_resize_) return (*self.on_resize_)(self.original_, tensor, sizes, rank);
    return self.original_->resize_tensor(self.original_, tensor, sizes, rank);
  }
  static const void* get_extension(const tenon_host* host, const char* id) {
    const OutsidePlugin outside;
    const tenon_host* original = HostStruct::owner_of(host).original_;
    return original->get_extension && id ? extension_of(original, id) : nullptr;
  }
  static const void* no_extension(const tenon_host*, const char*) { return nullptr; }
  /// The table of an extension of `original` as the plugin sees it, or null.
  static const void* extension_of(const tenon_host* original, const char* id);

  const tenon_host* original_;
  Faults* faults_;
  const OnResize* on_resize_;
  HostStruct seen_;
};

}}}}  // namespace tenon::TENON_RELEASE::conformance::detail
