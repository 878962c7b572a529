// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "application_lane.hpp"
#include "call.hpp"
#include "call_watch.hpp"
#include "launch.hpp"
#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

/// The answer to a call that the worker survived.
struct CallResult {
  tenon_status status = TENON_STATUS_OK;
  std::string_view text{};  ///< Valid until the lane's next call.
  Reader body{};            ///< As long.
};

/// One process with the wrapped plugin, seen from the application. Any thread.
class Worker {
 public:
  /// The purpose of a worker, for texts.
  struct Subject {
    std::string backend;
    std::string plugin;  ///< Path.
  };

  /// Starts the program. errors: as `launch`.
  [[nodiscard]] static Result<std::shared_ptr<Worker>> start(const std::string& program,
                                                             host::Trust trust, const Start& how,
                                                             const tenon_host* host,
                                                             Subject subject);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Ends the process, and waits until it has ended.
  ~Worker();

  /// A lane for one call at a time, of the caller alone until it is given back. Waits for a worker
  /// that takes no lane as long as for the call `info`. errors: a dead worker's; OutOfResources,
  /// MemoryAllocationFailed.
  [[nodiscard]] Result<ApplicationLane*> take_lane(const CallInfo& info);
  void give_back(ApplicationLane* lane);

  /// Makes the call `lane.out()`, and answers what the worker asks meanwhile. A failure is one of
  /// the worker, as it died; what the plugin says is the result.
  [[nodiscard]] Result<CallResult> call(ApplicationLane& lane, Call kind, const CallInfo& info,
                                        std::span<const int> descriptors = {});

  /// Whether it has died, as far as it was noticed.
  [[nodiscard]] bool is_dead() const noexcept { return is_dead_.load(std::memory_order_relaxed); }
  /// The failure of a call to a worker that has died before.
  [[nodiscard]] Status dead_status() const;

 private:
  Worker(Launched launched, const tenon_host* host, Subject subject) noexcept;

  [[nodiscard]] Result<CallResult> converse(ApplicationLane& lane, Call kind, const CallInfo& info,
                                            std::span<const int> descriptors);
  /// Gives a new lane to the worker.
  [[nodiscard]] Status send_lane(const ApplicationLane& lane, std::span<const int> descriptors,
                                 const CallInfo& info);
  /// Whether the deadline is not over. Without one a worker that is silent is named in the log.
  [[nodiscard]] bool has_time(CallWatch& watch, std::int64_t waited_ns, const CallInfo& info) const;
  /// Waits until `descriptor` can be read or the supervisor has ended, for a few seconds at most.
  void await(int descriptor) noexcept;
  /// Looks, without waiting, whether the process has ended.
  bool has_ended();
  /// Ends the process: the supervisor sees that its connection is half closed.
  void kill() noexcept;
  /// Waits until the process has ended; the failure of the call that it died in.
  [[nodiscard]] Status died_in(const ApplicationLane& lane, const CallInfo& info,
                               std::string_view reason);
  /// Answers a question.
  [[nodiscard]] Status answer(ApplicationLane& lane, const CallInfo& info) const;
  [[nodiscard]] Result<CallResult> take_answer(ApplicationLane& lane, const CallInfo& info) const;
  [[nodiscard]] bool is_in_child_of_fork() const noexcept;

  Launched launched_;
  const tenon_host* host_;
  Subject subject_;
  std::atomic<bool> is_dead_ = false;
  Mapping own_;               ///< A page that a child of `fork` sees as zeros.
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::unique_ptr<ApplicationLane>> lanes_;
  std::vector<ApplicationLane*> free_lanes_;
  bool has_ended_ = false;
  Ending ending_{};
  std::string death_;  ///< The text of the first call that noticed.
};

}  // namespace tenon::isolated
