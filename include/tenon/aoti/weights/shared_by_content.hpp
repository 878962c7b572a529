// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Objects in use that were made from bytes, so that users of equal bytes share one object.
///
/// An object is found by the hash of the bytes and then compared with them, never by a key: a
/// program must not get another program's weights by choosing their key, or bytes of the same hash.
///
/// Threads: any. A thread that asks for an object that another thread is making waits and shares
/// it; objects from bytes of different hashes are made and compared at the same time.
template <class Object>
class SharedByContent {
 public:
  /// The object for `bytes`: a known object for which `is_same`, a `Result<bool>(const Object&)`,
  /// holds, or the new object of `make`, a `Result<std::shared_ptr<const Object>>()`.
  /// errors: what `is_same` and `make` return.
  template <class IsSame, class Make>
  [[nodiscard]] Result<std::shared_ptr<const Object>> get(Bytes bytes, const IsSame& is_same,
                                                          const Make& make) {
    return get(hash_of(bytes), is_same, make);
  }

  /// The object for bytes whose hash is known: as the other `get` finds or makes it.
  template <class IsSame, class Make>
  [[nodiscard]] Result<std::shared_ptr<const Object>> get(std::size_t hash, const IsSame& is_same,
                                                          const Make& make) {
    const std::shared_ptr<Entry> entry = entry_of(hash);
    const std::lock_guard lock(entry->making);
    for (const auto& object : entry->existing()) {
      TENON_TRY(const bool same, is_same(*object));
      if (same) return object;
    }
    TENON_TRY(std::shared_ptr<const Object> made, make());
    entry->add(made);
    return made;
  }

  [[nodiscard]] static std::size_t hash_of(Bytes bytes) {
    return std::hash<std::string_view>{}(as_text(bytes));
  }

  /// Bytes of all objects in use.
  [[nodiscard]] std::size_t nbytes() const {
    std::size_t sum = 0;
    for_each([&](const Object& object) { sum += object.nbytes(); });
    return sum;
  }
  /// Calls `visit` with all objects in use.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [hash, entry] : entries_) {
      for (const auto& object : entry->existing()) visit(*object);
    }
  }

 private:
  /// Objects of one hash: nearly always one.
  class Entry {
   public:
    std::mutex making;  ///< Held while an object is made or compared, which may take long.

    [[nodiscard]] std::vector<std::shared_ptr<const Object>> existing() {
      const std::lock_guard lock(mutex_);
      std::vector<std::shared_ptr<const Object>> out;
      for (const auto& object : objects_) {
        if (auto alive = object.lock()) out.push_back(std::move(alive));
      }
      return out;
    }
    void add(const std::shared_ptr<const Object>& object) {
      const std::lock_guard lock(mutex_);
      std::erase_if(objects_, [](const auto& each) { return each.expired(); });
      objects_.push_back(object);
    }
    [[nodiscard]] bool is_empty() {
      const std::lock_guard lock(mutex_);
      return std::ranges::all_of(objects_, [](const auto& each) { return each.expired(); });
    }

   private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<const Object>> objects_;
  };

  std::shared_ptr<Entry> entry_of(std::size_t hash) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= clean_at_) {
      // An entry that a thread is making an object for has two owners.
      std::erase_if(entries_, [](const auto& each) {
        return each.second.use_count() == 1 && each.second->is_empty();
      });
      clean_at_ = 2 * entries_.size() + first_cleaning;
    }
    auto& entry = entries_[hash];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
  }

  static constexpr std::size_t first_cleaning = 64;

  mutable std::mutex mutex_;
  std::size_t clean_at_ = first_cleaning;
  std::map<std::size_t, std::shared_ptr<Entry>> entries_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
