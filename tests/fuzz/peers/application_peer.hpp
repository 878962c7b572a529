// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "boundary/lane.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "fuzz/peers/choices.hpp"
#include "fuzz/peers/system.hpp"

namespace tenon::fuzz {

/// An application that a script plays: each step is a call. By choices that are 0 the call is as an
/// isolated plugin makes it, and what the worker asks meanwhile is answered; others use numbers of
/// something else, and send what no application does. It hangs up when the script ends.
class ApplicationPeer final : public Peer {
 public:
  ApplicationPeer(Script& script, Choices& choices) noexcept
      : script_(&script), choices_(&choices) {}
  void begin(isolated::LaneHeader& lane, ObjectPointer socket) noexcept;

  void wait(void* word, std::int64_t limit_ns) override;
  int send(const ObjectPointer& from, std::span<const std::byte> bytes,
           std::span<const ObjectPointer> descriptors) override;
  void ask(const ObjectPointer&) override {}
  void kill() override {}

 private:
  Choices& now() noexcept { return *choices_; }
  void hang_up();
  void call();
  void answer();
  void put_call(isolated::Call kind, isolated::Writer& to);
  void put_init(isolated::Writer& to);
  void put_before(isolated::Writer& to);
  void put_arguments(isolated::Writer& to);
  void put_value(std::uint32_t kind, isolated::Writer& to, int depth);
  void put_tensor(isolated::Writer& to);
  void put_option(isolated::Writer& to);
  void put_pool(isolated::Writer& to);
  std::uint64_t delegate();
  std::uint64_t memory();
  /// A file of this size, or something else in its place, which is sent with the message.
  void attach(std::uint64_t size);
  void deliver(std::uint32_t kind, const isolated::Writer& message);

  Script* script_;
  Choices* choices_;
  isolated::LaneHeader* lane_ = nullptr;
  ObjectPointer socket_;  ///< Its end.
  bool is_loaded_ = false;
  bool has_hung_up_ = false;
  std::uint64_t arena_size_ = 0;
  std::uint64_t place_ = 0;  ///< Of the next tensor.
  std::vector<ObjectPointer> descriptors_;
};

}  // namespace tenon::fuzz
