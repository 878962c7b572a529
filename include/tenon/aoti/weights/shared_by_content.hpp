// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aoti {

/// Objects in use that were made from bytes, so that users of equal bytes share one object.
///
/// An object is found by the hash of the bytes and then compared with them, never by a key: a
/// program must not get another program's weights by choosing their key, or bytes of the same hash.
///
/// Threads: any. A thread that asks for an object that another thread is making waits and shares
/// it.
template <class Object>
class SharedByContent {
 public:
  /// The object for `bytes`: one for which `is_same`, a `Result<bool>(const Object&)`, holds, or
  /// the one that `make` returns, a `Result<std::shared_ptr<const Object>>()`.
  /// errors: those of both functions.
  template <class IsSame, class Make>
  [[nodiscard]] Result<std::shared_ptr<const Object>> get(Bytes bytes, const IsSame& is_same,
                                                          const Make& make) {
    const std::size_t hash = std::hash<std::string_view>{}(as_text(bytes));
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return entry.object.expired(); });
    for (const Entry& entry : entries_) {
      if (entry.hash != hash) continue;
      auto object = entry.object.lock();
      if (!object) continue;
      TENON_TRY(const bool same, is_same(*object));
      if (same) return object;
    }
    TENON_TRY(std::shared_ptr<const Object> made, make());
    entries_.push_back({hash, made});
    return made;
  }

  /// Bytes of all objects in use.
  [[nodiscard]] std::size_t nbytes() const {
    const std::lock_guard lock(mutex_);
    std::size_t sum = 0;
    for (const Entry& entry : entries_) {
      if (const auto object = entry.object.lock()) sum += object->nbytes();
    }
    return sum;
  }

 private:
  struct Entry {
    std::size_t hash;
    std::weak_ptr<const Object> object;
  };

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tenon::aoti
