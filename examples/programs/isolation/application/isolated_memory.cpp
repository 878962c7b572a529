// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boundary/handle_kinds.hpp"
#include "boundary/protocol.hpp"
#include "isolated_backend.hpp"
#include "remote_memory.hpp"

/// Memory of an isolated backend that is not copied: blocks on devices, and external memory.
namespace tenon::isolated {
namespace {

/// The plugin's answer as a status.
Status status_of(Result<CallResult> result) {
  if (!result.ok()) return std::move(result).status();
  if (result->status == TENON_STATUS_OK) return ok();
  return Status(static_cast<Error>(result->status), std::string(result->text));
}

}  // namespace

Status IsolatedBackend::import_into(const std::shared_ptr<Worker>& worker, RemoteMemory& memory) {
  const CallInfo info = apart("import_memory");
  TENON_TRY(ApplicationLane * lane, worker->take_lane(info));
  const LaneLoan loan(worker, lane);
  tenon_external_memory what = *memory.imported();
  lane->out().clear();
  lane->out().put(memory.number());
  lane->out().put(number_of(sent_memory_kinds, what.kind));
  what.kind = nullptr;
  what.handle = nullptr;
  what.descriptor = -1;
  lane->out().put_bytes(&what, sizeof what);
  const int descriptor = memory.descriptor();
  TENON_RETURN_IF_ERROR(
      status_of(worker->call(*lane, Call::import_memory, info, {&descriptor, 1})));
  memory.add(worker);
  return ok();
}

Status IsolatedBackend::bring(const std::vector<std::shared_ptr<RemoteMemory>>& memories,
                              const std::shared_ptr<Worker>& worker) {
  for (const auto& each : memories) {
    if (each->is_in(worker)) continue;
    if (!each->imported()) {
      return error(Error::InvalidState, "a tensor is in a block of device memory of another worker",
                   each->workers().empty() ? ", which has died" : "");
    }
    TENON_RETURN_IF_ERROR(import_into(worker, *each));
  }
  return ok();
}

tenon_status IsolatedBackend::import_memory(const tenon_external_memory* memory,
                                            tenon_imported_memory** out, void** address) {
  const auto checked =
      tenon::detail::to_external_memory(memory, memory_kinds_to_send(settings_.share_memory));
  if (!checked.ok()) return fail(Status(checked.error(), std::string(checked.text())));
  const tenon_external_memory copied = tenon::detail::to_abi(*checked);
  const bool is_shared = checked->kind == MemoryKind::HostMemory;
  if (is_shared && copied.descriptor < 0) {
    return fail(
        error(Error::NotSupported, "memory of the host crosses to a worker only in a memfd"));
  }
  host::FileDescriptor descriptor(::fcntl(static_cast<int>(copied.descriptor), F_DUPFD_CLOEXEC, 0));
  if (!descriptor.valid()) {
    return fail(error(Error::InvalidArgument, "descriptor ", copied.descriptor, " is not open"));
  }
  const auto made = std::make_shared<RemoteMemory>(next_number_++, copied.device, copied.nbytes);
  made->set_import(copied, std::move(descriptor));
  auto loan = borrow();
  if (!loan.ok()) return fail(std::move(loan).status());
  const Status imported = import_into(loan->shared_worker(), *made);
  if (!imported.ok()) return fail(imported);
  const bool is_cpu = copied.device.device_type == TENON_DL_CPU;
  const Status placed = is_shared ? made->place_at(copied.handle)
                        : is_cpu  ? made->map()
                                  : made->reserve(1);
  if (!placed.ok()) {
    end_memory(*made, Call::release_memory, "release_memory");
    return fail(placed);
  }
  memories_.add(made);
  *address = made->begin();
  *out = reinterpret_cast<tenon_imported_memory*>(made->begin());
  return TENON_STATUS_OK;
}

void IsolatedBackend::end_memory(RemoteMemory& memory, Call kind, std::string_view function) {
  for (const auto& worker : memory.workers()) {
    if (worker->is_dead()) continue;
    const CallInfo info = apart(function);
    auto lane = worker->take_lane(info);
    if (!lane.ok()) continue;
    const LaneLoan loan(worker, *lane);
    (*lane)->out().clear();
    (*lane)->out().put(memory.number());
    const auto result = worker->call(**lane, kind, info);
    if (!result.ok()) {
      host_->log(host_, TENON_LOG_ERROR, result.text().data(), result.text().size());
    }
  }
}

void IsolatedBackend::release_memory(tenon_imported_memory* memory) {
  if (!memory) return;
  if (const auto found = memories_.remove(memory)) {
    end_memory(*found, Call::release_memory, "release_memory");
  }
}

tenon_status IsolatedBackend::pass_fence(IsolatedDelegate& delegate, Call kind,
                                         const tenon_external_fence* fence) {
  const auto checked = tenon::detail::to_external_fence(fence, sent_fence_kinds);
  if (!checked.ok()) return fail(Status(checked.error(), std::string(checked.text())));
  if (const Status ready = revive_if_dead(delegate); !ready.ok()) return fail(ready);
  const host::FileDescriptor descriptor(::fcntl(checked->descriptor, F_DUPFD_CLOEXEC, 0));
  if (!descriptor.valid()) {
    return fail(error(Error::InvalidArgument, "descriptor ", fence->descriptor, " is not open"));
  }
  ApplicationLane& lane = delegate.loan.lane();
  lane.out().clear();
  lane.out().put(delegate.number);
  lane.out().put(number_of(sent_fence_kinds, checked->kind));
  lane.out().put(checked->value);
  const int number = descriptor.get();
  const char* const function = kind == Call::wait_fence ? "wait_fence" : "signal_fence";
  return pass_on(
      delegate.loan.worker().call(lane, kind, info_of(delegate, function), {&number, 1}));
}

tenon_status IsolatedBackend::allocate(tenon_dl_device device, std::uint64_t nbytes,
                                       std::uint64_t alignment, void** out) {
  const auto made = std::make_shared<RemoteMemory>(next_number_++, device, nbytes);
  const Status reserved = made->reserve(std::max(alignment, std::uint64_t{1}));
  if (!reserved.ok()) return fail(reserved);
  auto loan = borrow();
  if (!loan.ok()) return fail(std::move(loan).status());
  Writer& to = loan->lane().out();
  to.clear();
  to.put(made->number());
  to.put(device);
  to.put(nbytes);
  to.put(alignment);
  const tenon_status status =
      pass_on(loan->worker().call(loan->lane(), Call::allocate, apart("allocate")));
  if (status != TENON_STATUS_OK) return status;
  made->add(loan->shared_worker());
  memories_.add(made);
  *out = made->begin();
  return status;
}

void IsolatedBackend::free_block(void* block) {
  if (!block) return;
  if (const auto found = memories_.remove(block)) end_memory(*found, Call::free_block, "free");
}

Result<std::pair<std::shared_ptr<RemoteMemory>, LaneLoan>> IsolatedBackend::find_block(
    const void* data, std::uint64_t nbytes) {
  std::shared_ptr<RemoteMemory> found = memories_.find(data, nbytes);
  if (!found || found->imported()) {
    return error(Error::InvalidArgument, "no block of device memory has the ", nbytes,
                 " bytes at the address");
  }
  for (const auto& worker : found->workers()) {
    if (worker->is_dead()) return worker->dead_status();
    TENON_TRY(ApplicationLane * lane, worker->take_lane(apart("copy")));
    return std::pair(std::move(found), LaneLoan(worker, lane));
  }
  return error(Error::InvalidState, "the worker that had the block of device memory has died");
}

/// Puts the place of `at`, `done` bytes further, which is inside of `memory`.
static void put_place(Writer& out, const RemoteMemory& memory, const void* at,
                      std::uint64_t done = 0) {
  out.put(memory.number());
  out.put(static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - memory.begin()) + done);
}

