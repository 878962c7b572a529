// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/c/tenon_host.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/application/scheduling.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/c/impl/executor.hpp"
#include "tenon/host/c/impl/outcome.hpp"
#include "tenon/host/c/impl/program.hpp"
#include "tenon/host/c/impl/registry.hpp"
#include "tenon/host/c/impl/written_inputs.hpp"
#include "tenon/host/layers/async/async.hpp"
#include "tenon/host/layers/budget/budget.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/cancel/cancel.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/scheduling/scheduling_hints.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

struct ManagedDeleter {
  void operator()(tenon_dl_managed_tensor* tensor) const noexcept {
    if (tensor->deleter) tensor->deleter(tensor);
  }
};
using ManagedTensor = std::unique_ptr<tenon_dl_managed_tensor, ManagedDeleter>;

/// An input that the method keeps.
struct KeptInput {
  std::shared_ptr<const void> owner;  // Of the bytes; null for an input that is the caller's.
  std::span<const std::byte> bytes;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail

struct tenon_session {
  tenon_method* method;
  std::shared_ptr<tenon::host::Session> session;
  tenon_session* next = nullptr;  // In `tenon_method::ended`.
};

/// Counted by its handle, its sessions, exported outputs, and runs that are pending. Only the
/// handle can start a run, so that the inputs end with the handle: an exported output that is an
/// input of this method, or of a method that this one feeds, is no cycle.
struct tenon_method {
  std::shared_ptr<tenon::host::BackendRegistry> registry;
  std::string variant;
  std::vector<tenon::host::detail::KeptInput> kept;  // By input.
  std::vector<bool> written;                         // By input.
  std::unique_ptr<tenon::host::Method> method;
  std::shared_ptr<tenon::host::Session> session;  // The one in use.
  std::atomic<tenon_session*> ended = nullptr;    // Sessions whose handles were destroyed.
  std::atomic<std::uint32_t> num_holders{1};
  std::atomic<bool> is_running = false;  // From `execute_async` until its completion is called.

  tenon_method() = default;
  tenon_method(const tenon_method&) = delete;
  tenon_method& operator=(const tenon_method&) = delete;
  ~tenon_method() {
    free_sessions();
    // Then the members, from the end: the session before its method, what runs use after it.
  }

