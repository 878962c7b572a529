// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tenon/abi/backend.h"
#include "tenon/backend/named_data_map.hpp"
#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/status.hpp"
#include "tenon/core/struct_size.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Memory lent by the host. Single blocks cannot be freed.
class Allocator {
 public:
  explicit Allocator(tenon_allocator* allocator) noexcept : allocator_(allocator) {}

  /// `nbytes` bytes aligned to `alignment`, or null: without memory, and for an alignment that is
  /// not a power of two. 0 bytes are an address that is not null.
  [[nodiscard]] void* allocate(std::size_t nbytes,
                               std::size_t alignment = alignof(std::max_align_t)) const noexcept {
    return allocator_->allocate(allocator_, nbytes, alignment);
  }

  /// Memory for `count` objects, not initialised, or null (also when the size would overflow). Only
  /// for types without a destructor: none is called when the memory is freed.
  template <class T>
    requires std::is_trivially_destructible_v<T>
  [[nodiscard]] T* allocate_list(std::size_t count) const noexcept {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) return nullptr;
    return static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
  }

 private:
  tenon_allocator* allocator_;
};

/// Receiver of a backend's own events. Does nothing when events are not recorded; never fails.
class Tracer {
 public:
  explicit Tracer(const tenon_tracer* tracer) noexcept : tracer_(tracer) {}

  /// True when events are recorded. Check it before collecting costly metadata.
  [[nodiscard]] bool enabled() const noexcept { return tracer_ != nullptr; }

  /// Nanoseconds of the tracer's clock; 0 when events are not recorded.
  [[nodiscard]] std::uint64_t now() const noexcept { return tracer_ ? tracer_->now(tracer_) : 0; }

  /// Records that `name` ran from `start_ns` to `end_ns`. `debug_handle` ties it to the handle map
  /// made ahead of time; -1 for none.
  void log_event(std::string_view name, std::uint64_t start_ns, std::uint64_t end_ns,
                 std::int64_t debug_handle = -1, Bytes metadata = {}) const noexcept {
    if (!tracer_) return;
    tracer_->log_event(tracer_, name.data(), name.size(), debug_handle, start_ns, end_ns,
                       metadata.data(), metadata.size());
  }

  /// Records that the counter `name` has the value `value` now: bytes moved so far, busy cores.
  /// `unit` is for people ("bytes", "%") and one for each name. Does nothing with a host that
  /// records no counters.
  void log_counter(std::string_view name, double value, std::string_view unit = {}) const noexcept {
    if (!tracer_ || !tracer_->log_counter) return;
    tracer_->log_counter(tracer_, name.data(), name.size(), unit.data(), unit.size(),
                         tracer_->now(tracer_), value);
  }

 private:
  const tenon_tracer* tracer_;
};

/// Reports its own lifetime as one event. `name` must outlive it.
class TracerScope {
 public:
  TracerScope(Tracer tracer, std::string_view name, std::int64_t debug_handle = -1) noexcept
      : tracer_(tracer), name_(name), debug_handle_(debug_handle), start_ns_(tracer.now()) {}
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;
  ~TracerScope() { tracer_.log_event(name_, start_ns_, tracer_.now(), debug_handle_); }

 private:
  Tracer tracer_;
  std::string_view name_;
  std::int64_t debug_handle_;
  std::uint64_t start_ns_;
};

/// The processed bytes of a delegate. Valid until `destroy`, so that a delegate may point into
/// them, or until `release`, which frees them early.
class Blob {
 public:
  explicit Blob(tenon_buffer* buffer) noexcept : buffer_(buffer) {}

  [[nodiscard]] Bytes bytes() const noexcept {
    return {static_cast<const std::byte*>(buffer_->data), size()};
  }
  [[nodiscard]] std::size_t size() const noexcept {
    return static_cast<std::size_t>(buffer_->nbytes);
  }
  [[nodiscard]] std::string_view text() const noexcept { return as_text(bytes()); }

  /// Frees the bytes early; `bytes()` is empty afterwards. May be called twice, from any thread,
  /// until `destroy`.
  void release() const noexcept { buffer_->release(buffer_); }

 private:
  tenon_buffer* buffer_;
};

/// The context of `init`, which loads one blob. Valid until `init` returns.
class InitContext {
 public:
  explicit InitContext(const tenon_init_context& context) noexcept : context_(&context) {}

  /// The method being loaded, for example "forward".
  [[nodiscard]] std::string_view method_name() const noexcept { return context_->method_name; }

  /// Memory that is valid as long as the delegate.
  [[nodiscard]] Allocator runtime_allocator() const noexcept {
    return Allocator(context_->runtime_allocator);
  }

  /// Data by name, or nothing when the program has none. May be kept until `destroy`.
  [[nodiscard]] std::optional<NamedDataMap> named_data_map() const noexcept {
    if (!context_->named_data_map) return std::nullopt;
    return NamedDataMap(context_->named_data_map);
  }

  [[nodiscard]] Tracer tracer() const noexcept { return Tracer(context_->tracer); }

  /// The options given for this load.
  [[nodiscard]] std::size_t num_runtime_specs() const noexcept {
    return context_->num_runtime_specs;
  }
  [[nodiscard]] const tenon_option& runtime_spec(std::size_t index) const noexcept {
    return detail::StridedArray<tenon_option>(context_->runtime_specs,
                                              context_->num_runtime_specs)[index];
  }

  /// The application's hints for the method; a backend that follows some derives from
  /// `WithScheduling`.
  [[nodiscard]] Scheduling scheduling() const noexcept {
    return detail::to_scheduling(context_->scheduling);
  }

  /// Asks the host whether `code`, which the program carries, may run. Pass all bytes that will be
  /// mapped, before they are mapped (TN-COD-1), and declare
  /// `static constexpr bool runs_embedded_code = true`. On failure map nothing and return the
  /// failure; the host reports its reason itself.
  [[nodiscard]] Status permit_code(Bytes code) const {
    if (!context_->permit_code) return ok();
    const tenon_status status = context_->permit_code(context_, code.data(), code.size());
    if (status == TENON_STATUS_OK) return ok();
    return error(error_from_status(status), "the host does not let the program's own code run");
  }

  [[nodiscard]] const tenon_init_context& raw() const noexcept { return *context_; }

 private:
  const tenon_init_context* context_;
};

/// The context of `execute`, besides its arguments. Valid until `execute` returns.
class ExecutionContext {
 public:
  explicit ExecutionContext(const tenon_execution_context& context) noexcept : context_(&context) {}

  [[nodiscard]] std::string_view method_name() const noexcept { return context_->method_name; }

  /// Memory that is valid until this call returns.
  [[nodiscard]] Allocator temp_allocator() const noexcept {
    return Allocator(context_->temp_allocator);
  }

  [[nodiscard]] Tracer tracer() const noexcept { return Tracer(context_->tracer); }

  [[nodiscard]] const tenon_execution_context& raw() const noexcept { return *context_; }

 private:
  const tenon_execution_context* context_;
};

}}  // namespace tenon::TENON_RELEASE
