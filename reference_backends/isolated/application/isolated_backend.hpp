// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "call.hpp"
#include "description.hpp"
#include "isolated_object.hpp"
#include "settings.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/core/result.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "worker.hpp"

namespace tenon::isolated {

/// Gives a lane back.
class LaneLoan {
 public:
  LaneLoan() noexcept = default;
  LaneLoan(std::shared_ptr<Worker> worker, ApplicationLane* lane) noexcept
      : worker_(std::move(worker)), lane_(lane) {}
  LaneLoan(LaneLoan&& other) noexcept
      : worker_(std::move(other.worker_)), lane_(std::exchange(other.lane_, nullptr)) {}
  LaneLoan& operator=(LaneLoan&& other) noexcept {
    std::swap(worker_, other.worker_);
    std::swap(lane_, other.lane_);
    return *this;
  }
  ~LaneLoan() {
    if (lane_) worker_->give_back(lane_);
  }

  [[nodiscard]] Worker& worker() const noexcept { return *worker_; }
  [[nodiscard]] const std::shared_ptr<Worker>& shared_worker() const noexcept { return worker_; }
  [[nodiscard]] ApplicationLane& lane() const noexcept { return *lane_; }

 private:
  std::shared_ptr<Worker> worker_;
  ApplicationLane* lane_ = nullptr;
};

/// All that a second `init` needs.
struct Replay {
  std::vector<std::byte> message;
  host::FileDescriptor blob;
  CodeHashes permitted;
};

/// One delegate, and the lane that it alone has.
struct IsolatedDelegate {
  std::uint64_t number = 0;
  std::string method;
  std::uint64_t deadline_ms = 0;
  std::int64_t restarts = 0;       ///< That are left.
  std::unique_ptr<Replay> replay;  ///< When restarts are wanted.
  const tenon_named_data_map* data = nullptr;
  LaneLoan loan;
  ArgumentsCopy arguments;
  std::uint64_t num_calls = 0;
  std::map<std::uint64_t, std::uint64_t> state_sizes;  ///< Of the parts that were listed.
  bool own_worker = false;
};

/// One backend of the wrapped plugin, in a worker. Functions answer as those of `tenon_backend_api`
/// and of the extensions' tables; any thread, as there.
class IsolatedBackend {
 public:
  /// Starts a worker for table `index` of the plugin that `object` names, and opens it there.
  [[nodiscard]] static Result<std::unique_ptr<IsolatedBackend>> open(const IsolatedObject& object,
                                                                     std::size_t index,
                                                                     const tenon_host* host);
  void close();

  [[nodiscard]] const tenon_host* host() const noexcept { return host_; }
  /// Number of the table.
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  /// Of the worker that was opened first; taken once.
  [[nodiscard]] std::unique_ptr<Description> take_description() noexcept {
    return std::move(description_);
  }

  [[nodiscard]] tenon_status is_available();
  [[nodiscard]] tenon_status init(const tenon_init_context* context, tenon_delegate** out);
  [[nodiscard]] tenon_status execute(IsolatedDelegate& delegate,
                                     const tenon_execution_context* context,
                                     tenon_value* const* args, std::uint32_t num_args);
  void destroy(IsolatedDelegate* delegate);
  [[nodiscard]] tenon_status create_session(const IsolatedDelegate& delegate, tenon_delegate** out);
  [[nodiscard]] tenon_status check_blob(const tenon_init_context* context, std::uint32_t* verdict);
  [[nodiscard]] tenon_status memory_info(const IsolatedDelegate* delegate, tenon_memory_info* out);
  [[nodiscard]] tenon_status list_devices(tenon_device_sink sink, void* context);
  [[nodiscard]] tenon_status set_option(const tenon_option* option);
  [[nodiscard]] tenon_status get_option(const char* key, tenon_option_sink sink, void* context);
  [[nodiscard]] tenon_status estimate(const tenon_init_context* context, tenon_memory_sink sink,
                                      void* sink_context);
  [[nodiscard]] tenon_status free_memory(tenon_dl_device device, std::uint64_t* nbytes);
  void cancel(const IsolatedDelegate& delegate);
  [[nodiscard]] tenon_status set_scheduling(const IsolatedDelegate& delegate,
                                            const tenon_scheduling* scheduling);
  [[nodiscard]] tenon_status list_state(IsolatedDelegate& delegate, const tenon_state_list* to);
  [[nodiscard]] tenon_status read_state(const IsolatedDelegate& delegate, std::uint64_t part,
                                        void* to);
  [[nodiscard]] tenon_status write_state(const IsolatedDelegate& delegate, std::uint64_t part,
                                         const void* from);
  [[nodiscard]] tenon_status state_written(const IsolatedDelegate& delegate);

