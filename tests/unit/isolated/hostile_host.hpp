// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/private/changes.h"
#include "tenon/abi/tenon.h"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

namespace tenon::test {

/// An application's host, with all extensions of a host that cross to a worker; keeps the last
/// failure, and reads each byte that it is given.
class HostileHost : public tenon_host {
 public:
  explicit HostileHost(std::string plugin) : plugin_(std::move(plugin)) {
    static_cast<tenon_host&>(*this) = {sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR,
                                       "hostile-test",     plugin_.c_str(), &keep_error,
                                       &write_log,         &resize,         &find};
  }
  HostileHost(const HostileHost&) = delete;
  HostileHost& operator=(const HostileHost&) = delete;

  std::string error;
  std::uint64_t num_bytes = 0;  ///< Bytes that were read, so that none is left unread.
  /// Prepared bytes, by the context of `init`.
  std::map<const tenon_init_context*, int> num_opened;
  std::map<const tenon_init_context*, int> num_stored;

  void read(const void* data, std::uint64_t size) {
    const auto* const bytes = static_cast<const unsigned char*>(data);
    for (std::uint64_t i = 0; i < size; ++i) num_bytes += bytes[i];
  }

 private:
  static HostileHost& of(const tenon_host* host) noexcept {
    return *const_cast<HostileHost*>(static_cast<const HostileHost*>(host));
  }
  static void keep_error(const tenon_host* host, tenon_status, const char* text,
                         std::uint64_t size) {
    of(host).error.assign(text, size);
  }
  static void write_log(const tenon_host* host, std::int32_t, const char* text,
                        std::uint64_t size) {
    of(host).read(text, size);
  }
  static tenon_status resize(const tenon_host*, tenon_tensor* tensor, const std::int64_t* sizes,
                             std::uint32_t rank) {
    return to_status(host::resize_tensor(*tensor, {sizes, rank}));
  }

  static const std::uint32_t* cancel_flag(const tenon_execution_context*) {
    static const std::uint32_t flag = 0;
    return &flag;
  }
  static const tenon_thread_pool* no_pool(const tenon_execution_context*) { return nullptr; }
  static const tenon_thread_pool* no_pool_of_init(const tenon_init_context*) { return nullptr; }
  static tenon_changes* changes(const tenon_execution_context*) {
    static tenon_changes out{sizeof(tenon_changes), 0, 7};
    return &out;
  }

  /// Bytes that are found, and a store that reads what it is given.
  struct Prepared : tenon_prepared {
    HostileHost* owner = nullptr;
    const tenon_init_context* context = nullptr;
    char bytes[16] = "prepared bytes.";
  };
  static tenon_status open(const tenon_init_context* context, const void* identity,
                           std::uint64_t size, tenon_prepared** out) {
    auto* const made = new Prepared;
    made->owner = &of(context->host);
    made->context = context;
    made->owner->read(identity, size);
    ++made->owner->num_opened[context];
    static_cast<tenon_prepared&>(*made) = {
        sizeof(tenon_prepared), 0, sizeof made->bytes, made->bytes, &store, &release, nullptr};
    *out = made;
    return TENON_STATUS_OK;
  }
  static tenon_status store(tenon_prepared* prepared, const tenon_span* parts,
                            std::uint64_t num_parts) {
    const auto& self = *static_cast<const Prepared*>(prepared);
    ++self.owner->num_stored[self.context];
    for (std::uint64_t i = 0; i < num_parts; ++i) {
      self.owner->read(parts[i].data, parts[i].size);
    }
    return TENON_STATUS_OK;
  }
  static void release(tenon_prepared* prepared) { delete static_cast<Prepared*>(prepared); }

  static const void* find(const tenon_host*, const char* id) {
    static constexpr tenon_cancel_flag_v1 cancel_table = {sizeof cancel_table, 0, &cancel_flag};
    static constexpr tenon_prepare_v1 prepare_table = {sizeof prepare_table, 0, &open};
    static constexpr tenon_threads_v1 threads_table = {sizeof threads_table, 0, &no_pool,
                                                       &no_pool_of_init};
    static constexpr tenon_changes_v1 changes_table = {sizeof changes_table, 0, &changes};
    const std::string_view asked = id;
    if (asked == TENON_EXTENSION_CANCEL_FLAG) return &cancel_table;
    if (asked == TENON_EXTENSION_PREPARE) return &prepare_table;
    if (asked == TENON_EXTENSION_THREADS) return &threads_table;
    if (asked == TENON_EXTENSION_CHANGES) return &changes_table;
    return nullptr;
  }

  std::string plugin_;
};

/// Memory between two areas that nothing may write to.
class Guarded {
 public:
  explicit Guarded(std::size_t size) : bytes_(size + 2 * margin, mark) {
    std::ranges::fill(std::span(data(), size), std::byte{0});
  }
  [[nodiscard]] std::byte* data() noexcept { return bytes_.data() + margin; }
  [[nodiscard]] bool is_whole() const noexcept {
    const auto is_mark = [](std::byte each) { return each == mark; };
    return std::all_of(bytes_.begin(), bytes_.begin() + margin, is_mark) &&
           std::all_of(bytes_.end() - margin, bytes_.end(), is_mark);
  }

 private:
  static constexpr std::ptrdiff_t margin = 64;
  static constexpr std::byte mark{0xa5};
  std::vector<std::byte> bytes_;
};

/// A tensor of 2 rows and up to 3 columns of float32.
struct GuardedTensor {
  explicit GuardedTensor(std::int32_t dynamism) {
    tensor.struct_size = sizeof tensor;
    tensor.scalar_type = 6;
    tensor.dl = {memory.data(), {TENON_DL_CPU, 0}, 2, {TENON_DL_FLOAT, 32, 1}, shape, strides, 0};
    tensor.dim_order = order;
    tensor.bounds = bounds;
    tensor.nbytes = 24;
    tensor.capacity = 24;
    tensor.shape_dynamism = static_cast<std::uint32_t>(dynamism);
    value.as.tensor = &tensor;
  }
  GuardedTensor(const GuardedTensor&) = delete;
  GuardedTensor& operator=(const GuardedTensor&) = delete;

  Guarded memory{24};
  std::int64_t shape[2] = {2, 3};
  std::int64_t strides[2] = {3, 1};
  std::int64_t bounds[2] = {2, 3};
  std::uint8_t order[2] = {0, 1};
  tenon_tensor tensor{};
  tenon_value value{sizeof(tenon_value), TENON_VALUE_TENSOR, {}};
};

}  // namespace tenon::test