tenon_status IsolatedBackend::copy_to_device(void* to, const void* from, std::uint64_t nbytes) {
  if (nbytes == 0) return TENON_STATUS_OK;
  auto block = find_block(to, nbytes);
  if (!block.ok()) return fail(std::move(block).status());
  auto& [memory, loan] = *block;
  for (std::uint64_t done = 0; done != nbytes;) {
    const std::uint64_t now = std::min(nbytes - done, max_copy_size);
    Writer& out = loan.lane().out();
    out.clear();
    put_place(out, *memory, to, done);
    out.put_bytes(static_cast<const std::byte*>(from) + done, now);
    const tenon_status status =
        pass_on(loan.worker().call(loan.lane(), Call::copy_to_device, apart("copy_to_device")));
    if (status != TENON_STATUS_OK) return status;
    done += now;
  }
  return TENON_STATUS_OK;
}

tenon_status IsolatedBackend::copy_to_host(void* to, const void* from, std::uint64_t nbytes) {
  if (nbytes == 0) return TENON_STATUS_OK;
  auto block = find_block(from, nbytes);
  if (!block.ok()) return fail(std::move(block).status());
  auto& [memory, loan] = *block;
  for (std::uint64_t done = 0; done != nbytes;) {
    const std::uint64_t now = std::min(nbytes - done, max_copy_size);
    Writer& out = loan.lane().out();
    out.clear();
    put_place(out, *memory, from, done);
    out.put(now);
    CallInfo info = apart("copy_to_host");
    info.max_message += now;
    auto result = loan.worker().call(loan.lane(), Call::copy_to_host, info);
    const tenon_status status = pass_on(result);
    if (status != TENON_STATUS_OK) return status;
    const auto bytes = result->body.get_bytes();
    if (!result->body.is_at_end() || bytes.size() != now) {
      return fail(error(Error::Internal, "the worker's answer to copy_to_host cannot be read"));
    }
    std::memcpy(static_cast<std::byte*>(to) + done, bytes.data(), bytes.size());
    done += now;
  }
  return TENON_STATUS_OK;
}

tenon_status IsolatedBackend::copy_on(void* stream, void* to, const void* from,
                                      std::uint64_t nbytes) {
  if (stream) {
    return fail(
        error(Error::NotSupported,
              "a stream does not cross to a worker: an isolated plugin copies without one"));
  }
  if (nbytes == 0) return TENON_STATUS_OK;
  const std::shared_ptr<RemoteMemory> source = memories_.find(from, nbytes);
  auto block = find_block(to, nbytes);
  if (!block.ok()) return fail(std::move(block).status());
  auto& [memory, loan] = *block;
  if (!source || source->imported() || !source->is_in(loan.shared_worker())) {
    return fail(error(Error::InvalidArgument, "no block of device memory has the ", nbytes,
                      " bytes of the source"));
  }
  Writer& out = loan.lane().out();
  out.clear();
  put_place(out, *memory, to);
  put_place(out, *source, from);
  out.put(nbytes);
  return pass_on(loan.worker().call(loan.lane(), Call::copy_on, apart("copy_on")));
}

}  // namespace tenon::isolated
