// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace tenon::python {

/// Releases the GIL while it lives, for work that takes microseconds and that several threads do.
///
/// A thread that finds the GIL taken sleeps until the system wakes it up, which takes longer than a
/// small network, whereas between two runs a thread has the GIL for about a microsecond. So the
/// destructor waits a short time for the GIL to be free before it asks for it. Python has no
/// function for this. Up to 3.11 a process has one current thread state, that of the thread with
/// the GIL, and null when the GIL is free. Later versions have one for each thread, and there the
/// destructor does not wait.
class ReleasedGil {
 public:
  ReleasedGil() noexcept : thread_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    wait_until_free();
    PyEval_RestoreThread(thread_);
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  /// A thread that computes in Python has the GIL for 5 ms: what is lost here is little of that.
  static constexpr std::chrono::microseconds limit{10};

  static void wait_until_free() noexcept {
#if PY_VERSION_HEX < 0x030C0000
    if (!_PyThreadState_UncheckedGet()) [[likely]]
      return;
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + limit;
    while (_PyThreadState_UncheckedGet() && Clock::now() < end) continue;
#endif
  }

  PyThreadState* thread_;
};

}  // namespace tenon::python
