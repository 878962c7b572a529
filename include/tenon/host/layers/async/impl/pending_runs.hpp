// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/async/executor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The object that runs asynchronously: a method.
class AsyncOwner {
 public:
  /// Does what is left of the run that was begun, on the executor's thread, but the wait for what
  /// is under way. `end_run` gets the outcome.
  [[nodiscard]] virtual Status go_on() noexcept = 0;

  /// Whether nothing is left but a wait that needs no thread. True at most once in a run.
  [[nodiscard]] virtual bool may_park() noexcept = 0;

  /// Has `wake` called once, when the wait is over or a thread is to do it. Another thread then
  /// ends the run, also before the call returns.
  virtual void park(Executor::Wake wake) noexcept = 0;

  /// Ends the run, on the executor's thread, after waiting for what is under way. When it returns,
  /// the next run may begin.
  [[nodiscard]] virtual Status end_run(Status so_far) noexcept = 0;

 protected:
  AsyncOwner() = default;
  AsyncOwner(const AsyncOwner&) = default;
  AsyncOwner& operator=(const AsyncOwner&) = default;
  ~AsyncOwner() = default;
};

/// The asynchronous runs of one owner that have not completed: each has its completion called
/// exactly once, and the owner can wait for all of them. Shared by the owner and its tasks, because
/// a completion may destroy the owner.
///
/// Threads: any.
class PendingRuns : public std::enable_shared_from_this<PendingRuns> {
 public:
  /// Gives the rest of a run to `executor`, at once or when it need not wait. Ok: `completion` has
  /// been called or will be. Otherwise it is never called, and the run has ended with the failure.
  [[nodiscard]] Status add(AsyncOwner& owner, const Executor& executor, Completion completion) {
    auto task = std::make_shared<Task>(shared_from_this(), owner, executor, std::move(completion));
    const Executor kept = executor;  // A task that is run at once may destroy the owner.
    change(1);
    if (kept.can_park() && owner.may_park() && task->park(kept)) return ok();
    Status accepted = hand_over(kept, task);
    // An executor that fails after it has run the task has accepted it.
    if (accepted.ok() || !task->claim()) return ok();
    Status outcome = owner.end_run(std::move(accepted));
    change(-1);
    return outcome;
  }

  /// Waits until every run has ended and its completion has returned, except those completions that
  /// are on this thread's own stack.
  void wait() {
    int mine = 0;
    for (const Frame* frame = innermost; frame; frame = frame->outer) mine += &frame->runs == this;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pending_ == mine; });
  }

 private:
  /// A run that ends on this thread, until its completion has returned.
  struct Frame {
    explicit Frame(PendingRuns& of) noexcept : runs(of), outer(innermost) { innermost = this; }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() {
      innermost = outer;
      runs.change(-1);
    }
    PendingRuns& runs;
    const Frame* outer;
  };

  /// The rest of a run, or its end, for an executor.
  class Task : public std::enable_shared_from_this<Task> {
   public:
    Task(std::shared_ptr<PendingRuns> runs, AsyncOwner& owner, const Executor& executor,
         Completion completion) noexcept
        : runs_(std::move(runs)),
          owner_(owner),
          executor_(executor),
          completion_(std::move(completion)) {}
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
      if (!claim()) return;
      try {
        end(error(Error::InvalidState, "the executor destroyed the task without running it"));
      } catch (...) {  // Of the completion: a destructor passes nothing on.
      }
    }

    /// True for one caller, which ends the run.
    [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true); }

    void run() {
      if (!claim()) return;
      Status so_far = owner_.go_on();
      const bool may_park = so_far.ok() && executor_.can_park() && owner_.may_park();
      if (!may_park || !leave_the_end()) end(std::move(so_far));
    }

    /// Has `executor`, which the caller keeps, run this task when the owner need not wait. False:
    /// the executor does not keep the task.
    [[nodiscard]] bool park(const Executor& executor) noexcept {
      Executor::Wake wake = keep(executor);
      if (claimed_) return true;  // The executor ran it at once, and has ended the run.
      if (!wake) return false;
      owner_.park(std::move(wake));
      return true;
    }

   private:
    void end(Status so_far) {
      const Frame frame(*runs_);
      const Completion completion = std::move(completion_);  // Destroyed before the frame.
      completion(owner_.end_run(std::move(so_far)));
    }

    /// Parks a task of its own for the end of the run. False: the caller ends it.
    [[nodiscard]] bool leave_the_end() noexcept {
      std::shared_ptr<Task> rest;
      try {
        rest = std::make_shared<Task>(runs_, owner_, executor_, std::move(completion_));
      } catch (const std::bad_alloc&) {  // Before the completion was moved.
        return false;
      }
      const Executor kept = executor_;  // As in `add`.
      if (rest->park(kept) || !rest->claim()) return true;
      completion_ = std::move(rest->completion_);
      return false;
    }

    /// Null when the executor does not keep the task.
    [[nodiscard]] Executor::Wake keep(const Executor& executor) noexcept {
      try {
        Result<Executor::Wake> kept = executor.park([self = shared_from_this()] { self->run(); });
        return kept.ok() ? *std::move(kept) : Executor::Wake();
      } catch (...) {  // Whatever the reason: a thread waits instead.
        return {};
      }
    }

    const std::shared_ptr<PendingRuns> runs_;
    AsyncOwner& owner_;
    const Executor& executor_;  // The owner's.
    Completion completion_;
    std::atomic<bool> claimed_ = false;
  };

  static Status hand_over(const Executor& executor, const std::shared_ptr<Task>& task) {
    try {
      return executor.run([task] { task->run(); }).with_context("the executor refused the run");
    } catch (const std::bad_alloc&) {
      return error(Error::MemoryAllocationFailed, "the executor: out of memory");
    } catch (const std::exception& exception) {
      return error(Error::Internal, "the executor failed: ", std::string_view(exception.what()));
    } catch (...) {
      return error(Error::Internal, "the executor failed by an exception without a text");
    }
  }

  void change(int by) {
    const std::lock_guard lock(mutex_);
    pending_ += by;
    changed_.notify_all();
  }

  static inline constinit thread_local const Frame* innermost = nullptr;

  std::mutex mutex_;
  std::condition_variable changed_;
  int pending_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
