// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "call.hpp"
#include "description.hpp"
#include "host_tables.hpp"
#include "isolated_object.hpp"
#include "remote_memory.hpp"
#include "saved_state.hpp"
#include "settings.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "worker.hpp"
#include "wrapped_files.hpp"

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
  std::size_t hints_at = 0;  ///< Where the message has hints, for a session with others.
  host::FileDescriptor blob;
  CodeHashes permitted;
};

/// One delegate, and the lane that it alone has.
struct IsolatedDelegate {
  std::uint64_t number = 0;
  std::string method;
  std::uint64_t deadline_ms = 0;
  std::int64_t restarts = 0;  ///< Restarts that are left.
  std::int64_t max_restarts = 0;
  /// When restarts are wanted; for a session the one of its parent, but for a session with options
  /// of its own, which cannot be loaded again.
  std::shared_ptr<Replay> replay;
  SavedState saved;                           ///< As well.
  std::optional<tenon_scheduling> own_hints;  ///< Of a session, where `replay` has others.
  std::optional<tenon_scheduling>
      scheduling;  ///< The hints that were set last; `mutex` guards them.
  Services services;
  LaneLoan loan;
  ArgumentsCopy arguments;
  std::uint64_t num_calls = 0;
  Recording recording;
  std::map<std::uint64_t, std::uint64_t> state_sizes;  ///< Of the parts that were listed.
  bool own_worker = false;
  mutable std::mutex mutex;  ///< Sessions are made while the delegate runs.

  /// The worker, for calls while another call loads the delegate again in another worker.
  [[nodiscard]] std::shared_ptr<Worker> worker_now() const {
    const std::lock_guard lock(mutex);
    return loan.shared_worker();
  }
  /// The hints for a session without its own; without a value, the hints of `replay` hold.
  [[nodiscard]] std::optional<tenon_scheduling> hints_now() const {
    const std::lock_guard lock(mutex);
    return scheduling ? scheduling : own_hints;
  }
  void set_hints(const tenon_scheduling& hints) {
    const std::lock_guard lock(mutex);
    scheduling = hints;
  }
  /// Gives the lane back, and its worker, after the lock.
  void move_to(LaneLoan other) {
    const std::lock_guard lock(mutex);
    loan = std::move(other);
  }
};

/// One kernel. Its calls take any free lane.
struct IsolatedKernel {
  class IsolatedBackend* backend = nullptr;
  std::uint64_t number = 0;
  std::string op;
  std::vector<tenon_value*> args;
  std::uint64_t deadline_ms = 0;
  std::int64_t restarts = 0;  ///< Restarts that are left.
  std::shared_ptr<Worker> worker;
  ArgumentsCopy arguments{true};
  Arena arena;
  std::uint64_t num_calls = 0;
};

/// One backend of the wrapped plugin, in a worker. Functions answer as the functions of
/// `tenon_backend_api` and of the extensions' tables do; any thread, as there.
class IsolatedBackend {
 public:
  /// Starts a worker for table `index` of the plugin that `object` names, and opens it there.
  [[nodiscard]] static Result<std::unique_ptr<IsolatedBackend>> open(const IsolatedObject& object,
                                                                     std::size_t index,
                                                                     const tenon_host* host);
  /// As above, for the object in the file of the plugin. Defined with it, as `get_extension` is.
  template <std::size_t Index>
  static tenon_status open(const tenon_host* host, tenon_backend** out);
  [[nodiscard]] const void* get_extension(const char* id) const;

  static constexpr std::string_view out_of_memory = "out of memory";

  [[nodiscard]] static IsolatedBackend& of(tenon_backend* backend) noexcept {
    return *reinterpret_cast<IsolatedBackend*>(backend);
  }
  void close();

  [[nodiscard]] const tenon_host* host() const noexcept { return host_; }
  /// Of the worker that was opened first; taken once.
  [[nodiscard]] std::unique_ptr<Description> take_description() noexcept {
    return std::move(description_);
  }