  void hold() noexcept { num_holders.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (num_holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// Takes over a handle. Destroying its session would use the method, which another thread may
  /// run at the time: that is left to `free_sessions`.
  void end(tenon_session* one) noexcept {
    one->next = ended.load(std::memory_order_relaxed);
    while (!ended.compare_exchange_weak(one->next, one, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }
  /// Called by the thread that has the method, while no run is pending.
  void free_sessions() noexcept {
    if (!ended.load(std::memory_order_relaxed)) return;
    tenon_session* one = ended.exchange(nullptr, std::memory_order_acquire);
    while (one) delete std::exchange(one, one->next);
  }
};

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Keeps a method for the duration of a call.
class HeldMethod {
 public:
  explicit HeldMethod(tenon_method& method) noexcept : method_(method) { method_.hold(); }
  HeldMethod(const HeldMethod&) = delete;
  HeldMethod& operator=(const HeldMethod&) = delete;
  ~HeldMethod() { method_.release(); }

 private:
  tenon_method& method_;
};

[[nodiscard]] inline Status run_is_pending(std::string_view function) {
  return error(Error::InvalidState, function,
               ": a run is pending; it has ended when its completion is called");
}

[[nodiscard]] inline Status read_backend_options(std::string_view function,
                                                 const tenon_backend_options* all,
                                                 std::uint32_t count,
                                                 std::vector<BackendOption>& to) {
  const auto read = [&](const tenon_backend_options& backend) -> Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("backend_id", backend.backend_id)));
    const auto read_one = [&](const tenon_option& option) -> Status {
      TENON_RETURN_IF_ERROR(expect_given(function, given("key", option.key)));
      TENON_TRY(auto value, read_option(option));
      to.push_back({backend.backend_id, option.key, std::move(value)});
      return ok();
    };
    return read_structs(concat(function, ": options"), backend.options, backend.num_options,
                        read_one);
  };
  return read_structs(concat(function, ": backend_options"), all, count, read);
}

[[nodiscard]] inline Status read_budget(std::string_view function, const tenon_method_options& from,
                                        MethodOptions& to) {
  std::vector<DeviceBytes> limits;
  const auto read = [&](const tenon_device_bytes& bytes) -> Status {
    TENON_RETURN_IF_ERROR(expect_unset(function, bytes.reserved));
    limits.push_back({bytes.device, bytes.nbytes});
    return ok();
  };
  TENON_RETURN_IF_ERROR(
      read_structs(concat(function, ": budget"), from.budget, from.num_budget, read));
  if (!limits.empty()) to.layers.add(Budget(std::move(limits)));
  return ok();
}

/// Null: no hints.
[[nodiscard]] inline Result<Scheduling> read_scheduling(std::string_view function,
                                                        const tenon_scheduling* from) {
  tenon_scheduling known{};
  known.struct_size = sizeof known;
  if (from) {
    TENON_RETURN_IF_ERROR(read_struct(concat(function, ": scheduling"), *from, known));
  }
  return tenon::detail::to_scheduling(&known);
}

[[nodiscard]] inline Result<MethodOptions> read_options(std::string_view function,
                                                        const tenon_method_options& from) {
  MethodOptions to;
  TENON_RETURN_IF_ERROR(expect_flags(function, from.flags, TENON_METHOD_CANCELLABLE));
  if ((from.flags & TENON_METHOD_CANCELLABLE) != 0) to.layers.add(Cancellation());
  if (from.registry) to.registry = from.registry->registry.get();
  if (from.executor) to.layers.add(Async(from.executor->executor->executor()));
  TENON_RETURN_IF_ERROR(read_backend_options(function, from.backend_options,
                                             from.num_backend_options, to.backend_options));
  TENON_RETURN_IF_ERROR(read_budget(function, from, to));
  TENON_RETURN_IF_ERROR(read_limits(function, from.limits, from.num_limits, to.limits));
  TENON_TRY(const auto files,
            read_texts(function, "data_files", from.data_files, from.num_data_files));
  std::vector<std::shared_ptr<const DataFile>> data;
  for (const std::string_view file : files) {
    TENON_TRY(auto opened, DataFile::open(path_of(file), to.limits));
    data.push_back(std::move(opened));
  }
  if (!data.empty()) to.layers.add(DataFiles(std::move(data)));
  // A registry has one without a name, and the limit in time.
  if (from.variant || !from.registry) {
    to.layers.add(Variant(from.variant ? from.variant : ""));
  }
  if (!from.registry) to.layers.add(TimeLimit());
  if (from.embedded_code) {
    TENON_TRY(auto policy, EmbeddedCodePolicy::parse(from.embedded_code));
    to.layers.add(std::move(policy));
  }
  if (from.scheduling) {
    TENON_TRY(const auto hints, read_scheduling(function, from.scheduling));
    to.layers.add(SchedulingHints(hints));
  }
  return to;
}

/// InvalidArgument for a session that another method made. Null passes.
[[nodiscard]] inline Status expect_own(std::string_view function, const tenon_session* session,
                                       const tenon_method* method) {
  if (!session || session->method == method) return ok();
  return error(Error::InvalidArgument, function,
               ": expected a session that the method created, found one of another");
}

[[nodiscard]] inline Result<SessionOptions> read_options(std::string_view function,
                                                         const tenon_session_options& from,
                                                         const tenon_method* method) {
  SessionOptions to;
  TENON_RETURN_IF_ERROR(expect_flags(function, from.flags, TENON_SESSION_COPY_OWN_STATE));
  TENON_RETURN_IF_ERROR(expect_unset(function, from.reserved));
  to.copies_own_state = (from.flags & TENON_SESSION_COPY_OWN_STATE) != 0;
  TENON_RETURN_IF_ERROR(read_backend_options(function, from.backend_options,
                                             from.num_backend_options, to.backend_options));
  if (from.scheduling) {
    TENON_TRY(to.scheduling, read_scheduling(function, from.scheduling));
  }
  TENON_RETURN_IF_ERROR(expect_own(function, from.state, method));
  if (from.state) to.state = from.state->session.get();
  return to;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail

tenon_status TENON_CALL tenon_method_load(const tenon_program* program, const char* name,
                                          const tenon_method_options* options, tenon_method** out,
                                          tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_load";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(
        expect_given(function, given("program", program), given("name", name), given("out", out)));
    tenon_method_options from{};
    if (options) TENON_RETURN_IF_ERROR(read_struct(function, *options, from));
    TENON_TRY(auto to, read_options(function, from));
    auto method = std::make_unique<tenon_method>();
    if (from.registry) method->registry = from.registry->registry;
    TENON_TRY(method->method, tenon::host::Method::load(program->program, name, std::move(to)));
    method->variant = method->method->variant();
    method->kept.resize(method->method->num_inputs());
    TENON_TRY(method->written, find_written_inputs(*method->method));
    *out = method.release();
    return tenon::ok();
  });
}

void TENON_CALL tenon_method_destroy(tenon_method* method) {
  if (!method) return;
  tenon::host::detail::wait_for_runs(*method->method);
  // Freed after the delegates, where nothing else holds the method: their work may still read them.
  const auto inputs = std::move(method->kept);
  method->release();
}

uint64_t TENON_CALL tenon_method_num_inputs(const tenon_method* method) {
  return method ? method->method->num_inputs() : 0;
}

uint64_t TENON_CALL tenon_method_num_outputs(const tenon_method* method) {
  return method ? method->method->num_outputs() : 0;
}

const char* TENON_CALL tenon_method_variant(const tenon_method* method) {
  return method ? method->variant.c_str() : "";
}

uint32_t TENON_CALL tenon_method_writes_input(const tenon_method* method, uint64_t index) {
  if (!method || index >= method->written.size()) return 0;
  return method->written[static_cast<std::size_t>(index)] ? 1 : 0;
}

