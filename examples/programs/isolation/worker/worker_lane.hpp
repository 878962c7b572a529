// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "boundary/lane.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"

namespace tenon::isolated {

/// In place of a delegate's number: a question that any call can have, and a call of no delegate.
inline constexpr std::uint64_t any_delegate = 0;

/// The worker's end of a lane. The lane's own thread takes the calls; any thread of the plugin asks
/// while a call is going on. A message that cannot be read breaks the connection: no question is
/// answered from then on, and the process is to end.
class WorkerLane {
 public:
  struct Message {
    std::uint32_t kind = 0;
    std::vector<std::byte> bytes;
    std::vector<host::FileDescriptor> descriptors;
    [[nodiscard]] Reader reader() const noexcept { return Reader(bytes); }
  };

  WorkerLane(Mapping shared, host::FileDescriptor socket)
      : shared_(std::move(shared)), socket_(std::move(socket)) {}

  [[nodiscard]] LaneHeader& header() const noexcept {
    return *reinterpret_cast<LaneHeader*>(shared_.data());
  }
  /// Tensors of calls.
  [[nodiscard]] Mapping& arena() noexcept { return arena_; }

  /// The answer of a call, until it is sent.
  [[nodiscard]] Writer& reply_body() noexcept { return reply_body_; }

  /// Waits for the next call. False when the connection is broken.
  [[nodiscard]] bool next_call(Message& out) {
    if (!is_broken_) wait();
    const std::lock_guard lock(mutex_);
    is_in_call_ = read(out);
    delegate_.store(any_delegate, std::memory_order_relaxed);
    return is_in_call_;
  }

  /// The call is one of this delegate, whose data the application gives from now on until `done`.
  void is_for(std::uint64_t delegate) noexcept {
    delegate_.store(delegate, std::memory_order_relaxed);
  }

  /// Answers the call. Descriptors are sent, and stay open here.
  void done(const Writer& answer, std::span<const int> descriptors = {}) {
    const std::lock_guard lock(mutex_);
    is_in_call_ = false;
    send(static_cast<std::uint32_t>(Answer::done), answer, descriptors);
  }

  /// Asks the application something, from any thread. False when no call of `delegate` is going on,
  /// or the connection is broken.
  [[nodiscard]] bool ask(Answer question, const Writer& what, std::span<const int> descriptors,
                         Message& answer, std::uint64_t delegate = any_delegate) {
    const std::lock_guard lock(mutex_);
    if (!is_in_call_) return false;
    if (delegate != any_delegate && delegate != delegate_.load(std::memory_order_relaxed)) {
      return false;
    }
    send(static_cast<std::uint32_t>(question), what, descriptors);
    if (!is_broken_) wait();
    return read(answer);
  }

 private:
  void wait() noexcept {
    Spinner* spinner = &spinner_;
    while (!wait_for_turn(header().turn, Turn::worker, header().worker_sleeps, -1, spinner)) {
      spinner = nullptr;
    }
  }

  template <class T>
  static T read_once(const T& value) noexcept {
    return *const_cast<const volatile T*>(&value);
  }

  /// False when the connection is broken, by now or before.
  [[nodiscard]] bool read(Message& out) {
    is_broken_ = is_broken_ || !take(out);
    return !is_broken_;
  }
  [[nodiscard]] bool take(Message& out) {
    const LaneHeader& from = header();
    out.kind = read_once(from.kind);
    const std::uint64_t size = read_once(from.size);
    out.descriptors.clear();
    if (read_once(from.num_descriptors) != 0) {
      std::byte byte{};
      Received received = receive_message(socket_.get(), {&byte, 1}, 0);
      if (received.size <= 0) return false;
      out.descriptors = std::move(received.descriptors);
    }
    if (read_once(from.is_attached) != 0) {
      if (out.descriptors.empty()) return false;
      auto bytes = copy_of(out.descriptors.front().get(), size, UINT64_MAX);
      if (!bytes.ok()) return false;
      out.bytes = *std::move(bytes);
      out.descriptors.erase(out.descriptors.begin());
      return true;
    }
    if (size > lane_message_size) return false;
    const std::byte* const begin = shared_.data() + lane_message_offset;
    out.bytes.assign(begin, begin + size);
    return true;
  }

  /// Writes a message and gives the turn to the application.
  void send(std::uint32_t kind, const Writer& what, std::span<const int> descriptors) {
    is_broken_ = is_broken_ || !write(kind, what, descriptors);
    if (!is_broken_) give_turn(header().turn, Turn::application, header().application_sleeps);
  }
  [[nodiscard]] bool write(std::uint32_t kind, const Writer& what,
                           std::span<const int> descriptors) {
    LaneHeader& to = header();
    std::vector<int> sent(descriptors.begin(), descriptors.end());
    host::FileDescriptor attached;
    const bool is_attached = what.size() > lane_message_size;
    to.kind = kind;
    to.size = what.size();
    to.is_attached = is_attached ? 1 : 0;
    if (is_attached) {
      auto file = sealed_copy("tenon-answer", what.bytes());
      if (!file.ok()) return false;
      attached = *std::move(file);
      sent.insert(sent.begin(), attached.get());
    } else if (what.size() != 0) {
      std::memcpy(shared_.data() + lane_message_offset, what.bytes().data(), what.size());
    }
    to.num_descriptors = static_cast<std::uint32_t>(sent.size());
    const std::byte byte{};
    return sent.empty() || send_message(socket_.get(), {&byte, 1}, sent);
  }

  Mapping shared_;
  Mapping arena_;
  Spinner spinner_;
  host::FileDescriptor socket_;
  std::mutex mutex_;
  bool is_in_call_ = false;
  Writer reply_body_;
  bool is_broken_ = false;
  std::atomic<std::uint64_t> delegate_ = any_delegate;  ///< Of the call.
};

}  // namespace tenon::isolated
