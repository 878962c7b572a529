// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/host.h"
#include "tenon/core/api.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/files/limits.hpp"

namespace tenon::host {

namespace detail {

/// Appends `text` as a JSON string with its quotes. A byte that is not UTF-8 becomes U+FFFD, so
/// that the result is always valid JSON.
TENON_API void append_json_string(std::string& out, std::string_view text);

}  // namespace detail

/// Events with their times, kept in memory and written as JSON trace events for Perfetto and
/// chrome://tracing (complete events: phase "X", times in microseconds).
///
/// It is also the tracer of a delegate's contexts, so that a backend's own events appear below the
/// call that they belong to. All functions may be called from any thread at any time. An
/// event for which there is no memory, or that is one too many, is dropped and counted: tracing
/// never makes a program fail.
class Trace {
 public:
  /// A name and a value that a viewer shows with an event.
  using Arg = std::pair<std::string_view, std::string_view>;

  /// Starts the clock: every time is relative to this moment. At most `max_events` are kept.
  explicit Trace(std::uint64_t max_events = HostLimits().trace_events) noexcept;

  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Nanoseconds since this trace was made, on a monotonic clock.
  [[nodiscard]] std::uint64_t now_ns() const noexcept;

  /// Records that `name` ran from `start_ns` to `end_ns` (of `now_ns`) on the calling thread. An
  /// end before the start is taken as the start. Texts are copied.
  void add(std::string_view name, std::string_view category, std::uint64_t start_ns,
           std::uint64_t end_ns, std::initializer_list<Arg> args = {}) noexcept {
    add_entry_(*this, name, category, start_ns, end_ns, args);
  }

  /// The table to put into a delegate's contexts; valid as long as this trace. What is logged
  /// through it becomes an event of category "backend".
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

 private:
  struct Event {
    std::string name;
    std::string category;
    std::uint64_t start_ns;
    std::uint64_t end_ns;
    std::uint32_t thread;
    std::vector<std::pair<std::string, std::string>> args;
  };

  static void add_entry(Trace& trace, std::string_view name, std::string_view category,
                        std::uint64_t start_ns, std::uint64_t end_ns,
                        std::initializer_list<Arg> args) noexcept;

  // The C table comes first, so that a pointer to it is a pointer to this.
  struct Table {
    tenon_tracer abi{sizeof(tenon_tracer), 0, &Trace::now_entry, &Trace::log_entry};
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

  // The calling thread's number: 1 for the first that reported, then upwards. Needs the lock.
  std::uint32_t thread_number();

  static void append_event(std::string& out, const Event& event);

