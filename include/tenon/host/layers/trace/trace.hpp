// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/limits.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// Appends `text` as a JSON string with its quotes. A byte that is not UTF-8 becomes U+FFFD, so
/// that the result is always valid JSON.
void append_json_string(std::string& out, std::string_view text);

}  // namespace detail

/// Events with their times, kept in memory and written as JSON trace events for Perfetto and
/// chrome://tracing (complete events: phase "X", times in microseconds).
///
/// It is also the tracer of a delegate's contexts, so that a backend's own events appear below the
/// call that they belong to. All functions may be called from any thread at any time. An
/// event for which there is no memory, or that is one too many, is dropped and counted: tracing
/// never makes a program fail.
///
/// A method whose layers have it, `.layers = {trace}`, records its load and its runs there. Of
/// several traces the first one also receives the events of backends.
class Trace final : public MethodLayer {
 public:
  /// A name and a value that a viewer shows with an event.
  using Arg = std::pair<std::string_view, std::string_view>;

  struct Event {
    std::string name;
    std::string category;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint32_t thread;  ///< 1 for the first that reported, then upwards.
    std::vector<std::pair<std::string, std::string>> args;
    std::optional<double> counter{};  ///< A value of a counter; `args` has its unit alone.
  };

  static constexpr std::uint64_t default_max_events = 1'000'000;

  /// Starts the clock: every time is relative to this moment. At most `max_events` are kept.
  explicit Trace(std::uint64_t max_events = default_max_events) noexcept;

  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Nanoseconds since this trace was made, on a monotonic clock.
  [[nodiscard]] std::uint64_t now_ns() const noexcept;

  /// Records that `name` ran from `start_ns` to `end_ns` (of `now_ns`) on the calling thread. An
  /// end before the start is taken as the start. Texts are copied.
  void add(std::string_view name, std::string_view category, std::uint64_t start_ns,
           std::uint64_t end_ns, std::initializer_list<Arg> args = {}) noexcept;

  /// Records that the counter `name` had the value `value` at `at_ns`: viewers draw its values as a
  /// curve. `unit` is for people, one for each name. Counts as an event; dropped when `value` is
  /// not finite. Texts are copied.
  void add_counter(std::string_view name, std::string_view unit, std::uint64_t at_ns,
                   double value) noexcept;

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

  /// The table to put into a delegate's contexts; valid as long as this trace. What is logged
  /// through it becomes an event, or a value of a counter, of category "backend".
  [[nodiscard]] const tenon_tracer* table() const noexcept { return &table_.abi; }

  /// Number of events kept.
  [[nodiscard]] std::size_t size() const noexcept;

  /// The sum of the durations of the events called `name`.
  [[nodiscard]] std::uint64_t total_ns(std::string_view name) const noexcept;

  /// Number of events lost because memory ran out, or because there were too many.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

  /// The events so far as one JSON object, one event a line.
  [[nodiscard]] std::string json() const;

  /// Writes `json()` to the file `path`, replacing it. Fails as `write_file` (host/files) does.
  [[nodiscard]] Status write(const std::string& path) const;

  /// Takes the events out, and ends the trace: what comes later is dropped.
  [[nodiscard]] std::vector<Event> finish() noexcept;

 private:
  // The C table comes first, so that a pointer to it is a pointer to this.
  struct Table {
    tenon_tracer abi{sizeof(tenon_tracer), 0, &Trace::now_entry, &Trace::log_entry,
                     &Trace::counter_entry};
    Trace* trace = nullptr;
  };

  static Trace& trace_of(const tenon_tracer* tracer) noexcept {
    return *reinterpret_cast<const Table*>(tracer)->trace;
  }

  static std::uint64_t now_entry(const tenon_tracer* tracer) noexcept {
    return trace_of(tracer).now_ns();
  }

  static void log_entry(const tenon_tracer* tracer, const char* name, std::uint64_t name_size,
                        std::int64_t debug_handle, std::uint64_t start_ns, std::uint64_t end_ns,
                        const void* metadata, std::uint64_t metadata_size) noexcept;

  static void counter_entry(const tenon_tracer* tracer, const char* name, std::uint64_t name_size,
                            const char* unit, std::uint64_t unit_size, std::uint64_t at_ns,
                            double value) noexcept;

  // Keeps what `make` makes, or counts it as dropped.
  template <class Make>
  void keep(const Make& make) noexcept;

  // The calling thread's number: 1 for the first that reported, then upwards. Needs the lock.
  std::uint32_t thread_number();

  static void append_event(std::string& out, const Event& event);

  std::uint64_t start_ns_ = 0;
  Table table_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::uint64_t max_events_;
  std::vector<Event> events_;
  std::vector<const void*> threads_;  // In the order in which they first reported.
  std::uint64_t dropped_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host
