// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onednn/format.hpp"
#include "onednn/handles.hpp"
#include "strided.hpp"
#include "tenon/core/status.hpp"

/// oneDNN primitives, created once for a shape and reused.
namespace tenon::cpu_aoti::onednn {

/// The parameters of a primitive, as numbers.
struct Key {
  static constexpr std::size_t most = 56;
  std::array<std::int64_t, most> values{};
  std::size_t count = 0;

  Key() = default;
  Key(std::initializer_list<std::int64_t> list) noexcept {
    for (const std::int64_t value : list) add(value);
  }

  void add(std::int64_t value) noexcept { values[count++] = value; }
  void add(Sizes list) noexcept {
    for (const std::int64_t value : list) add(value);
  }
  bool operator==(const Key& other) const noexcept {
    return count == other.count && values == other.values;
  }
};

struct KeyHash {
  std::size_t operator()(const Key& key) const noexcept;
};

/// A primitive with the memory objects of its arguments. Threads: one at a time, because addresses
/// are set in the objects.
class Bound {
 public:
  /// Creates the primitive of a description. `run` takes its scratchpad from the pool, so that
  /// oneDNN allocates nothing.
  Status make(const PrimitiveDesc& desc, std::span<const int> arguments);

  /// The format of an argument of the primitive.
  [[nodiscard]] const Format& format(int argument) const noexcept;

  Status set(int argument, void* data);
  Status run();

 private:
  struct Argument {
    int index;
    Format format;
    Memory memory;
  };

  Primitive primitive_;
  Stream stream_;
  std::vector<Argument> arguments_;
  std::vector<dnnl_exec_arg_t> call_;
  std::int64_t scratchpad_ = 0;
};

/// Objects by key. It is destroyed with the pool of a model (`TensorPool::cache`), so one thread
/// uses it at a time, without a lock. Beyond `max_keys` a new object replaces the oldest one.
template <class T>
class Cache {
 public:
  /// The object for `key`, valid until the next call; `make(T&)` fills a new one.
  template <class Make>
  Result<T*> get(const Key& key, const Make& make) {
    if (const auto found = made_.find(key); found != made_.end()) return found->second.get();
    auto made = std::make_unique<T>();
    TENON_RETURN_IF_ERROR(make(*made));
    const auto& [own_key, object] = *made_.emplace(key, std::move(made)).first;
    if (by_age_.size() < max_keys) {
      by_age_.push_back(&own_key);
    } else {
      made_.erase(made_.find(*by_age_[oldest_]));
      by_age_[oldest_] = &own_key;
      oldest_ = (oldest_ + 1) % max_keys;
    }
    return object.get();
  }

  static constexpr std::size_t max_keys = 1024;

 private:
  std::unordered_map<Key, std::unique_ptr<T>, KeyHash> made_;
  std::vector<const Key*> by_age_;  ///< Of `made_`, in a ring that begins at `oldest_`.
  std::size_t oldest_ = 0;
};

}  // namespace tenon::cpu_aoti::onednn
