// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/conformance/boundary/boundary.hpp"

#include <memory>
#include <vector>

#include "tenon/conformance/process/crash_reporter.hpp"
#include "tenon/conformance/process/guarded_memory.hpp"

namespace tenon::conformance {

/// The functions of the table that a host gets.
struct Boundary::Calls {
  // `open` has no argument that says which boundary it is for: each has a function of its own.
  using Open = tenon_status (*)(const tenon_host*, tenon_backend**);
  static std::array<std::atomic<Boundary*>, max_boundaries>& slots() noexcept {
    static std::array<std::atomic<Boundary*>, max_boundaries> all;
    return all;
  }
  template <std::size_t Slot>
  static tenon_status open(const tenon_host* host, tenon_backend** out) {
    return open_boundary(*slots()[Slot].load(), host, out);
  }
  template <std::size_t... Slots>
  static constexpr std::array<Open, max_boundaries> make_opens(std::index_sequence<Slots...>) {
    return {&open<Slots>...};
  }

  static tenon_status open_boundary(Boundary& self, const tenon_host* host, tenon_backend** out) {
    self.host_ =
        std::make_unique<detail::GuardedHost>(host, self.shape, self.faults_, self.on_resize);
    self.opened_ = nullptr;
    const tenon_status status = self.watch_.status_of(
        "open", 0, [&] { return self.theirs_.open(self.host_->get(), &self.opened_); });
    if (status != TENON_STATUS_OK) return status;
    ++open_backends();
    *out = self.handle();
    return status;
  }

  static void close(tenon_backend* backend) {
    Boundary& self = of(backend);
    self.watch_.nothing_of("close", 0, [&] { self.theirs_.close(self.opened_); });
    --open_backends();
    self.opened_ = nullptr;
    // Its memory is kept, so that a plugin that still uses this host is found out.
    self.closed_host_ = std::move(self.host_);
    self.closed_host_->forbid({"TN-BCK-9", "of a host that has closed the backend"});
  }

  static tenon_status is_available(tenon_backend* backend) {
    Boundary& self = of(backend);
    const tenon_status status = self.watch_.status_of(
        "is_available", 0, [&] { return self.theirs_.is_available(self.opened_); });
    return self.pretend_available ? tenon_status{TENON_STATUS_OK} : status;
  }

  static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                           tenon_delegate** out) {
    Boundary& self = of(backend);
    auto delegate = self.new_delegate(*context);
    WatchedInit call{self, *delegate, self.context_for(*delegate, *context), context};
    const tenon_status status = self.on_init ? self.on_init(call) : call.forward();
    if (status != TENON_STATUS_OK) return status;
    *out = self.lend_to_host(std::move(delegate));
    return TENON_STATUS_OK;
  }

  static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                              const tenon_execution_context* context, tenon_value* const* args,
                              std::uint32_t num_args) {
    Boundary& self = of(backend);
    auto& watched = *reinterpret_cast<WatchedDelegate*>(delegate);
    static_cast<void>(self.execution_context_for(watched, *context));
    WatchedExecute call{self, watched, args, num_args};
    return self.on_execute ? self.on_execute(call) : call.forward();
  }

  static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
    Boundary& self = of(backend);
    const auto watched = self.take_back(delegate);
    self.watch_.nothing_of(watched->theirs ? "destroy" : destroy_of_null, watched->number,
                           [&] { self.theirs_.destroy(self.opened_, watched->theirs); });
  }

  static const void* get_extension(tenon_backend* backend, const char* id) {
    Boundary& self = of(backend);
    const void* found = nullptr;
    self.watch_.nothing_of("get_extension", 0,
                           [&] { found = self.theirs_.get_extension(self.opened_, id); });
    return found ? self.shown_extensions_.wrap(self.extensions(), id, found) : nullptr;
  }
};

Boundary::Boundary(const tenon_backend_api& theirs, Breadcrumbs* crumbs, OnFinding on_finding)
    : WatchedBackend(theirs, crumbs, std::move(on_finding)) {
  interposition.watch_lent = true;
  static constexpr std::array<Calls::Open, max_boundaries> opens =
      Calls::make_opens(std::make_index_sequence<max_boundaries>());
  for (std::size_t slot = 0; slot < max_boundaries; ++slot) {
    Boundary* none = nullptr;
    if (!Calls::slots()[slot].compare_exchange_strong(none, this)) continue;
    slot_ = slot;
    break;
  }
  table_ = {sizeof(tenon_backend_api),
            0,
            slot_ < max_boundaries ? opens[slot_] : nullptr,
            &Calls::close,
            &Calls::is_available,
            &Calls::init,
            &Calls::execute,
            &Calls::destroy,
            &Calls::get_extension};
}

Boundary::~Boundary() {
  if (slot_ < max_boundaries) Calls::slots()[slot_] = nullptr;
}

tenon_status WatchedInit::forward() {
  // A pointer that no plugin would return: it shows whether anything was written.
  auto* const unwritten = reinterpret_cast<tenon_delegate*>(std::uintptr_t{0xBAD0BAD0});
  delegate.theirs = unwritten;
  const tenon_status status = boundary.watch_.status_of("init", delegate.number, [&] {
    return boundary.with_context(delegate, context, *original, [&](tenon_init_context* shown) {
      return boundary.theirs_.init(boundary.opened_, shown, &delegate.theirs);
    });
  });
  if (status != TENON_STATUS_OK || delegate.theirs != unwritten) return status;
  boundary.watch_.violated("TN-INI-4", "init succeeded and did not write the delegate");
  delegate.theirs = nullptr;
  return TENON_STATUS_INTERNAL;
}

tenon_status WatchedExecute::forward(tenon_value* const* other, std::uint32_t num_other) {
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

}  // namespace tenon::conformance
