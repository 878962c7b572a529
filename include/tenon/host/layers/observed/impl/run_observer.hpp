// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tenon/abi/status.h"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The functions of an observer that are called, besides those around a run.
struct Observation {
  bool may_refuse = false;         ///< `may_begin` is called.
  bool sees_instructions = false;  ///< `begin`, `result` and `end` are called.
};

/// A layer that sees the runs of a method. The functions of all observers are called in the order
/// in which the observers were added.
///
/// threads: the run's. An asynchronous run begins on one thread, and may end on another.
class RunObserver {
 public:
  RunObserver() noexcept = default;
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;

  /// A run begins, on the thread of `execute` or `execute_async`. False: another run is going on.
  /// Until all observers have agreed, another run may call this on another thread.
  [[nodiscard]] virtual bool begin_run(MethodState&) noexcept { return true; }
  /// The run has ended with `outcome`; the result is what counts. Also called when a later
  /// observer refused the run.
  [[nodiscard]] virtual Status end_run(MethodState&, Status outcome) { return outcome; }
  /// All observers have seen `end_run`. The next run may begin.
  virtual void run_over(MethodState&) noexcept {}

  /// All observers have agreed to the run, and its first instruction follows on this thread. A run
  /// that the executor refuses has no instructions.
  virtual void begin_instructions(MethodState&) noexcept {}
  /// No instruction follows. The result is what counts.
  [[nodiscard]] virtual Status end_instructions(MethodState&, Status outcome) { return outcome; }

  /// Whether the next instruction may begin. False ends the run with `refusal`.
  [[nodiscard]] virtual bool may_begin(MethodState&) noexcept { return true; }
  /// Why `may_begin` was false before the instruction with this place.
  [[nodiscard]] virtual Status refusal(MethodState&, std::size_t /*chain*/, std::size_t /*index*/) {
    return ok();
  }

  /// The instruction follows.
  virtual void begin(MethodState&, const Instruction&) {}
  /// The call of a kernel or a delegate has returned `status`; the result is what counts.
  [[nodiscard]] virtual tenon_status result(MethodState&, const Instruction&,
                                            tenon_status status) noexcept {
    return status;
  }
  /// The instruction has ended; its call may have failed.
  virtual void end(MethodState&, const Instruction&, std::size_t /*chain*/, std::size_t /*index*/) {
  }

 protected:
  ~RunObserver() = default;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
