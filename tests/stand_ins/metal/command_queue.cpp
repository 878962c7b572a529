// SPDX-License-Identifier: MIT
#include "command_queue.hpp"

#include "stand_in_device.hpp"

namespace tenon::metal_stand_in {

std::uint64_t SharedEvent::signaled_value() const {
  const std::lock_guard lock(mutex_);
  return value_;
}

void SharedEvent::signal(std::uint64_t value) {
  {
    const std::lock_guard lock(mutex_);
    if (value <= value_) return;
    value_ = value;
  }
  changed_.notify_all();
}

void SharedEvent::wait(std::uint64_t value) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return value_ >= value; });
}

void CommandBuffer::execute(GridRunner& runner) {
  Status failure = ok();
  for (const Command& command : commands_) {
    failure = command(runner);
    if (!failure.ok()) break;
  }
  // It keeps what its commands use until it is completed.
  commands_.clear();
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    is_completed_ = true;
  }
  completed_.notify_all();
}

Status CommandBuffer::wait_until_completed() const {
  std::unique_lock lock(mutex_);
  completed_.wait(lock, [&] { return is_completed_; });
  return failure_.ok() ? ok() : error(failure_.error(), failure_.text());
}

bool CommandBuffer::is_completed() const {
  const std::lock_guard lock(mutex_);
  return is_completed_;
}

bool CommandBuffer::has_failed() const {
  const std::lock_guard lock(mutex_);
  return is_completed_ && !failure_.ok();
}

CommandQueue::CommandQueue() { ++control().num_queues; }

CommandQueue::~CommandQueue() {
  laziness().wake();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  --control().num_queues;
}

void CommandQueue::commit(std::shared_ptr<CommandBuffer> buffer) {
  {
    const std::lock_guard lock(mutex_);
    committed_.push_back(std::move(buffer));
    if (!thread_.joinable()) thread_ = std::thread(&CommandQueue::work, this);
  }
  changed_.notify_all();
}

void CommandQueue::work() {
  GridRunner runner;
  for (;;) {
    std::shared_ptr<CommandBuffer> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !committed_.empty(); });
      if (committed_.empty()) return;
      next = std::move(committed_.front());
      committed_.pop_front();
    }
    laziness().pause_queue();
    next->execute(runner);
  }
}

void Laziness::set(bool is_lazy) {
  {
    const std::lock_guard lock(mutex_);
    is_lazy_ = is_lazy;
  }
  changed_.notify_all();
}

void Laziness::pause_queue() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_lazy_; });
}

Laziness& laziness() noexcept {
  static Laziness only;
  return only;
}

}  // namespace tenon::metal_stand_in