  [[nodiscard]] tenon_status is_available();
  [[nodiscard]] tenon_status init(const tenon_init_context* context, tenon_delegate** out);
  [[nodiscard]] tenon_status execute(tenon_delegate* loaded, const tenon_execution_context* context,
                                     tenon_value* const* args, std::uint32_t num_args);
  void destroy(tenon_delegate* delegate);
  [[nodiscard]] tenon_status create_session(const IsolatedDelegate& parent,
                                            const tenon_session_context& context,
                                            tenon_delegate** out);
  [[nodiscard]] tenon_status check_blob(const tenon_init_context* context, std::uint32_t* verdict);
  [[nodiscard]] tenon_status memory_info(const IsolatedDelegate* delegate, tenon_memory_sink sink,
                                         void* sink_context);
  [[nodiscard]] tenon_status list_devices(tenon_device_sink sink, void* context);
  [[nodiscard]] tenon_status set_option(const tenon_option* option);
  [[nodiscard]] tenon_status get_option(const char* key, tenon_option_sink sink, void* context);
  [[nodiscard]] tenon_status estimate(const tenon_init_context* context, tenon_memory_sink sink,
                                      void* sink_context);
  [[nodiscard]] tenon_status free_memory(tenon_dl_device device, std::uint64_t* nbytes);
  void cancel(const IsolatedDelegate& delegate);
  [[nodiscard]] tenon_status set_scheduling(IsolatedDelegate& delegate,
                                            const tenon_scheduling* scheduling);
  [[nodiscard]] tenon_status list_state(IsolatedDelegate& delegate, const tenon_state_list* to);
  [[nodiscard]] tenon_status read_state(IsolatedDelegate& delegate, std::uint64_t part,
                                        std::uint64_t offset, std::uint64_t nbytes, void* to);
  [[nodiscard]] tenon_status write_state(IsolatedDelegate& delegate, std::uint64_t part,
                                         std::uint64_t offset, std::uint64_t nbytes,
                                         const void* from);
  [[nodiscard]] tenon_status state_written(IsolatedDelegate& delegate);
  [[nodiscard]] tenon_status list_intermediates(const IsolatedDelegate& delegate,
                                                const tenon_intermediate_list* to);
  [[nodiscard]] tenon_status record(IsolatedDelegate& delegate, const std::int64_t* handles,
                                    std::uint64_t num_handles, const tenon_intermediate_sink* sink);
  [[nodiscard]] tenon_status allocate(tenon_dl_device device, std::uint64_t nbytes,
                                      std::uint64_t alignment, void** out);
  void free_block(void* block);
  [[nodiscard]] tenon_status copy_to_device(void* to, const void* from, std::uint64_t nbytes);
  [[nodiscard]] tenon_status copy_to_host(void* to, const void* from, std::uint64_t nbytes);
  [[nodiscard]] tenon_status copy_on(void* stream, void* to, const void* from,
                                     std::uint64_t nbytes);
  [[nodiscard]] tenon_status import_memory(const tenon_external_memory* memory,
                                           tenon_imported_memory** out, void** address);
  void release_memory(tenon_imported_memory* memory);
  /// Passes a fence on: `kind` is one of the two calls.
  [[nodiscard]] tenon_status pass_fence(IsolatedDelegate& delegate, Call kind,
                                        const tenon_external_fence* fence);
  [[nodiscard]] tenon_status list_operators(tenon_operator_sink sink, void* context);
  [[nodiscard]] tenon_status create_kernel(const char* op, tenon_value* const* args,
                                           std::uint32_t num_args, tenon_kernel** out);
  [[nodiscard]] tenon_status run_kernel(IsolatedKernel& kernel,
                                        const tenon_execution_context* context);
  void destroy_kernel(IsolatedKernel* kernel);

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
  [[nodiscard]] Result<Start> worker_start() const;

