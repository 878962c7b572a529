// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Debug handles (EdgeNode::debug_handle) that each of the delegate's own events represents
/// (ExecuTorch: `debug_handle_map` of PreprocessResult). Events are named by number or by text, as
/// `Tracer` reports them at run time; a profiler joins both. One map has names of one kind: a tool
/// refuses a result that mixes them.
///
/// Not a std::map: two of those are three hundred functions in each plugin. Events are sorted when
/// they are first read after one was added out of order: not for several threads at once, not even
/// for reading alone.
class DebugHandleMap {
 public:
  struct Event {
    std::string name;     ///< Empty for an event that is named by number.
    std::int64_t id = 0;  ///< 0 for an event that is named by text.
    std::vector<std::uint32_t> handles;

    friend bool operator==(const Event&, const Event&) = default;
  };

  /// Adds the handles to event `id`, which may be new.
  void add(std::int64_t id, std::span<const std::uint32_t> handles) { add({}, id, handles); }
  /// Adds the handles to event `name`, which may be new. `name` must not be empty.
  void add(std::string_view name, std::span<const std::uint32_t> handles) { add(name, 0, handles); }

  /// Sorted by name or number, so that maps with equal events are equal. Valid until the next
  /// `add`.
  [[nodiscard]] std::span<const Event> events() const {
    sort();
    return {events_.data(), events_.size()};
  }
  [[nodiscard]] std::size_t size() const { return events().size(); }
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }

  /// The handles of an event, or null when there is none of that name. Valid until the next `add`.
  [[nodiscard]] const std::vector<std::uint32_t>* find(std::int64_t id) const {
    return find({}, id);
  }
  [[nodiscard]] const std::vector<std::uint32_t>* find(std::string_view name) const {
    return find(name, 0);
  }

  friend bool operator==(const DebugHandleMap& a, const DebugHandleMap& b) {
    a.sort();
    b.sort();
    return a.events_ == b.events_;
  }

 private:
  /// Whether `event` is before an event of that name and number.
  static bool is_before(const Event& event, std::string_view name, std::int64_t id) noexcept {
    const int order = std::string_view(event.name).compare(name);
    return order < 0 || (order == 0 && event.id < id);
  }

  static bool is_of(const Event& event, std::string_view name, std::int64_t id) noexcept {
    return event.id == id && event.name == name;
  }

  /// By merging, which keeps the order in which the handles of one event were added.
  void sort() const {
    if (is_sorted_) return;
    const std::size_t size = events_.size();
    for (std::size_t width = 1; width < size; width *= 2) {
      std::vector<Event> merged;
      merged.reserve(size);
      for (std::size_t begin = 0; begin < size; begin += 2 * width) {
        std::size_t left = begin;
        const std::size_t middle = begin + width < size ? begin + width : size;
        std::size_t right = middle;
        const std::size_t end = middle + width < size ? middle + width : size;
        while (left < middle || right < end) {
          const bool takes_right =
              right < end &&
              (left == middle || is_before(events_[right], events_[left].name, events_[left].id));
          merged.push_back(std::move(events_[takes_right ? right++ : left++]));
        }
      }
      events_ = std::move(merged);
    }
    unite_equal_names();
    is_sorted_ = true;
  }

  void unite_equal_names() const {
    std::size_t last = 0;
    for (std::size_t i = 1; i < events_.size(); ++i) {
      if (is_of(events_[last], events_[i].name, events_[i].id)) {
        append(events_[last], events_[i].handles);
      } else if (++last != i) {
        events_[last] = std::move(events_[i]);
      }
    }
    events_.resize(last + 1);
  }

  static void append(Event& event, std::span<const std::uint32_t> handles) {
    for (const std::uint32_t handle : handles) event.handles.push_back(handle);
  }

  [[nodiscard]] const std::vector<std::uint32_t>* find(std::string_view name,
                                                       std::int64_t id) const {
    sort();
    std::size_t first = 0;
    std::size_t last = events_.size();
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (is_before(events_[middle], name, id)) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first < events_.size() && is_of(events_[first], name, id) ? &events_[first].handles
                                                                     : nullptr;
  }

  void add(std::string_view name, std::int64_t id, std::span<const std::uint32_t> handles) {
    if (events_.empty() || !is_of(events_.back(), name, id)) {
      if (!events_.empty() && !is_before(events_.back(), name, id)) is_sorted_ = false;
      events_.push_back({std::string(name), id, {}});
    }
    append(events_.back(), handles);
  }

  mutable std::vector<Event> events_;
  mutable bool is_sorted_ = true;
};

}}}  // namespace tenon::TENON_RELEASE::aot
