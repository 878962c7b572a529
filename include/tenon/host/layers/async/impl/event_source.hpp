// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/events.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/last_error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The events of one backend (extension "tenon.events/1"): its functions, and the events that are
/// not in use. One thread at a time. The backend must outlive it.
class EventSource {
 public:
  /// Nothing for a backend that starts no runs, or lacks a function of the table (TN-EVT-1).
  [[nodiscard]] static std::optional<EventSource> of(const LoadedBackend& backend) {
    const auto table = backend.extension<tenon_events_v1>(TENON_EXTENSION_EVENTS);
    if (!table || !is_complete(*table)) return std::nullopt;
    return EventSource(backend, *table);
  }

  /// Whether the table has each function that it must have (TN-EVT-1).
  [[nodiscard]] static bool is_complete(const tenon_events_v1& table) noexcept {
    return table.create_event && table.start && table.record && table.wait && table.query &&
           table.wait_on && table.destroy_event;
  }

  EventSource(EventSource&& other) noexcept
      : backend_(other.backend_), table_(other.table_), free_(std::exchange(other.free_, {})) {}
  EventSource& operator=(EventSource&&) = delete;
  ~EventSource() {
    for (tenon_event* const event : free_) table_.destroy_event(backend_.raw(), event);
  }

  [[nodiscard]] const LoadedBackend& backend() const noexcept { return backend_; }
  [[nodiscard]] const tenon_events_v1& table() const noexcept { return table_; }

  /// An event, whatever it marks; to be given to `put_back`.
  [[nodiscard]] Result<tenon_event*> take() {
    if (!free_.empty()) {
      tenon_event* const event = free_.back();
      free_.pop_back();
      return event;
    }
    free_.reserve(free_.capacity() + 1);  // So that `put_back` cannot fail.
    tenon_event* event = nullptr;
    TENON_RETURN_IF_ERROR(check(table_.create_event(backend_.raw(), &event), "create_event"));
    return event;
  }
  void put_back(tenon_event* event) noexcept { free_.push_back(event); }

  /// Whether the backend says so; false when it fails.
  [[nodiscard]] bool is_complete(tenon_event* event) const noexcept {
    std::uint32_t out = 0;
    return table_.query(backend_.raw(), event, &out) == TENON_STATUS_OK && out != 0;
  }

  /// The failure of a function of the table, on the thread that called it.
  [[nodiscard]] Status check(tenon_status status, std::string_view function) const {
    if (status == TENON_STATUS_OK) [[likely]]
      return ok();
    return take_last_error(backend_.host(), status).with_context(function);
  }

  /// Lets later runs of `delegate`, of this backend, begin after `event` of `from`. False when only
  /// the host can wait for it.
  [[nodiscard]] bool wait_on(tenon_delegate* delegate, const EventSource& from,
                             tenon_event* event) const {
    if (&from.backend_ == &backend_) {
      return table_.wait_on(backend_.raw(), delegate, event) == TENON_STATUS_OK;
    }
    const bool is_same_kind = table_.kind && from.table_.kind && table_.import_handle &&
                              from.table_.export_handle &&
                              std::string_view(table_.kind) == from.table_.kind;
    if (!is_same_kind) return false;
    void* handle = nullptr;
    tenon_event* imported = nullptr;
    if (from.table_.export_handle(from.backend_.raw(), event, &handle) != TENON_STATUS_OK ||
        table_.import_handle(backend_.raw(), handle, &imported) != TENON_STATUS_OK) {
      return false;
    }
    const bool waits = table_.wait_on(backend_.raw(), delegate, imported) == TENON_STATUS_OK;
    table_.destroy_event(backend_.raw(), imported);
    return waits;
  }

 private:
  EventSource(const LoadedBackend& backend, const tenon_events_v1& table) noexcept
      : backend_(backend), table_(table) {}

  const LoadedBackend& backend_;
  const tenon_events_v1 table_;
  std::vector<tenon_event*> free_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
