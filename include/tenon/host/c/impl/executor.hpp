// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/c/tenon_host.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "tenon/host/async.hpp"
#include "tenon/host/c/impl/outcome.hpp"

struct tenon_task {
  tenon::host::Executor::Task task;
};

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// An executor as methods hold it.
class SharedExecutor : public std::enable_shared_from_this<SharedExecutor> {
 public:
  SharedExecutor() = default;
  SharedExecutor(const SharedExecutor&) = delete;
  SharedExecutor& operator=(const SharedExecutor&) = delete;
  virtual ~SharedExecutor() = default;

  [[nodiscard]] virtual Status submit(Executor::Task task) = 0;

  /// Keeps this object.
  [[nodiscard]] virtual Executor executor() {
    return
        [self = shared_from_this()](Executor::Task task) { return self->submit(std::move(task)); };
  }
};

/// Threads of the library's own. The last one to hold it may be one of its own tasks.
class OwnThreads final : public SharedExecutor {
 public:
  [[nodiscard]] static Result<std::shared_ptr<SharedExecutor>> create(std::size_t num_threads,
                                                                      std::size_t max_waiting) {
    TENON_TRY(auto threads, ThreadExecutor::create(num_threads, max_waiting));
    return std::shared_ptr<SharedExecutor>(new OwnThreads(std::move(threads)), &destroy);
  }

  [[nodiscard]] Status submit(Executor::Task task) override {
    return executor_.run(marked(std::move(task)));
  }

  [[nodiscard]] Executor executor() override {
    auto self = std::static_pointer_cast<OwnThreads>(shared_from_this());
    return {[self](Executor::Task task) { return self->submit(std::move(task)); },
            [self](Executor::Task task) {
              return self->executor_.park(self->marked(std::move(task)));
            }};
  }

 private:
  explicit OwnThreads(std::unique_ptr<ThreadExecutor> threads)
      : executor_(threads->executor()), threads_(std::move(threads)) {}

  /// `task`, during which `current_` is this.
  [[nodiscard]] Executor::Task marked(Executor::Task task) {
    return [this, task = std::move(task)] {
      current_ = this;
      task();  // May release the last reference to this.
      current_ = nullptr;
    };
  }

  /// A thread cannot wait for its own end.
  static void destroy(SharedExecutor* executor) {
    if (current_ != executor) {
      delete executor;
      return;
    }
    std::thread([executor] { delete executor; }).detach();
  }

  static inline thread_local const SharedExecutor* current_ = nullptr;  // Whose task runs here.

  Executor executor_;
  std::unique_ptr<ThreadExecutor> threads_;
};

/// The application's.
class CustomExecutor final : public SharedExecutor {
 public:
  using Submit = tenon_status(TENON_CALL*)(void* data, tenon_task* task);

  CustomExecutor(Submit submit_task, void(TENON_CALL* release)(void*), void* data) noexcept
      : submit_(submit_task), release_(release), data_(data) {}
  ~CustomExecutor() override {
    if (release_) release_(data_);
  }

  [[nodiscard]] Status submit(Executor::Task task) override {
    auto owned = std::make_unique<tenon_task>(tenon_task{std::move(task)});
    const tenon_status outcome = submit_(data_, owned.get());
    if (outcome == TENON_STATUS_OK) {
      static_cast<void>(owned.release());
      return ok();
    }
    return error(error_from_status(outcome), "the application's executor refused the run");
  }

 private:
  Submit submit_;
  void(TENON_CALL* release_)(void*);
  void* data_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail

struct tenon_executor {
  std::shared_ptr<tenon::host::detail::SharedExecutor> executor;
};

tenon_status TENON_CALL tenon_executor_create(uint32_t num_threads, uint64_t max_waiting,
                                              tenon_executor** out, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given("tenon_executor_create", given("out", out)));
    const std::size_t limit = max_waiting == 0 ? tenon::host::ThreadExecutor::no_limit
                                               : static_cast<std::size_t>(max_waiting);
    TENON_TRY(auto executor, OwnThreads::create(num_threads, limit));
    *out = new tenon_executor{std::move(executor)};
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_executor_create_custom(
    tenon_status(TENON_CALL* submit)(void* data, tenon_task* task),
    void(TENON_CALL* release)(void* data), void* data, tenon_executor** out, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(
        expect_given("tenon_executor_create_custom", given("submit", submit), given("out", out)));
    auto executor = std::make_unique<tenon_executor>();
    executor->executor = std::make_shared<CustomExecutor>(submit, release, data);
    *out = executor.release();
    return tenon::ok();
  });
}

void TENON_CALL tenon_executor_destroy(tenon_executor* executor) { delete executor; }

void TENON_CALL tenon_task_run(tenon_task* task) {
  const std::unique_ptr<tenon_task> owned(task);
  if (owned) owned->task();
}

void TENON_CALL tenon_task_drop(tenon_task* task) { delete task; }
