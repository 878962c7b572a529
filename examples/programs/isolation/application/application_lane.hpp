// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "arena.hpp"
#include "boundary/descriptors.hpp"
#include "boundary/lane.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"

namespace tenon::isolated {

/// The application's end of a lane. One thread at a time. What the worker wrote is copied first and
/// looked at afterwards; the worker may change what is shared at any time.
class ApplicationLane {
 public:
  ApplicationLane(Mapping shared, host::FileDescriptor socket) noexcept
      : shared_(std::move(shared)), socket_(std::move(socket)) {}

  [[nodiscard]] LaneHeader& header() const noexcept {
    return *reinterpret_cast<LaneHeader*>(shared_.data());
  }
  /// The message to send.
  [[nodiscard]] Writer& out() noexcept { return out_; }
  /// The message that was received.
  [[nodiscard]] std::span<const std::byte> in() const noexcept { return in_; }
  [[nodiscard]] std::uint32_t kind() const noexcept { return kind_; }
  [[nodiscard]] const std::vector<host::FileDescriptor>& descriptors() const noexcept {
    return descriptors_;
  }

  /// Gives `out()` and the turn to the worker. Descriptors are sent, and stay open here.
  [[nodiscard]] Status send(std::uint32_t kind, std::span<const int> descriptors) {
    LaneHeader& to = header();
    to.kind = kind;
    to.size = out_.size();
    to.is_attached = out_.size() > lane_message_size;
    std::size_t count = descriptors.size();
    if (to.is_attached != 0 || count != 0) [[unlikely]] {
      TENON_TRY(count, send_descriptors(descriptors));
    }
    if (out_.size() != 0 && out_.size() <= lane_message_size) {
      std::memcpy(shared_.data() + lane_message_offset, out_.bytes().data(), out_.size());
    }
    to.num_descriptors = static_cast<std::uint32_t>(count);
    give_turn(to.turn, Turn::worker, to.worker_sleeps);
    return ok();
  }

  /// Waits for the worker's turn to end, for `slice_ns` at most. False when it has not.
  [[nodiscard]] bool wait(std::int64_t slice_ns, bool spins) noexcept {
    LaneHeader& from = header();
    return wait_for_turn(from.turn, Turn::application, from.application_sleeps, slice_ns,
                         spins ? &spinner_ : nullptr);
  }
  /// Whether the turn is one side's. A word that no side writes would end each wait at once.
  [[nodiscard]] bool has_turn() const noexcept {
    const std::uint32_t turn = header().turn.load(std::memory_order_relaxed);
    return turn == static_cast<std::uint32_t>(Turn::application) ||
           turn == static_cast<std::uint32_t>(Turn::worker);
  }

  /// Copies what the worker wrote, at most `limit` bytes. errors: Internal for what no worker
  /// writes; the errors of `copy_of`.
  [[nodiscard]] Status receive(std::uint64_t limit) {
    const LaneHeader& from = header();
    kind_ = read_once(from.kind);
    const std::uint64_t size = read_once(from.size);
    const bool is_attached = read_once(from.is_attached) != 0;
    descriptors_.clear();
    if (read_once(from.num_descriptors) != 0) {
      std::byte byte{};
      Received received = receive_message(socket_.get(), {&byte, 1}, MSG_DONTWAIT);
      if (received.size <= 0) return error(Error::Internal, "descriptors did not come");
      descriptors_ = std::move(received.descriptors);
    }
    if (!is_attached) {
      if (size > lane_message_size)
        return error(Error::Internal, "a message has ", size, " bytes, expected at most ",
                     lane_message_size);
      const std::byte* const begin = shared_.data() + lane_message_offset;
      if (in_.capacity() > lane_message_size) [[unlikely]]
        in_ = {};  // The memory of a large message.
      in_.assign(begin, begin + size);
      return ok();
    }
    if (descriptors_.empty()) return error(Error::Internal, "a message did not come");
    TENON_TRY(in_, copy_of(descriptors_.front().get(), size, limit));
    descriptors_.erase(descriptors_.begin());
    return ok();
  }

  /// Tensors of calls of the delegate whose lane it is.
  [[nodiscard]] Arena& arena() noexcept { return arena_; }

 private:
  template <class T>
  static T read_once(const T& value) noexcept {
    return *const_cast<const volatile T*>(&value);
  }

  /// Never waits. A worker takes descriptors before it gives the turn back, so that one message of
  /// each lane is on its way at most: a worker that leaves them would fill the socket, and the
  /// number of descriptors that the kernel lets a user have on their way.
  [[nodiscard]] Result<std::size_t> send_descriptors(std::span<const int> descriptors) {
    if (!is_taken(socket_.get())) {
      return error(Error::Internal, "it did not take the descriptors of an earlier message");
    }
    std::vector<int> sent(descriptors.begin(), descriptors.end());
    host::FileDescriptor attached;
    if (out_.size() > lane_message_size) {
      TENON_TRY(attached, sealed_copy("tenon-call", out_.bytes()));
      sent.insert(sent.begin(), attached.get());
    }
    const std::byte byte{};
    if (!send_message(socket_.get(), {&byte, 1}, sent, MSG_DONTWAIT)) {
      const int reason = errno;
      return error(Error::Internal, "descriptors cannot be sent to it: ", errno_text(reason));
    }
    return sent.size();
  }

  Mapping shared_;
  host::FileDescriptor socket_;
  Spinner spinner_;
  Arena arena_;
  Writer out_;
  std::vector<std::byte> in_;
  std::vector<host::FileDescriptor> descriptors_;
  std::uint32_t kind_ = 0;
};

}  // namespace tenon::isolated