 private:
  IsolatedBackend(const IsolatedObject& object, std::size_t index, const tenon_host* host);

  /// Reports a failure; OK for success.
  [[nodiscard]] tenon_status fail(const Status& status) const noexcept;
  /// The answer to the application: what the plugin said, or that its worker died.
  [[nodiscard]] tenon_status pass_on(const Result<CallResult>& result) const noexcept;

  /// A worker with the backend open, and a lane in it. With `own` a new one.
  [[nodiscard]] Result<LaneLoan> borrow(bool own = false);
  [[nodiscard]] Result<std::shared_ptr<Worker>> start_worker(bool describes);
  [[nodiscard]] Result<std::string> find_plugin() const;
  [[nodiscard]] Result<std::string> find_program() const;
  [[nodiscard]] Result<Start> worker_start(const std::string& plugin) const;

  /// Makes a call that no delegate has a lane for: `write` writes its message, `read` reads what
  /// comes after the status. With a context, that is the first part of the message.
  template <class Write, class Read>
  tenon_status call_apart(Call kind, std::string_view function, const Write& write,
                          const Read& read, const tenon_init_context* context = nullptr);
  /// Writes the context of `init`. `restarts` and `deadline` follow the options of this load.
  [[nodiscard]] Status write_init(const tenon_init_context& context, std::uint64_t number,
                                  Settings& settings, Writer& to) const;
  [[nodiscard]] Status revive(IsolatedDelegate& delegate);
  [[nodiscard]] CallInfo info_of(const IsolatedDelegate& delegate,
                                 std::string_view function) const noexcept;
  /// A plugin without options has none of this name.
  [[nodiscard]] static Status unknown_option(const char* key) {
    return error(Error::NotFound, "option ", host::quoted(key),
                 " is unknown; the plugin has none, expected isolated.deadline_ms, "
                 "isolated.restart or isolated.own_worker");
  }
  /// Makes a call in the lane of a delegate; `write` writes what comes after its number.
  template <class Write>
  [[nodiscard]] Result<CallResult> call_of(const IsolatedDelegate& delegate, Call kind,
                                           std::string_view function, const Write& write) {
    Worker& worker = delegate.loan.worker();
    if (worker.is_dead()) return worker.dead_status();
    ApplicationLane& lane = delegate.loan.lane();
    lane.out().clear();
    lane.out().put(delegate.number);
    write(lane.out());
    return worker.call(lane, kind, info_of(delegate, function));
  }
  template <class Write, class Read>
  tenon_status call_of(const IsolatedDelegate& delegate, Call kind, std::string_view function,
                       const Write& write, const Read& read);

  const IsolatedObject& object_;
  std::size_t index_;
  const tenon_host* host_;
  const tenon_cancel_flag_v1* cancel_flag_ = nullptr;
  std::unique_ptr<Description> description_;
  bool has_options_ = false;  ///< Of its own, besides those of the isolated plugin.
  std::atomic<std::uint64_t> next_number_ = 1;
  std::mutex mutex_;  // Guards what follows.
  Settings settings_;
  std::shared_ptr<Worker> worker_;
  std::map<std::string, std::vector<std::byte>> options_;  // That were set.
};

}  // namespace tenon::isolated
