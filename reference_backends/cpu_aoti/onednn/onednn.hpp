// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onednn/onednn_api.hpp"
#include "strided.hpp"
#include "tenon/core/status.hpp"

/// oneDNN primitives, created once for a shape and reused.
namespace tenon::cpu_aoti::onednn {

/// Turns a failure of oneDNN into a Status; `what` names the step.
[[nodiscard]] Status check(dnnl_status_t status, const char* what);

/// The engine of this process.
[[nodiscard]] dnnl_engine_t engine();

/// A handle of oneDNN's C interface, destroyed by the given function.
template <class Handle, auto Destroy>
struct Destroyer {
  using pointer = Handle;
  void operator()(Handle handle) const noexcept { (api().*Destroy)(handle); }
};
template <class Handle, auto Destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<Handle, Destroy>>;

using PrimitiveDesc = Owned<dnnl_primitive_desc_t, &Api::dnnl_primitive_desc_destroy>;
using Primitive = Owned<dnnl_primitive_t, &Api::dnnl_primitive_destroy>;
using Memory = Owned<dnnl_memory_t, &Api::dnnl_memory_destroy>;
using Stream = Owned<dnnl_stream_t, &Api::dnnl_stream_destroy>;
using Attributes = Owned<dnnl_primitive_attr_t, &Api::dnnl_primitive_attr_destroy>;

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
  Status make(const_dnnl_primitive_desc_t desc, std::span<const int> arguments);

  /// The same for the description of an operation. `what` names the choice of its primitive.
  /// errors: those of oneDNN; NotSupported where it has no primitive for the operation.
  Status make(const_dnnl_op_desc_t operation, const Attributes& attributes,
              std::span<const int> arguments, const char* what);

  /// The format of an argument of the primitive.
  [[nodiscard]] const dnnl_memory_desc_t& desc(int argument) const noexcept;

  Status set(int argument, void* data);
  Status run();

 private:
  struct Argument {
    int index;
    dnnl_memory_desc_t desc;
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

/// oneDNN's element type; `dnnl_data_type_undef` where it has none.
[[nodiscard]] dnnl_data_type_t data_type(ScalarType type) noexcept;

/// A description with the given strides.
Result<dnnl_memory_desc_t> strided_desc(Sizes sizes, const std::int64_t* strides,
                                        dnnl_data_type_t type);

/// A description with the strides of a tag, or, for `dnnl_format_tag_any`, with those that a
/// primitive chooses.
Result<dnnl_memory_desc_t> tagged_desc(Sizes sizes, dnnl_data_type_t type, dnnl_format_tag_t tag);

/// Attributes with a scratchpad of the caller.
Result<Attributes> new_attributes();

}  // namespace tenon::cpu_aoti::onednn
