// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/extensions/prepare.h"

namespace tenon::isolated {

/// The prepared bytes of the application ("tenon.prepare/1") that one delegate opened. Any
/// thread. Its end releases all.
class PreparedSet {
 public:
  /// `keeps` keeps what the plugin releases until the end, so that a second `init`, in a new
  /// worker, finds it again.
  PreparedSet(const tenon_prepare_v1* table, bool keeps) noexcept : table_(table), keeps_(keeps) {}
  PreparedSet(const PreparedSet&) = delete;
  PreparedSet& operator=(const PreparedSet&) = delete;
  ~PreparedSet() {
    for (const Entry& each : entries_) {
      if (each.handle) each.handle->release(each.handle);
    }
  }

  /// The bytes that were found, and the number of the entry.
  struct Opened {
    std::uint64_t number = 0;
    std::span<const std::byte> bytes{};
  };
  /// Inside `init` asks the host; without a context, in a later `init`, finds what was opened then.
  [[nodiscard]] tenon_status open(const tenon_init_context* context, std::string_view identity,
                                  Opened& out) {
    const std::lock_guard lock(mutex_);
    if (!table_) return TENON_STATUS_NOT_SUPPORTED;
    if (context) {
      if (entries_.size() == max_entries || identity.size() > max_identity) {
        return TENON_STATUS_OUT_OF_RESOURCES;
      }
      Entry entry{std::string(identity)};
      entries_.reserve(entries_.size() + 1);
      const tenon_status status =
          table_->open(context, entry.identity.data(), entry.identity.size(), &entry.handle);
      if (status != TENON_STATUS_OK) return status;
      entries_.push_back(entry);
      out = {entries_.size() - 1, bytes_of(*entry.handle)};
      return TENON_STATUS_OK;
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].handle || entries_[i].identity != identity) continue;
      out = {i, bytes_of(*entries_[i].handle)};
      return TENON_STATUS_OK;
    }
    return TENON_STATUS_NOT_FOUND;
  }

  /// Whether entry `number` is open.
  [[nodiscard]] bool is_open(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    return number < entries_.size() && entries_[number].handle;
  }

  [[nodiscard]] tenon_status store(std::uint64_t number, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    if (number >= entries_.size() || !entries_[number].handle) return TENON_STATUS_INVALID_ARGUMENT;
    const tenon_span part{bytes.data(), bytes.size()};
    return entries_[number].handle->store(entries_[number].handle, &part, 1);
  }

  void release(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (keeps_ || number >= entries_.size() || !entries_[number].handle) return;
    entries_[number].handle->release(entries_[number].handle);
    entries_[number].handle = nullptr;
  }

 private:
  struct Entry {
    std::string identity;
    tenon_prepared* handle = nullptr;
  };
  static std::span<const std::byte> bytes_of(const tenon_prepared& handle) noexcept {
    if (!handle.data) return {};
    return {static_cast<const std::byte*>(handle.data), static_cast<std::size_t>(handle.nbytes)};
  }

  /// Limits of what a worker makes the application keep.
  static constexpr std::size_t max_entries = 256;
  static constexpr std::size_t max_identity = std::size_t{64} * 1024;

  const tenon_prepare_v1* table_;
  bool keeps_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tenon::isolated