tenon_status TENON_CALL tenon_method_execute(tenon_method* method, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [method]() -> tenon::Status {
    if (!method) [[unlikely]]
      return expect_given("tenon_method_execute", given("method", method));
    return method->method->execute();
  });
}

tenon_status TENON_CALL
tenon_method_execute_async(tenon_method* method,
                           void(TENON_CALL* completion)(void* data, tenon_method* method,
                                                        tenon_status status, tenon_error* error),
                           void* data, tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_execute_async";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(
        expect_given(function, given("method", method), given("completion", completion)));
    if (method->is_running.exchange(true)) return run_is_pending(function);
    // The completion may destroy the method while this call returns from the executor.
    const HeldMethod held(*method);
    method->hold();
    tenon::Status started = method->method->execute_async([=](tenon::Status outcome) {
      // This function is part of the method: the next run, or the end of the method, replaces it.
      tenon_method* const self = method;
      tenon_error* failure = nullptr;
      const tenon_status status =
          outcome.ok() ? tenon_status{TENON_STATUS_OK} : report(outcome, &failure);
      self->is_running = false;
      completion(data, self, status, failure);
      self->release();
    });
    if (started.ok()) return started;
    method->is_running = false;
    method->release();
    return started;
  });
}

tenon_status TENON_CALL tenon_method_cancel(tenon_method* method, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given("tenon_method_cancel", given("method", method)));
    return method->method->cancel();
  });
}

tenon_status TENON_CALL tenon_method_get_memory(const tenon_method* method,
                                                tenon_method_memory* out, tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_get_memory";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method)));
    TENON_RETURN_IF_ERROR(expect_writable(function, out));
    TENON_TRY(const auto from, method->method->memory_info());
    tenon_method_memory to{};
    to.num_delegates = static_cast<std::uint32_t>(from.delegates.size());
    to.host = from.host_bytes();
    for (const auto& planned : from.planned) {
      auto& sum = tenon::host::is_cpu(planned.device) ? to.planned_host : to.planned_device;
      sum = add_saturating(sum, planned.nbytes);
    }
    to.tables = from.tables;
    to.temp = from.temp;
    write_struct(*out, to);
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_method_get_delegate_memory(const tenon_method* method, uint64_t index,
                                                         tenon_delegate_memory* out,
                                                         tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_get_delegate_memory";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method)));
    TENON_RETURN_IF_ERROR(expect_writable(function, out));
    TENON_TRY(const auto all, method->method->memory_info());
    if (index >= all.delegates.size()) {
      return tenon::error(tenon::Error::InvalidArgument, function, ": expected an index below ",
                          all.delegates.size(), ", found ", index);
    }
    const auto& from = all.delegates[static_cast<std::size_t>(index)];
    tenon_delegate_memory full{0, from.is_reported ? 1u : 0u, from.lent, 0, 0, 0, 0};
    for (const auto& each : from.held) {
      const bool on_host = tenon::host::is_cpu(each.device);
      std::uint64_t& weights = on_host ? full.host_weights : full.device_weights;
      std::uint64_t& scratch = on_host ? full.host_scratch : full.device_scratch;
      weights = add_saturating(weights, each.weights);
      scratch = add_saturating(scratch, add_saturating(each.workspace, each.session));
    }
    write_struct(*out, full);
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_method_set_stream(tenon_method* method, const char* backend_id,
                                                const char* kind, void* stream,
                                                tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given("tenon_method_set_stream", given("method", method),
                                       given("backend_id", backend_id)));
    return method->method->set_stream(backend_id, {kind, stream});
  });
}

tenon_status TENON_CALL tenon_method_set_scheduling(tenon_method* method,
                                                    const tenon_scheduling* scheduling,
                                                    tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_set_scheduling";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method)));
    TENON_TRY(const auto hints, read_scheduling(function, scheduling));
    return method->method->set_scheduling(hints);
  });
}

tenon_status TENON_CALL tenon_method_create_session(tenon_method* method,
                                                    const tenon_session_options* options,
                                                    tenon_session** out, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    constexpr std::string_view function = "tenon_method_create_session";
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method), given("out", out)));
    tenon_session_options from{};
    if (options) TENON_RETURN_IF_ERROR(read_struct(function, *options, from));
    TENON_TRY(const auto to, read_options(function, from, method));
    if (method->is_running) return run_is_pending(function);
    method->free_sessions();
    TENON_TRY(std::shared_ptr<tenon::host::Session> session, method->method->create_session(to));
    *out = new tenon_session{method, std::move(session)};
    method->hold();
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_method_use_session(tenon_method* method, tenon_session* session,
                                                 tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_method_use_session";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("method", method)));
    TENON_RETURN_IF_ERROR(expect_own(function, session, method));
    if (method->is_running) return run_is_pending(function);
    method->method->use_session(session ? session->session.get() : nullptr);
    method->session = session ? session->session : nullptr;
    method->free_sessions();
    return tenon::ok();
  });
}

void TENON_CALL tenon_session_destroy(tenon_session* session) {
  if (!session) return;
  tenon_method* const method = session->method;
  method->end(session);
  method->release();
}
