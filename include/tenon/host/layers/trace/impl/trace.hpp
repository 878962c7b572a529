// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/trace/trace.hpp"

#include <chrono>
#include <cmath>
#include <new>
#include <span>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/hex.hpp"
#include "tenon/core/visible.hpp"
#include "tenon/host/loader/plugin/load_lock.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

void append_json_string(std::string& out, std::string_view text) {
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
      out.append("\\u00");
      append_hex(out, static_cast<std::byte>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

/// A text of a plugin; empty where there is none.
[[nodiscard]] inline std::string_view text_at(const void* text, std::uint64_t size) noexcept {
  return text == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(text), static_cast<std::size_t>(size));
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

Trace::Trace(std::uint64_t max_events) noexcept
    : start_ns_(detail::monotonic_ns()), max_events_(max_events) {
  table_.trace = this;
}

std::uint64_t Trace::now_ns() const noexcept { return detail::monotonic_ns() - start_ns_; }

template <class Make>
void Trace::keep(const Make& make) noexcept {
  try {
    Event event = make();
    const std::lock_guard lock(mutex_);
    if (events_.size() >= max_events_) {
      ++dropped_;
      return;
    }
    event.thread = thread_number();
    events_.push_back(std::move(event));
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    ++dropped_;
  }
}

void Trace::add(std::string_view name, std::string_view category, std::uint64_t start_ns,
                std::uint64_t end_ns, std::initializer_list<Arg> args) noexcept {
  keep([&] {
    return Event{std::string(name),
                 std::string(category),
                 start_ns,
                 end_ns < start_ns ? start_ns : end_ns,
                 0,
                 {args.begin(), args.end()}};
  });
}

void Trace::add_counter(std::string_view name, std::string_view unit, std::uint64_t at_ns,
                        double value) noexcept {
  if (!std::isfinite(value)) {
    const std::lock_guard lock(mutex_);
    ++dropped_;
    return;
  }
  keep([&] {
    Event event{std::string(name), "backend", at_ns, at_ns, 0, {}, value};
    event.args.emplace_back(unit.empty() ? std::string_view("value") : unit, std::string());
    return event;
  });
}

std::size_t Trace::size() const noexcept {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

std::uint64_t Trace::total_ns(std::string_view name) const noexcept {
  const std::lock_guard lock(mutex_);
  std::uint64_t total = 0;
  for (const Event& event : events_) {
    if (event.name == name) total += event.end_ns - event.start_ns;
  }
  return total;
}

std::uint64_t Trace::dropped() const noexcept {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::string Trace::json() const {
  const std::lock_guard lock(mutex_);
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  // One process is all there is, and a fixed number keeps two traces comparable.
  out += R"({"ph":"M","name":"process_name","pid":1,"tid":1,"args":{"name":"tenon"}})";
  for (const Event& event : events_) append_event(out, event);
  out += concat("\n],\"otherData\":{\"dropped\":\"", dropped_, "\"}}\n");
  return out;
}

Status Trace::write(const std::string& path) const {
  const std::string text = json();
  return write_file(path_of(path), {std::as_bytes(std::span(text))}).with_context("trace file");
}

std::vector<Trace::Event> Trace::finish() noexcept {
  const std::lock_guard lock(mutex_);
  max_events_ = 0;
  return std::exchange(events_, {});
}

void Trace::log_entry(const tenon_tracer* tracer, const char* name, std::uint64_t name_size,
                      std::int64_t debug_handle, std::uint64_t start_ns, std::uint64_t end_ns,
                      const void* metadata, std::uint64_t metadata_size) noexcept {
  Trace& trace = trace_of(tracer);
  try {
    const std::string handle = std::to_string(debug_handle);
    const Arg with_handle{"debug_handle", handle};
    const Arg with_metadata{"metadata", detail::text_at(metadata, metadata_size)};
    const auto add = [&](std::initializer_list<Arg> args) {
      trace.add(detail::text_at(name, name_size), "backend", start_ns, end_ns, args);
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

void Trace::counter_entry(const tenon_tracer* tracer, const char* name, std::uint64_t name_size,
                          const char* unit, std::uint64_t unit_size, std::uint64_t at_ns,
                          double value) noexcept {
  trace_of(tracer).add_counter(detail::text_at(name, name_size), detail::text_at(unit, unit_size),
                               at_ns, value);
}

std::uint32_t Trace::thread_number() {
  const void* const token = detail::thread_token();
  std::size_t index = 0;
  while (index < threads_.size() && threads_[index] != token) ++index;
  if (index == threads_.size()) threads_.push_back(token);
  return static_cast<std::uint32_t>(index + 1);
}

void Trace::append_event(std::string& out, const Event& event) {
  out += event.counter ? ",\n{\"ph\":\"C\",\"name\":" : ",\n{\"ph\":\"X\",\"name\":";
  detail::append_json_string(out, event.name);
  out += ",\"cat\":";
  detail::append_json_string(out, event.category);
  detail::append_time(out, "ts", event.start_ns);
  if (!event.counter) detail::append_time(out, "dur", event.end_ns - event.start_ns);
  out += concat(",\"pid\":1,\"tid\":", event.thread, ",\"args\":{");
  bool first = true;
  for (const auto& [key, value] : event.args) {
    if (!first) out.push_back(',');
    first = false;
    detail::append_json_string(out, key);
    out.push_back(':');
    // A number: viewers draw nothing else. The unit is the name of the series.
    if (event.counter) {
      out += concat(*event.counter);
    } else {
      detail::append_json_string(out, value);
    }
  }
  out += "}}";
}

}}}  // namespace tenon::TENON_RELEASE::host