  std::uint64_t start_ns_ = 0;
  std::uint64_t max_events_;
  Table table_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  std::vector<const void*> threads_;  // In the order in which they first reported.
  std::uint64_t dropped_ = 0;
  // Through a pointer, which the constructor sets, an application that makes no trace does not
  // compile what its methods would call.
  decltype(&add_entry) add_entry_;
};

}  // namespace tenon::host

#if TENON_HOST_DEFINITIONS

#include <chrono>
#include <new>
#include <span>

#include "tenon/core/concat.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/files/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/plugin/load_lock.hpp"

namespace tenon::host {

namespace detail {

TENON_API void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    const char c = text.front();
    if (tenon::detail::decode_utf8(text, length) < 0) {
      out.append("\xef\xbf\xbd");
    } else if (length > 1) {
      out.append(text.substr(0, length));
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      out.append("\\u00");
      out.push_back(digits[static_cast<unsigned char>(c) >> 4]);
      out.push_back(digits[static_cast<unsigned char>(c) & 0xf]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

/// Nanoseconds of the monotonic clock.
[[nodiscard]] inline std::uint64_t monotonic_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// Appends `,"key":` and microseconds with three decimals.
inline void append_time(std::string& out, std::string_view key, std::uint64_t nanoseconds) {
  const std::string fraction = concat(nanoseconds % 1000);
  out += concat(",\"", key, "\":", nanoseconds / 1000, ".",
                std::string_view("000").substr(fraction.size()), fraction);
}

}  // namespace detail

TENON_API Trace::Trace(std::uint64_t max_events) noexcept
    : start_ns_(detail::monotonic_ns()), max_events_(max_events), add_entry_(&add_entry) {
  table_.trace = this;
}

TENON_API std::uint64_t Trace::now_ns() const noexcept {
  return detail::monotonic_ns() - start_ns_;
}

TENON_API void Trace::add_entry(Trace& trace, std::string_view name, std::string_view category,
                                std::uint64_t start_ns, std::uint64_t end_ns,
                                std::initializer_list<Arg> args) noexcept {
  try {
    Event event{std::string(name),
                std::string(category),
                start_ns,
                end_ns < start_ns ? start_ns : end_ns,
                0,
                {args.begin(), args.end()}};
    const std::lock_guard lock(trace.mutex_);
    if (trace.events_.size() >= trace.max_events_) {
      ++trace.dropped_;
      return;
    }
    event.thread = trace.thread_number();
    trace.events_.push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(trace.mutex_);
    ++trace.dropped_;
  }
}

TENON_API std::size_t Trace::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

TENON_API std::uint64_t Trace::total_ns(std::string_view name) const noexcept {
  const std::lock_guard lock(mutex_);
  std::uint64_t total = 0;
  for (const Event& event : events_) {
    if (event.name == name) total += event.end_ns - event.start_ns;
  }
  return total;
}

TENON_API std::uint64_t Trace::dropped() const noexcept {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

TENON_API std::string Trace::json() const {
  const std::lock_guard lock(mutex_);
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  // One process is all there is, and a fixed number keeps two traces comparable.
  out += R"({"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"tenon"}})";
  for (const Event& event : events_) append_event(out, event);
  out += concat("\n],\"otherData\":{\"dropped\":\"", dropped_, "\"}}\n");
  return out;
}

TENON_API Status Trace::write(const std::string& path) const {
  const std::string text = json();
  return write_file(path_of(path), {std::as_bytes(std::span(text))}).with_context("trace file");
}

TENON_API void Trace::log_entry(const tenon_tracer* tracer, const char* name,
                                std::uint64_t name_size, std::int64_t debug_handle,
                                std::uint64_t start_ns, std::uint64_t end_ns, const void* metadata,
                                std::uint64_t metadata_size) noexcept {
  Trace& trace = trace_of(tracer);
  const auto view = [](const void* text, std::uint64_t size) {
    return text == nullptr
               ? std::string_view()
               : std::string_view(static_cast<const char*>(text), static_cast<std::size_t>(size));
  };
  try {
    const std::string handle = std::to_string(debug_handle);
    const Arg with_handle{"debug_handle", handle};
    const Arg with_metadata{"metadata", view(metadata, metadata_size)};
    const auto add = [&](std::initializer_list<Arg> args) {
      trace.add(view(name, name_size), "backend", start_ns, end_ns, args);
    };
    if (debug_handle == -1) {
      with_metadata.second.empty() ? add({}) : add({with_metadata});
    } else {
      with_metadata.second.empty() ? add({with_handle}) : add({with_handle, with_metadata});
    }
  } catch (...) {
    const std::lock_guard lock(trace.mutex_);
    ++trace.dropped_;
  }
}

TENON_API std::uint32_t Trace::thread_number() {
  const void* const mark = detail::thread_mark();
  std::size_t index = 0;
  while (index < threads_.size() && threads_[index] != mark) ++index;
  if (index == threads_.size()) threads_.push_back(mark);
  return static_cast<std::uint32_t>(index + 1);
}

TENON_API void Trace::append_event(std::string& out, const Event& event) {
  out += ",\n{\"ph\":\"X\",\"name\":";
  detail::append_json_string(out, event.name);
  out += ",\"cat\":";
  detail::append_json_string(out, event.category);
  detail::append_time(out, "ts", event.start_ns);
  detail::append_time(out, "dur", event.end_ns - event.start_ns);
  out += concat(",\"pid\":1,\"tid\":", event.thread, ",\"args\":{");
  bool first = true;
  for (const auto& [key, value] : event.args) {
    if (!first) out.push_back(',');
    first = false;
    detail::append_json_string(out, key);
    out.push_back(':');
    detail::append_json_string(out, value);
  }
  out += "}}";
}

}  // namespace tenon::host

#endif  // TENON_HOST_DEFINITIONS
