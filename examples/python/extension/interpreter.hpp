// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace tenon::python {

/// For a thread that asked for the GIL when the interpreter had been finalized: up to CPython 3.13
/// such a thread is ended by pthread_exit, which on Linux unwinds its stack as an exception does.
/// The stack here may not be unwound, as destructors are on it: the process would end by
/// std::terminate. So the thread sleeps until the process ends, as CPython 3.14 itself has it.
[[noreturn]] inline void wait_for_the_end() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Has the GIL while it lives, in any thread.
class HeldGil {
 public:
  HeldGil() noexcept {
    try {
      state_ = PyGILState_Ensure();
    } catch (...) {
      wait_for_the_end();
    }
  }
  ~HeldGil() { PyGILState_Release(state_); }
  HeldGil(const HeldGil&) = delete;
  HeldGil& operator=(const HeldGil&) = delete;

 private:
  PyGILState_STATE state_{};
};

/// Releases the GIL while it lives. In place of nanobind's, whose destructor may not be unwound.
///
/// A thread that finds the GIL taken sleeps until the system wakes it up, which takes longer than a
/// small network; several threads do such work, and between two runs a thread has the GIL for about
/// a microsecond. So the destructor waits a short time for the GIL to be free before it asks for
/// it. Python has no function for this. Up to 3.11 a process has one current thread state: it
/// belongs to the thread with the GIL, and is null when the GIL is free. Later versions have one
/// for each thread, and there the destructor does not wait.
class ReleasedGil {
 public:
  ReleasedGil() noexcept : thread_(PyEval_SaveThread()) {}
  ~ReleasedGil() {
    wait_until_free();
    try {
      PyEval_RestoreThread(thread_);
    } catch (...) {
      wait_for_the_end();
    }
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

/// Whether the interpreter of this thread is the process's first one. Otherwise ImportError is set:
/// nanobind has one state for a process, which a module that another interpreter makes replaces.
/// Isolated interpreters (CPython 3.12 and later) refuse the module by themselves.
[[nodiscard]] inline bool is_main_interpreter(const char* module) noexcept {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
  PyErr_Format(PyExc_ImportError,
               "tenon.%s cannot be imported in a subinterpreter: expected the main interpreter of "
               "the process",
               module);
  return false;
}

}  // namespace tenon::python

/// NB_MODULE for the main interpreter alone.
#define TENON_PYTHON_MODULE(name, variable)                         \
  extern "C" PyObject* PyInit_##name##_bindings(void);              \
  extern "C" NB_EXPORT PyObject* PyInit_##name(void);               \
  extern "C" PyObject* PyInit_##name(void) {                        \
    if (!tenon::python::is_main_interpreter(#name)) return nullptr; \
    return PyInit_##name##_bindings();                              \
  }                                                                 \
  NB_MODULE(name##_bindings, variable)
