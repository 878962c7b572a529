// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Finds entries by their id without a lock. Entries are added and never taken out; `Entry` has
/// `std::string_view id() const`, which must not change.
///
/// Open addressing at most half full. Readers load the current array; a writer fills slots in place
/// or publishes a larger array, and keeps the old ones until its destruction, because a reader may
/// still be in them. Writers must exclude each other; readers need nothing.
template <class Entry>
class IdTable {
 public:
  IdTable() { publish(std::make_unique<Array>(32)); }

  [[nodiscard]] Entry* find(std::string_view id) const noexcept {
    const std::size_t hash = std::hash<std::string_view>()(id);
    const Array& array = *current_.load(std::memory_order_acquire);
    for (std::size_t i = hash & array.mask;; i = (i + 1) & array.mask) {
      const Slot& slot = array.slots[i];
      Entry* entry = slot.entry.load(std::memory_order_acquire);
      if (!entry) return nullptr;
      if (slot.hash.load(std::memory_order_relaxed) == hash && entry->id() == id) return entry;
    }
  }

  /// Adds an entry whose id is not in the table yet.
  void insert(Entry* entry) {
    reserve(1);
    put(*current_.load(std::memory_order_relaxed), entry);
    ++count_;
  }

  /// The next `more` insertions do not fail.
  void reserve(std::size_t more) {
    const Array& old = *current_.load(std::memory_order_relaxed);
    std::size_t size = old.slots.size();
    while (2 * (count_ + more) > size) size *= 2;
    if (size == old.slots.size()) return;
    auto larger = std::make_unique<Array>(size);
    for (const Slot& slot : old.slots) {
      if (Entry* moved = slot.entry.load(std::memory_order_relaxed)) put(*larger, moved);
    }
    publish(std::move(larger));
  }

 private:
  struct Slot {
    std::atomic<Entry*> entry = nullptr;
    std::atomic<std::size_t> hash = 0;
  };
  struct Array {
    explicit Array(std::size_t size) : slots(size), mask(size - 1) {}
    std::vector<Slot> slots;
    std::size_t mask;
  };

  void publish(std::unique_ptr<Array> array) {
    arrays_.push_back(std::move(array));
    current_.store(arrays_.back().get(), std::memory_order_release);
  }

  static void put(Array& array, Entry* entry) noexcept {
    const std::size_t hash = std::hash<std::string_view>()(entry->id());
    std::size_t i = hash & array.mask;
    while (array.slots[i].entry.load(std::memory_order_relaxed)) i = (i + 1) & array.mask;
    array.slots[i].hash.store(hash, std::memory_order_relaxed);
    array.slots[i].entry.store(entry, std::memory_order_release);
  }

  std::vector<std::unique_ptr<Array>> arrays_;
  std::atomic<Array*> current_ = nullptr;
  std::size_t count_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
