// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "tenon/core/result.hpp"

namespace tenon::python {

/// Runs `work` on another thread, without the GIL, and waits for it. While it waits, signals are
/// handled (Ctrl-C raises KeyboardInterrupt) and `progress`, if any, is called ten times a second.
///
/// When a signal handler or `progress` raises, that exception is thrown at once; `work`, which must
/// own all that it uses, continues until its end, and the process waits for it when it exits.
void run_interruptibly(std::function<void()> work, const std::function<void()>& progress = {});

/// `work()`, a Result, run so. Its value, or `tenon.Error`.
template <class Work>
[[nodiscard]] auto take_interruptibly(Work work, const std::function<void()>& progress = {}) {
  using Outcome = std::invoke_result_t<Work&>;
  const auto slot = std::make_shared<std::optional<Outcome>>();
  run_interruptibly([slot, work = std::move(work)]() mutable { slot->emplace(work()); }, progress);
  return take(*std::move(*slot));
}

/// Runs work that can be ended. When a signal handler raises, calls `cancel`, waits until `work`
/// has ended, and throws that exception. So `work` may refer to the caller's objects.
void run_cancellably(const std::function<void()>& work, const std::function<void()>& cancel);

/// Waits for all work that was interrupted; Python calls it at exit.
void wait_for_interrupted_work();

}  // namespace tenon::python