  /// Makes a call that no delegate has a lane for: `write` writes its message, `read` reads what
  /// comes after the status. With a context, that is the first part of the message.
  template <class Write, class Read>
  tenon_status call_apart(Call kind, std::string_view function, const Write& write,
                          const Read& read, const tenon_init_context* context = nullptr);
  /// Writes the context of `init`. `settings` follow the options of this load, and `replay`, which
  /// may be null, learns where the message has the hints.
  [[nodiscard]] Status write_init(const tenon_init_context& context, std::uint64_t number,
                                  Settings& settings, Writer& to, Replay* replay = nullptr) const;
  /// Loads a delegate again whose worker has died. errors: the dead worker's, when the delegate may
  /// not be loaded again.
  [[nodiscard]] Status revive(IsolatedDelegate& delegate);
  [[nodiscard]] Status revive_if_dead(IsolatedDelegate& delegate) {
    return delegate.loan.worker().is_dead() ? revive(delegate) : ok();
  }
  /// Makes the call of `init` that `delegate.replay` is of, in a lane that was lent.
  [[nodiscard]] Status load_again(IsolatedDelegate& delegate);
  /// Sees that `worker` has all of `memories`. errors: the plugin's; InvalidState for a block of
  /// another worker.
  [[nodiscard]] Status bring(const std::vector<std::shared_ptr<RemoteMemory>>& memories,
                             const std::shared_ptr<Worker>& worker);
  [[nodiscard]] Status import_into(const std::shared_ptr<Worker>& worker, RemoteMemory& memory);
  /// Ends memory in the workers that have it.
  void end_memory(RemoteMemory& memory, Call kind, std::string_view function);
  /// The block that has these bytes, and the worker that has it. errors: InvalidArgument;
  /// InvalidState when that has died.
  [[nodiscard]] Result<std::pair<std::shared_ptr<RemoteMemory>, LaneLoan>> find_block(
      const void* data, std::uint64_t nbytes);
  static void save_part(IsolatedDelegate& delegate, std::uint64_t part, std::uint64_t offset,
                        std::span<const std::byte> bytes);
  /// Writes what a session has of its own. errors: NotSupported for an option of the isolation.
  [[nodiscard]] static Status write_session(const tenon_session_context& context, Writer& to);
  /// Sets what was set since then, and the state that was saved.
  [[nodiscard]] Status restore(IsolatedDelegate& delegate);
  [[nodiscard]] Result<CallResult> ask_to_record(const IsolatedDelegate& delegate,
                                                 const std::set<std::int64_t>& handles);
  [[nodiscard]] Result<CallResult> make_kernel(IsolatedKernel& kernel, LaneLoan& loan);
  [[nodiscard]] Status revive(IsolatedKernel& kernel);
  /// Writes what each call has before its arguments.
  void write_call(const tenon_execution_context& context, CallInfo& info, Writer& to) const;
  /// Of a call that is not one of a delegate.
  [[nodiscard]] CallInfo apart(std::string_view function) {
    const std::lock_guard lock(mutex_);
    return {.function = function, .deadline_ms = static_cast<std::uint64_t>(settings_.deadline_ms)};
  }
  [[nodiscard]] CallInfo info_of(const IsolatedDelegate& delegate,
                                 std::string_view function) const noexcept;
  /// Makes a call in the lane of a delegate; `write` writes what comes after its number. The answer
  /// has `num_bytes` of data besides its message.
  template <class Write>
  [[nodiscard]] Result<CallResult> call_of(const IsolatedDelegate& delegate, Call kind,
                                           std::string_view function, const Write& write,
                                           std::uint64_t num_bytes = 0) {
    Worker& worker = delegate.loan.worker();
    if (worker.is_dead()) return worker.dead_status();
    ApplicationLane& lane = delegate.loan.lane();
    lane.out().clear();
    lane.out().put(delegate.number);
    write(lane.out());
    CallInfo info = info_of(delegate, function);
    info.max_message += num_bytes;
    return worker.call(lane, kind, info);
  }
  /// As above; `read` reads the answer.
  template <class Write, class Read>
    requires std::invocable<Read, Reader&>
  tenon_status call_of(const IsolatedDelegate& delegate, Call kind, std::string_view function,
                       const Write& write, const Read& read, std::uint64_t num_bytes = 0);

  const IsolatedObject& object_;
  std::size_t index_;
  const tenon_host* host_;
  const HostTables tables_;
  std::string plugin_;  ///< Path of the wrapped plugin.
  std::shared_ptr<const WrappedFiles::Files> files_;
  std::unique_ptr<Description> description_;
  bool has_options_ = false;  ///< Has options of its own, besides the isolated plugin's.
  std::atomic<std::uint64_t> next_number_ = 1;
  RemoteMemories memories_;
  std::mutex mutex_;  // Guards what follows.
  Settings settings_;
  std::shared_ptr<Worker> worker_;
  std::map<std::string, std::vector<std::byte>> options_;  // Options that were set.
};

}  // namespace tenon::isolated
