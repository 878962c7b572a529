// SPDX-License-Identifier: MIT
#include "kit/boundary/watched_backend.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

tenon_status permit_code(const tenon_init_context* shown, const void* code, std::uint64_t size) {
  const OutsidePlugin outside;
  const tenon_init_context& original =
      detail::GuardedStruct<tenon_init_context, tenon_init_context>::owner_of(shown);
  const tenon_status status = original.permit_code(&original, code, size);
  // The host has kept its reason, which counts as the plugin's own (TN-COD-3).
  if (status != TENON_STATUS_OK) said_error() = {true, status, "the application refused the code"};
  return status;
}

}  // namespace

const tenon_execution_context* WatchedBackend::execution_context_for(
    WatchedDelegate& delegate, const tenon_execution_context& original) {
  if (!delegate.temp_allocator) {
    delegate.original_context = &original;
    delegate.temp_allocator = std::make_unique<detail::GuardedAllocator>(
        original.temp_allocator, Service::temp_memory, faults_);
    tenon_execution_context shown = original;
    shown.host = host_->get();
    shown.temp_allocator = delegate.temp_allocator->table();
    if (!shape.tracer) shown.tracer = nullptr;
    delegate.execution_context = {shown, shape.unknown_bytes, &delegate};
  }
  return delegate.execution_context.get();
}

tenon_init_context WatchedBackend::context_for(WatchedDelegate& delegate,
                                               const tenon_init_context& original) {
  tenon_init_context context = original;
  context.host = host_->get();
  context.processed = original.processed ? &delegate.processed : nullptr;
  context.runtime_allocator = delegate.runtime_allocator.table();
  context.named_data_map = delegate.named_data.table();
  if (!shape.tracer) context.tracer = nullptr;
  if (context.permit_code) context.permit_code = &permit_code;
  return context;
}

// Both run within a call of the plugin: memory that they take and pages that they close are the
// host's.
void WatchedBackend::show_context(WatchedDelegate& delegate, const tenon_init_context& context,
                                  const tenon_init_context& original) {
  const OutsidePlugin outside;
  delegate.shown_context = {context, shape.unknown_bytes,
                            const_cast<tenon_init_context*>(&original)};
}

void WatchedBackend::forbid_context(WatchedDelegate& delegate) noexcept {
  const OutsidePlugin outside;
  delegate.shown_context.forbid({"TN-INI-3", "of the context of init, which has ended"});
}

}}}  // namespace tenon::TENON_RELEASE::conformance
