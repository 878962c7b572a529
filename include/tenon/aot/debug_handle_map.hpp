// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::aot {

/// Debug handles (EdgeNode::debug_handle) that each of the delegate's own events represents
/// (ExecuTorch: `debug_handle_map` of PreprocessResult). Events are named by number or by text, as
/// `Tracer` reports them at run time; a profiler joins both. One map has names of one kind: a tool
/// refuses a result that mixes them.
///
/// Not a std::map: two of those are three hundred functions in each plugin. Not for several threads
/// at once.
class DebugHandleMap {
 public:
  struct Event {
    std::string name;     ///< Empty for an event that is named by number.
    std::int64_t id = 0;  ///< 0 for an event that is named by text.
    std::vector<std::uint32_t> handles;

    friend bool operator==(const Event&, const Event&) = default;
  };

  /// Adds the handles to those of event `id`, which may be new.
  void add(std::int64_t id, std::span<const std::uint32_t> handles) { add({}, id, handles); }
  /// The same of an event that is named by text, which must not be empty.
  void add(std::string_view name, std::span<const std::uint32_t> handles) { add(name, 0, handles); }

  /// Sorted by name or number, so that maps with equal events are equal.
  [[nodiscard]] std::span<const Event> events() const noexcept {
    return {events_.data(), events_.size()};
  }
  [[nodiscard]] std::size_t size() const noexcept { return events_.size(); }
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }

  /// The handles of an event, or null when there is none of that name. Valid until the next `add`.
  [[nodiscard]] const std::vector<std::uint32_t>* find(std::int64_t id) const noexcept {
    return find({}, id);
  }
  [[nodiscard]] const std::vector<std::uint32_t>* find(std::string_view name) const noexcept {
    return find(name, 0);
  }

  friend bool operator==(const DebugHandleMap& a, const DebugHandleMap& b) noexcept {
    return a.events_ == b.events_;
  }

 private:
  /// Whether `event` is before an event of that name and number.
  static bool is_before(const Event& event, std::string_view name, std::int64_t id) noexcept {
    const int order = std::string_view(event.name).compare(name);
    return order < 0 || (order == 0 && event.id < id);
  }

  /// Where the event is, or where it belongs.
  [[nodiscard]] std::size_t position_of(std::string_view name, std::int64_t id) const noexcept {
    std::size_t first = 0;
    std::size_t last = events_.size();
    // Most come in order.
    if (last != 0 && is_before(events_.back(), name, id)) return last;
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (is_before(events_[middle], name, id)) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  }

  [[nodiscard]] bool is_at(std::size_t position, std::string_view name,
                           std::int64_t id) const noexcept {
    return position < events_.size() && events_[position].id == id &&
           events_[position].name == name;
  }

  [[nodiscard]] const std::vector<std::uint32_t>* find(std::string_view name,
                                                       std::int64_t id) const noexcept {
    const std::size_t position = position_of(name, id);
    return is_at(position, name, id) ? &events_[position].handles : nullptr;
  }

  void add(std::string_view name, std::int64_t id, std::span<const std::uint32_t> handles) {
    const std::size_t position = position_of(name, id);
    if (!is_at(position, name, id)) {
      events_.push_back({std::string(name), id, {}});
      for (std::size_t i = events_.size() - 1; i > position; --i) {
        std::swap(events_[i], events_[i - 1]);
      }
    }
    for (const std::uint32_t handle : handles) events_[position].handles.push_back(handle);
  }

  std::vector<Event> events_;
};

}  // namespace tenon::aot
