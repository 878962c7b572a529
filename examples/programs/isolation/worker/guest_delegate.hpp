// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "boundary/facts.hpp"
#include "guest_backend.hpp"
#include "guest_host.hpp"
#include "guest_memory.hpp"
#include "guest_pool.hpp"
#include "guest_prepared.hpp"
#include "guest_tracer.hpp"
#include "tenon/abi/private/changes.h"
#include "tenon/abi/tenon.h"
#include "tenon/core/extensions.hpp"

namespace tenon::isolated {

/// The changes of the arguments of one delegate or kernel: changes that the application's method
/// made, and new addresses in the worker.
class GuestChanges : public tenon_changes {
 public:
  GuestChanges() noexcept : tenon_changes{sizeof(tenon_changes), 0, 0} {}

  /// Begins a call; `theirs` is the number of the application's changes.
  void begin(std::uint64_t theirs) noexcept {
    if (theirs != theirs_) ++count;
    theirs_ = theirs;
    counted = 0;
  }
  /// The arguments are other ones, or elsewhere.
  void are_others() noexcept { ++count; }
  /// Ends it. The plugin may have counted what changed.
  void end(bool may_have_changed) noexcept {
    if (counted == 0 && may_have_changed) ++count;
  }

 private:
  std::uint64_t theirs_ = 0;
};

/// The parts of the calls of one delegate or kernel that stay from one call to the next.
struct GuestCall {
  GuestAllocator temporary_memory;
  GuestTracer tracer;
  Arguments arguments;
  std::shared_ptr<GuestPool> pool;
  WorkerLane* lane = nullptr;  ///< Of the last call.

  /// The context, which finds the lane's flag, and the pool.
  struct Context : tenon_execution_context {
    const std::uint32_t* flag = nullptr;
    const tenon_thread_pool* pool = nullptr;
    tenon_changes* changes = nullptr;
  } context{};
  GuestChanges changes;

  void set_context(const tenon_host* host, const char* method) noexcept {
    context.struct_size = sizeof(tenon_execution_context);
    context.host = host;
    context.method_name = method;
    context.temp_allocator = &temporary_memory;
  }

  /// Reads what each call has before its arguments. The reply keeps `owner`, which has this.
  [[nodiscard]] Status begin(Reader& from, WorkerLane& its_lane, GuestPools& pools,
                             const std::shared_ptr<void>& owner, Reply& reply) {
    lane = &its_lane;
    const auto call = from.get<WireCall>();
    const bool has_tracer = call.has_tracer != 0;
    if (call.num_threads != 0 || pool) {
      TENON_RETURN_IF_ERROR(
          pools.find(PoolSetting::read(call.num_threads, call.num_processors, from), pool));
    }
    if (has_tracer) {
      tracer.begin(call.ahead, call.has_counters != 0);
      reply.tracer = &tracer;
      reply.kept = owner;
    }
    context.tracer = has_tracer ? &tracer : nullptr;
    context.pool = pool.get();
    changes.begin(call.changes);
    context.changes = call.has_changes != 0 ? &changes : nullptr;
    context.flag = call.has_flag != 0
                       ? reinterpret_cast<const std::uint32_t*>(&its_lane.header().cancel_flag)
                       : nullptr;
    return ok();
  }

  /// Reads the arguments, which come last.
  [[nodiscard]] Status read_arguments(Reader& from, const Mapping& arena,
                                      const MemoryOfTensors* memory) {
    TENON_RETURN_IF_ERROR(arguments.read(from, {arena.data(), arena.size()}, memory));
    if (!arguments.is_same_list()) changes.are_others();
    return ok();
  }

  /// Maps the memory for tensors when a new one was sent: `size` is not 0.
  [[nodiscard]] Status take_arena(std::uint64_t size, const WorkerLane::Message& message,
                                  Mapping& arena) {
    if (size == 0) return ok();
    if (message.descriptors.empty()) return error(Error::Internal, "an arena was not sent");
    TENON_TRY(arena, Mapping::of_received(message.descriptors.front().get(), size, true));
    changes.are_others();
    return ok();
  }

  /// Ends a call of the plugin, and writes what it changed.
  [[nodiscard]] Status end(tenon_status status, Writer& to) {
    temporary_memory.reset();
    const bool failed = status != TENON_STATUS_OK;
    Status written = failed ? ok() : arguments.write_changes(to);
    changes.end(failed || arguments.has_changed());
    return written;
  }
};

/// One delegate of the plugin, with all that the plugin may keep of its `init`.
struct GuestDelegate : GuestCall {
  std::uint64_t number = 0;
  tenon_delegate* handle = nullptr;
  std::string method;
  GuestBlob processed;
  GuestAllocator runtime_memory;
  std::unique_ptr<GuestDataMap> data;
  std::shared_ptr<GuestDelegate> parent;  ///< Of a session.

  /// The delegate whose `init` gave data and prepared bytes.
  [[nodiscard]] const GuestDelegate& owner() const noexcept {
    return parent ? parent->owner() : *this;
  }

