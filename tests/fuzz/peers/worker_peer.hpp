// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "boundary/lane.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "fuzz/peers/choices.hpp"
#include "fuzz/peers/system.hpp"

namespace tenon::fuzz {

/// Workers that a script plays. By choices that are 0 each answers as a worker would whose plugin
/// has all extensions; others ask, lie, or write and send what no worker does.
class WorkerPeer final : public Peer {
 public:
  /// The arguments of the run that is going on, which an answer is about.
  struct Arguments {
    std::vector<std::size_t> ranks;  ///< Of tensors.
    std::size_t num_numbers = 0;
  };

  explicit WorkerPeer(Choices& choices) noexcept : choices_(&choices) {}
  void set_system(System& system) noexcept { system_ = &system; }
  void set_arguments(Arguments arguments) { arguments_ = std::move(arguments); }

  /// What the application's `launch` gives: its ends of two connections, and the process.
  struct Started {
    int supervisor;
    int service;
    int process;
  };
  Started start();

  void wait(void* word, std::int64_t limit_ns) override;
  int send(const ObjectPointer& from, std::span<const std::byte> bytes,
           std::span<const ObjectPointer> descriptors) override;
  bool has_taken(const ObjectPointer&) override { return now().byte() < 0xf8; }
  void ask(const ObjectPointer& socket) override;
  void kill() override;

 private:
  struct Lane {
    isolated::LaneHeader* header = nullptr;
    ObjectPointer file;
    ObjectPointer socket;  ///< The worker's end.
    ObjectPointer arena;   ///< Of its delegate or kernel.
    std::uint32_t call = 0;
  };
  struct Process {
    ObjectPointer supervisor;  ///< Its end.
    ObjectPointer service;
    ObjectPointer itself;
    bool has_ended = false;
    std::map<const void*, Lane> lanes;
  };

  Choices& now() noexcept { return *choices_; }
  Lane* find(const void* word, Process*& process);
  void end(Process& process);

  void turn(Lane& lane, std::uint32_t kind, const isolated::Writer& message);
  void answer(Lane& lane);
  void put_answer(Lane& lane, isolated::Writer& to);
  void put_changes(Lane& lane, isolated::Writer& to);
  void put_description(isolated::Writer& to);
  void put_option(isolated::Writer& to);
  void question(Lane& lane);
  void put_tensor(isolated::Writer& to);
  void deliver(Lane& lane, std::uint32_t kind, std::vector<std::byte> bytes,
               std::vector<ObjectPointer> descriptors);
  /// A file with these bytes, or something else in its place.
  ObjectPointer descriptor_of(std::span<const std::byte> bytes);
  void write_outputs(Lane& lane);
  void write_crash(Lane& lane);

  Choices* choices_;
  System* system_ = nullptr;
  Arguments arguments_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::uint64_t> state_sizes_{16, 16};
};

/// The target of fuzz-isolated that puts a `WorkerPeer` in the place of the worker.
void worker_messages(std::span<std::byte> bytes);

}  // namespace tenon::fuzz
