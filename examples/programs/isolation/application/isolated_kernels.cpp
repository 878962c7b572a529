// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <utility>

#include "boundary/protocol.hpp"
#include "isolated_backend.hpp"

/// The kernels of an isolated backend.
namespace tenon::isolated {

tenon_status IsolatedBackend::list_operators(tenon_operator_sink sink, void* context) {
  auto loan = borrow();
  if (!loan.ok()) return fail(std::move(loan).status());
  loan->lane().out().clear();
  auto result = loan->worker().call(loan->lane(), Call::list_operators, apart("list_operators"));
  const tenon_status status = pass_on(result);
  if (status != TENON_STATUS_OK) return status;
  while (result->body.get<std::uint8_t>() != 0) {
    const std::string op(result->body.get_text());
    if (result->body.ok()) sink(context, op.c_str());
  }
  if (result->body.ok()) return status;
  return fail(error(Error::Internal, "the worker's answer to list_operators cannot be read"));
}

Result<CallResult> IsolatedBackend::make_kernel(IsolatedKernel& kernel, LaneLoan& loan) {
  Writer& to = loan.lane().out();
  to.clear();
  to.put(kernel.number);
  to.put_text(kernel.op);
  const std::size_t at = to.size();
  to.put<std::uint64_t>(0);
  TENON_RETURN_IF_ERROR(kernel.arguments.write(kernel.args, memories_, to));
  TENON_RETURN_IF_ERROR(bring(kernel.arguments.used(), loan.shared_worker()));
  TENON_TRY(const int descriptor, kernel.arena.grow(kernel.arguments.size()));
  // Of a worker that has died the arena is there.
  const int file = kernel.arena.file();
  const bool is_sent = descriptor >= 0 || file >= 0;
  if (is_sent) to.put_at<std::uint64_t>(at, kernel.arena.size());
  kernel.arguments.copy_in(kernel.arena, true);
  return loan.worker().call(
      loan.lane(), Call::create_kernel,
      {.function = "create_kernel", .op = kernel.op, .deadline_ms = kernel.deadline_ms},
      {&file, is_sent ? std::size_t{1} : std::size_t{0}});
}

tenon_status IsolatedBackend::create_kernel(const char* op, tenon_value* const* args,
                                            std::uint32_t num_args, tenon_kernel** out) {
  auto kernel = std::make_unique<IsolatedKernel>();
  kernel->backend = this;
  kernel->number = next_number_++;
  kernel->op = op ? op : "";
  kernel->args.assign(args, args + num_args);
  {
    const std::lock_guard lock(mutex_);
    kernel->deadline_ms = static_cast<std::uint64_t>(settings_.deadline_ms);
    kernel->restarts = settings_.restart;
  }
  auto loan = borrow();
  if (!loan.ok()) return fail(std::move(loan).status());
  kernel->worker = loan->shared_worker();
  const tenon_status status = pass_on(make_kernel(*kernel, *loan));
  if (status == TENON_STATUS_OK) *out = reinterpret_cast<tenon_kernel*>(kernel.release());
  return status;
}

Status IsolatedBackend::revive(IsolatedKernel& kernel) {
  if (kernel.restarts == 0) return kernel.worker->dead_status();
  --kernel.restarts;
  TENON_TRY(LaneLoan loan, borrow());
  TENON_TRY(const CallResult result, make_kernel(kernel, loan));
  if (result.status != TENON_STATUS_OK) {
    return Status(static_cast<Error>(result.status),
                  concat("create_kernel in a new worker: ", result.text));
  }
  kernel.worker = loan.shared_worker();
  return ok();
}

tenon_status IsolatedBackend::run_kernel(IsolatedKernel& kernel,
                                         const tenon_execution_context* context) {
  if (kernel.worker->is_dead()) [[unlikely]] {
    const Status revived = revive(kernel);
    if (!revived.ok()) return fail(revived);
  }
  CallInfo info{.function = "run_kernel",
                .op = kernel.op,
                .number = ++kernel.num_calls,
                .deadline_ms = kernel.deadline_ms,
                .arguments = &kernel.arguments};
  auto taken = kernel.worker->take_lane(info);
  if (!taken.ok()) return fail(std::move(taken).status());
  const LaneLoan loan(kernel.worker, *taken);
  Writer& to = loan.lane().out();
  to.clear();
  to.put(kernel.number);
  write_call(*context, info, to);
  const std::size_t at = to.size();
  to.put<std::uint64_t>(0);
  const Status written = kernel.arguments.write(kernel.args, memories_, to);
  if (!written.ok()) return fail(written);
  const Status brought = bring(kernel.arguments.used(), kernel.worker);
  if (!brought.ok()) return fail(brought);
  auto grown = kernel.arena.grow(kernel.arguments.size());
  if (!grown.ok()) return fail(std::move(grown).status());
  const int descriptor = *grown;
  const bool is_new = descriptor >= 0;
  if (is_new) to.put_at<std::uint64_t>(at, kernel.arena.size());
  kernel.arguments.copy_in(kernel.arena, is_new);
  auto result =
      kernel.worker->call(loan.lane(), Call::run_kernel, info, {&descriptor, is_new ? 1u : 0u});
  const tenon_status status = pass_on(result);
  if (status != TENON_STATUS_OK) [[unlikely]]
    return status;
  return fail(kernel.arguments.copy_out(host_, kernel.arena, result->body));
}

void IsolatedBackend::destroy_kernel(IsolatedKernel* kernel) {
  if (!kernel) return;
  const std::unique_ptr<IsolatedKernel> owner(kernel);
  if (kernel->worker->is_dead()) return;
  const CallInfo info{
      .function = "destroy_kernel", .op = kernel->op, .deadline_ms = kernel->deadline_ms};
  auto taken = kernel->worker->take_lane(info);
  if (!taken.ok()) return;
  const LaneLoan loan(kernel->worker, *taken);
  loan.lane().out().clear();
  loan.lane().out().put(kernel->number);
  const auto result = kernel->worker->call(loan.lane(), Call::destroy_kernel, info);
  if (!result.ok()) host_->log(host_, TENON_LOG_ERROR, result.text().data(), result.text().size());
}

}  // namespace tenon::isolated