  struct Kept {
    virtual ~Kept() = default;
  };
  std::unique_ptr<Kept> sink;  ///< Of intermediates, when the application wants some.
};

/// The context of an `init`, which knows the lane that it asks in.
struct GuestInitContext : tenon_init_context {
  WorkerLane* lane = nullptr;
  Lanes* lanes = nullptr;
  const GuestHost* guest_host = nullptr;
  GuestDelegate* delegate = nullptr;
};

/// All that a context of `init` or `create_session` points to.
struct GuestInit {
  GuestInitContext context{};
  std::shared_ptr<GuestDelegate> delegate = std::make_shared<GuestDelegate>();
  std::vector<tenon_compile_spec> compile_specs;
  std::vector<tenon_option> runtime_specs;
  std::list<std::string> texts;
  tenon_scheduling scheduling{};

  /// Reads the options that the application wrote.
  void take_options(Reader& from) {
    const std::size_t count = from.get_count(sizeof(std::uint64_t));
    for (std::size_t i = 0; i < count; ++i) runtime_specs.push_back(take_option(from, texts));
  }

  /// Reads the context of a session, as the application wrote it, behind the number of the state.
  [[nodiscard]] tenon_session_context take_session(Reader& from, tenon_delegate* state,
                                                   GuestAllocator& memory) {
    const bool has_hints = from.get<std::uint8_t>() != 0;
    scheduling = from.get<tenon_scheduling>();
    scheduling.struct_size = sizeof(tenon_scheduling);
    take_options(from);
    return {sizeof(tenon_session_context),
            static_cast<std::uint32_t>(runtime_specs.size()),
            runtime_specs.empty() ? nullptr : runtime_specs.data(),
            has_hints ? &scheduling : nullptr,
            &memory,
            state};
  }
};

namespace detail {

inline const std::uint32_t* cancel_flag(const tenon_execution_context* context) noexcept {
  return context ? static_cast<const GuestCall::Context*>(context)->flag : nullptr;
}
inline const tenon_thread_pool* pool_of(const tenon_execution_context* context) noexcept {
  return context ? static_cast<const GuestCall::Context*>(context)->pool : nullptr;
}
inline tenon_changes* changes_of(const tenon_execution_context* context) noexcept {
  return context ? static_cast<const GuestCall::Context*>(context)->changes : nullptr;
}
inline const tenon_thread_pool* pool_of_init(const tenon_init_context* context) noexcept {
  return context ? static_cast<const GuestInitContext*>(context)->delegate->pool.get() : nullptr;
}
inline tenon_status open_prepared(const tenon_init_context* context, const void* identity,
                                  std::uint64_t size, tenon_prepared** out) noexcept {
  if (!context || !out || (size != 0 && !identity)) return TENON_STATUS_INVALID_ARGUMENT;
  try {
    const auto& init = *static_cast<const GuestInitContext*>(context);
    if (init.delegate->processed.is_released()) return TENON_STATUS_INVALID_STATE;
    // The application knows this plugin by the isolated one's file, which has only its hash.
    const auto digest = init.guest_host->digest();
    if (!digest.ok()) return to_status(digest.error());
    std::string whole(reinterpret_cast<const char*>(digest->bytes.data()), digest->bytes.size());
    whole.append(static_cast<const char*>(identity), static_cast<std::size_t>(size));
    return GuestPrepared::open(*init.lanes, init.delegate->number, whole, out);
  } catch (const std::exception&) {
    return TENON_STATUS_MEMORY_ALLOCATION_FAILED;
  }
}

inline constexpr tenon_cancel_flag_v1 cancel_flag_table = {sizeof(tenon_cancel_flag_v1), 0,
                                                           &cancel_flag};
inline constexpr tenon_changes_v1 changes_table = {sizeof(tenon_changes_v1), 0, &changes_of};
inline constexpr tenon_prepare_v1 prepare_table = {sizeof(tenon_prepare_v1), 0, &open_prepared};
inline constexpr tenon_threads_v1 threads_table = {sizeof(tenon_threads_v1), 0, &pool_of,
                                                   &pool_of_init};

}  // namespace detail

inline const void* GuestHost::find_extension(const tenon_host* self, const char* id) noexcept {
  const std::string_view asked = id ? id : "";
  const std::uint32_t has = of(self).extensions_;
  if (asked == TENON_EXTENSION_CANCEL_FLAG && (has & host_has_cancel_flag) != 0) {
    return &detail::cancel_flag_table;
  }
  if (asked == TENON_EXTENSION_PREPARE && (has & host_has_prepare) != 0) {
    return &detail::prepare_table;
  }
  if (asked == TENON_EXTENSION_THREADS && (has & host_has_threads) != 0) {
    return &detail::threads_table;
  }
  if (asked == TENON_EXTENSION_CHANGES && (has & host_has_changes) != 0) {
    return &detail::changes_table;
  }
  // Any address: the id has no table.
  if (asked == library_policy_id && (has & host_has_policy) != 0) return self;
  return nullptr;
}

}  // namespace tenon::isolated
