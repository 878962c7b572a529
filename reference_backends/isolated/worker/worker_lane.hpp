// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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
/// while a call is going on. The application is trusted here: a connection that is broken ends the
/// process.
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

  /// Waits for the next call.
  void next_call(Message& out) {
    wait();
    read(out);
    const std::lock_guard lock(mutex_);
    is_in_call_ = true;
    delegate_.store(any_delegate, std::memory_order_relaxed);
  }

  /// The call is one of this delegate, whose data the application gives from now on until `done`.
  void is_for(std::uint64_t delegate) noexcept {
    delegate_.store(delegate, std::memory_order_relaxed);
  }

  /// Answers the call. Descriptors are sent, and stay open here.
  void done(const Writer& answer, std::span<const int> descriptors = {}) {
    const std::lock_guard lock(mutex_);
    is_in_call_ = false;
    write(static_cast<std::uint32_t>(Answer::done), answer, descriptors);
    give_turn(header().turn, Turn::application, header().application_sleeps);
  }

  /// Asks the application something, from any thread. False when no call of `delegate` is going on.
  [[nodiscard]] bool ask(Answer question, const Writer& what, std::span<const int> descriptors,
                         Message& answer, std::uint64_t delegate = any_delegate) {
    const std::lock_guard lock(mutex_);
    if (!is_in_call_) return false;
    if (delegate != any_delegate && delegate != delegate_.load(std::memory_order_relaxed)) {
      return false;
    }
    write(static_cast<std::uint32_t>(question), what, descriptors);
    give_turn(header().turn, Turn::application, header().application_sleeps);
    wait();
    read(answer);
    return true;
  }

 private:
  void wait() noexcept {
    Spinner* spinner = &spinner_;
    while (!wait_for_turn(header().turn, Turn::worker, header().worker_sleeps, -1, spinner)) {
      spinner = nullptr;
    }
  }

  void read(Message& out) {
    const LaneHeader& from = header();
    out.kind = from.kind;
    out.descriptors.clear();
    if (from.num_descriptors != 0) {
      std::byte byte{};
      Received received = receive_message(socket_.get(), {&byte, 1}, 0);
      if (received.size <= 0) ::_exit(EXIT_SUCCESS);
      out.descriptors = std::move(received.descriptors);
    }
    if (from.is_attached != 0) {
      if (out.descriptors.empty()) ::_exit(EXIT_SUCCESS);
      auto bytes = copy_of(out.descriptors.front().get(), from.size, UINT64_MAX);
      if (!bytes.ok()) ::_exit(EXIT_FAILURE);
      out.bytes = *std::move(bytes);
      out.descriptors.erase(out.descriptors.begin());
      return;
    }
    const std::byte* const begin = shared_.data() + lane_message_offset;
    out.bytes.assign(begin, begin + from.size);
  }

  void write(std::uint32_t kind, const Writer& what, std::span<const int> descriptors) {
    LaneHeader& to = header();
    std::vector<int> sent(descriptors.begin(), descriptors.end());
    host::FileDescriptor attached;
    to.kind = kind;
    to.size = what.size();
    to.is_attached = what.size() > lane_message_size;
    if (to.is_attached == 0) {
      std::memcpy(shared_.data() + lane_message_offset, what.bytes().data(), what.size());
    } else {
      auto file = sealed_copy("tenon-answer", what.bytes());
      if (!file.ok()) ::_exit(EXIT_FAILURE);
      attached = *std::move(file);
      sent.insert(sent.begin(), attached.get());
    }
    to.num_descriptors = static_cast<std::uint32_t>(sent.size());
    const std::byte byte{};
    if (!sent.empty() && !send_message(socket_.get(), {&byte, 1}, sent)) ::_exit(EXIT_FAILURE);
  }

  Mapping shared_;
  Mapping arena_;
  Spinner spinner_;
  host::FileDescriptor socket_;
  std::mutex mutex_;
  bool is_in_call_ = false;
  std::atomic<std::uint64_t> delegate_ = any_delegate;  ///< Of the call.
};

}  // namespace tenon::isolated
