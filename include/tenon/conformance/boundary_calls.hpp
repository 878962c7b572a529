// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/boundary.hpp"
#include "tenon/conformance/boundary_extension_calls.hpp"
#include "tenon/conformance/crash_reporter.hpp"

/// The functions of the table that `Boundary` gives to a host.
namespace tenon::conformance {

inline Boundary::Boundary(const tenon_backend_api& theirs, std::string_view id, Breadcrumbs* crumbs,
                          OnFinding on_finding)
    : theirs_(theirs), id_(id), watch_(crumbs, std::move(on_finding)) {
  static constexpr std::array<Open, max_boundaries> opens =
      make_opens(std::make_index_sequence<max_boundaries>());
  for (std::size_t slot = 0; slot < max_boundaries; ++slot) {
    Boundary* none = nullptr;
    if (!slots()[slot].compare_exchange_strong(none, this)) continue;
    slot_ = slot;
    break;
  }
  table_ = {sizeof(tenon_backend_api),
            0,
            slot_ < max_boundaries ? opens[slot_] : nullptr,
            &close,
            &is_available,
            &init,
            &execute,
            &destroy,
            &get_extension};
}

inline Boundary::~Boundary() {
  if (slot_ < max_boundaries) slots()[slot_] = nullptr;
}

template <std::size_t Slot>
tenon_status Boundary::open(const tenon_host* host, tenon_backend** out) {
  Boundary& self = *slots()[Slot].load();
  self.host_ = std::make_unique<detail::SeenHost>(host, self.shape, self.faults_, self.on_resize);
  self.opened_ = nullptr;
  const tenon_status status = self.watch_.status_of(
      "open", 0, [&] { return self.theirs_.open(self.host_->get(), &self.opened_); });
  if (status != TENON_STATUS_OK) return status;
  ++open_backends();
  *out = reinterpret_cast<tenon_backend*>(&self);
  return status;
}

inline void Boundary::close(tenon_backend* backend) {
  Boundary& self = of(backend);
  self.watch_.nothing_of("close", 0, [&] { self.theirs_.close(self.opened_); });
  --open_backends();
  self.opened_ = nullptr;
  self.host_.reset();
}

inline tenon_status Boundary::is_available(tenon_backend* backend) {
  Boundary& self = of(backend);
  const tenon_status status = self.watch_.status_of(
      "is_available", 0, [&] { return self.theirs_.is_available(self.opened_); });
  return self.pretend_available ? tenon_status{TENON_STATUS_OK} : status;
}

inline tenon_init_context Boundary::context_for(WatchedDelegate& delegate,
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

inline tenon_status InitCall::forward() {
  // What no plugin would give: it shows whether anything was written.
  auto* const unwritten = reinterpret_cast<tenon_delegate*>(std::uintptr_t{0xBAD0BAD0});
  delegate.theirs = unwritten;
  const tenon_status status = boundary.watch_.status_of("init", delegate.number, [&] {
    return boundary.with_context(delegate, context, *original, [&](tenon_init_context* seen) {
      return boundary.theirs_.init(boundary.opened_, seen, &delegate.theirs);
    });
  });
  if (status != TENON_STATUS_OK || delegate.theirs != unwritten) return status;
  boundary.watch_.broke("TN-INI-4", "init succeeded and did not write the delegate");
  delegate.theirs = nullptr;
  return TENON_STATUS_INTERNAL;
}

inline tenon_status Boundary::init(tenon_backend* backend, const tenon_init_context* context,
                                   tenon_delegate** out) {
  Boundary& self = of(backend);
  auto delegate = self.new_delegate(*context);
  InitCall call{self, *delegate, self.context_for(*delegate, *context), context};
  const tenon_status status = self.on_init ? self.on_init(call) : call.forward();
  if (status != TENON_STATUS_OK) return status;
  *out = self.hand_over(std::move(delegate));
  return TENON_STATUS_OK;
}

inline tenon_status ExecuteCall::forward(tenon_value* const* other, std::uint32_t num_other) {
  std::vector<NamedPages> constants;
  for (std::uint32_t i = 0; i < num_other; ++i) {
    if (other[i]->kind != TENON_VALUE_TENSOR) continue;
    const tenon_tensor& tensor = *other[i]->as.tensor;
    if ((tensor.flags & TENON_TENSOR_CONSTANT) == 0 || !tensor.dl.data) continue;
    constants.emplace_back(tensor.dl.data, static_cast<std::size_t>(tensor.nbytes),
                           Forbidden{"TN-TEN-1", "of a constant tensor"});
  }
  return boundary.watch_.status_of("execute", delegate.number, [&] {
    return boundary.theirs_.execute(boundary.opened_, delegate.theirs,
                                    delegate.execution_context.get(), other, num_other);
  });
}

inline const tenon_execution_context* Boundary::execution_context_for(
    WatchedDelegate& delegate, const tenon_execution_context& original) {
  if (!delegate.temp_allocator) {
    delegate.temp_allocator = std::make_unique<detail::SeenAllocator>(
        original.temp_allocator, Service::temp_memory, faults_);
    tenon_execution_context seen = original;
    seen.host = host_->get();
    seen.temp_allocator = delegate.temp_allocator->table();
    if (!shape.tracer) seen.tracer = nullptr;
    delegate.execution_context = {seen, shape.execution_context_size, shape.unknown_bytes,
                                  &delegate};
  }
  return delegate.execution_context.get();
}

inline tenon_status Boundary::execute(tenon_backend* backend, tenon_delegate* delegate,
                                      const tenon_execution_context* context,
                                      tenon_value* const* args, std::uint32_t num_args) {
  Boundary& self = of(backend);
  auto& watched = *reinterpret_cast<WatchedDelegate*>(delegate);
  static_cast<void>(self.execution_context_for(watched, *context));
  ExecuteCall call{self, watched, args, num_args};
  return self.on_execute ? self.on_execute(call) : call.forward();
}

inline void Boundary::destroy(tenon_backend* backend, tenon_delegate* delegate) {
  Boundary& self = of(backend);
  const auto watched = self.take_back(delegate);
  self.watch_.nothing_of(watched->theirs ? "destroy" : destroy_of_null, watched->number,
                         [&] { self.theirs_.destroy(self.opened_, watched->theirs); });
}

inline const void* Boundary::get_extension(tenon_backend* backend, const char* id) {
  Boundary& self = of(backend);
  const void* found = nullptr;
  self.watch_.nothing_of("get_extension", 0,
                         [&] { found = self.theirs_.get_extension(self.opened_, id); });
  return found ? self.extensions_.wrap(id, found) : nullptr;
}

}  // namespace tenon::conformance
