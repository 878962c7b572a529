// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "threadgroup.hpp"

/// Queues of the stand-in, and what is on them, as Apple documents MTLCommandQueue,
/// MTLCommandBuffer and MTLSharedEvent.
namespace tenon::metal_stand_in {

/// A number that starts with 0 and only grows. Threads: any.
class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  [[nodiscard]] std::uint64_t signaled_value() const;
  /// A value that is not larger "has no effect".
  void signal(std::uint64_t value);
  void wait(std::uint64_t value) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t value_ = 0;
};

/// Executed by a queue. After a command that fails, the rest of its command buffer is not
/// executed, signals included, and the next command buffer is.
using Command = std::function<Status(GridRunner&)>;

/// Threads: one at a time until it is committed, then any.
class CommandBuffer {
 public:
  void add(Command command) { commands_.push_back(std::move(command)); }
  [[nodiscard]] bool is_empty() const noexcept { return commands_.empty(); }

  /// "Waits until the GPU finishes executing it", and returns its failure.
  [[nodiscard]] Status wait_until_completed() const;
  [[nodiscard]] bool is_completed() const;
  [[nodiscard]] bool has_failed() const;

 private:
  friend class CommandQueue;
  void execute(GridRunner& runner);

  std::vector<Command> commands_;
  mutable std::mutex mutex_;
  mutable std::condition_variable completed_;
  bool is_completed_ = false;
  Status failure_ = ok();
};

/// Executes command buffers in the order in which they were committed, on a thread of its own.
/// Threads: any.
class CommandQueue : public std::enable_shared_from_this<CommandQueue> {
 public:
  CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;
  /// Executes what was committed.
  ~CommandQueue();

  void commit(std::shared_ptr<CommandBuffer> buffer);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<CommandBuffer>> committed_;
  bool ends_ = false;
  std::thread thread_;  ///< Begins with the first command buffer.
};

/// While `is_lazy`, queues execute nothing until a thread of the CPU waits for a command buffer or
/// an event, and a wait that was not to be is seen by what it completes.
class Laziness {
 public:
  void set(bool is_lazy);
  void wake() { set(false); }
  /// Returns when queues may execute.
  void pause_queue() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_lazy_ = false;
};
[[nodiscard]] Laziness& laziness() noexcept;

}  // namespace tenon::metal_stand_in
