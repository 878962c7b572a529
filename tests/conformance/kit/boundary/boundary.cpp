// SPDX-License-Identifier: MIT
#include "tenon/conformance/boundary.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kit/boundary/extensions.hpp"
#include "kit/boundary/watched_backend.hpp"
#include "kit/process/crash_reporter.hpp"
#include "kit/process/guarded_memory.hpp"
#include "tenon/backend/wrapping_plugin.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The hidden members of a boundary: the plugin's side, and the functions of the table for a host.
struct Boundary::Parts final : WatchedBackend {
  Parts(Boundary& its_boundary, const tenon_backend_api& theirs, Breadcrumbs* crumbs,
        OnFinding on_finding);
  ~Parts();

  // `open` has no argument that says which boundary it is for: each has a table of its own.
  static std::array<std::atomic<Parts*>, max_boundaries>& slots() noexcept {
    static std::array<std::atomic<Parts*>, max_boundaries> all;
    return all;
  }
  template <std::size_t Slot>
  static tenon_status open(const tenon_host* host, tenon_backend** out) {
    return slots()[Slot].load()->open_backend(host, out);
  }

  static Parts& of(tenon_backend* backend) noexcept {
    return static_cast<Parts&>(WatchedBackend::of(backend));
  }

  tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
    host_ = std::make_unique<detail::GuardedHost>(host, shape, faults_, boundary.on_resize);
    opened_ = nullptr;
    const tenon_status status =
        watch_.status_of("open", 0, [&] { return theirs_.open(host_->get(), &opened_); });
    if (status != TENON_STATUS_OK) return status;
    ++open_backends();
    *out = handle();
    return status;
  }

  void close() {
    watch_.nothing_of("close", 0, [&] { theirs_.close(opened_); });
    --open_backends();
    opened_ = nullptr;
    // Its memory is kept, so that a plugin that still uses this host is found out.
    closed_host_ = std::move(host_);
    closed_host_->forbid({"TN-BCK-9", "of a host that has closed the backend"});
  }

  tenon_status is_available() {
    const tenon_status status =
        watch_.status_of("is_available", 0, [&] { return theirs_.is_available(opened_); });
    return boundary.pretend_available ? tenon_status{TENON_STATUS_OK} : status;
  }

  tenon_status init(const tenon_init_context* context, tenon_delegate** out) {
    auto delegate = new_delegate(*context);
    WatchedInit call{boundary, *delegate, context_for(*delegate, *context), context};
    const tenon_status status = boundary.on_init ? boundary.on_init(call) : call.forward();
    if (status != TENON_STATUS_OK) return status;
    *out = lend_to_host(std::move(delegate));
    return TENON_STATUS_OK;
  }

  tenon_status execute(tenon_delegate* delegate, const tenon_execution_context* context,
                       tenon_value* const* args, std::uint32_t num_args) {
    auto& watched = *reinterpret_cast<WatchedDelegate*>(delegate);
    static_cast<void>(execution_context_for(watched, *context));
    WatchedExecute call{boundary, watched, args, num_args};
    return boundary.on_execute ? boundary.on_execute(call) : call.forward();
  }

  void destroy(tenon_delegate* delegate) {
    const auto watched = take_back(delegate);
    watch_.nothing_of(watched->theirs ? "destroy" : destroy_of_null, watched->number,
                      [&] { theirs_.destroy(opened_, watched->theirs); });
  }

  const void* get_extension(const char* id) {
    const void* found = nullptr;
    watch_.nothing_of("get_extension", 0, [&] { found = theirs_.get_extension(opened_, id); });
    return found ? shown_extensions.wrap(*this, id, found) : nullptr;
  }

  tenon_status forward_init(WatchedInit& call) {
    // A pointer that no plugin would return: it shows whether anything was written.
    auto* const unwritten = reinterpret_cast<tenon_delegate*>(std::uintptr_t{0xBAD0BAD0});
    WatchedDelegate& delegate = call.delegate;
    delegate.theirs = unwritten;
    const tenon_status status = watch_.status_of("init", delegate.number, [&] {
      return with_context(delegate, call.context, *call.original, [&](tenon_init_context* shown) {
        return theirs_.init(opened_, shown, &delegate.theirs);
      });
    });
    if (status != TENON_STATUS_OK || delegate.theirs != unwritten) return status;
    watch_.violated("TN-INI-4", "init succeeded and did not write the delegate");
    delegate.theirs = nullptr;
    return TENON_STATUS_INTERNAL;
  }

  tenon_status forward_execute(WatchedDelegate& delegate, tenon_value* const* args,
                               std::uint32_t num_args) {
    std::vector<NamedPages> constants;
    for (std::uint32_t i = 0; i < num_args; ++i) {
      if (args[i]->kind != TENON_VALUE_TENSOR) continue;
      const tenon_tensor& tensor = *args[i]->as.tensor;
      if ((tensor.flags & TENON_TENSOR_CONSTANT) == 0 || !tensor.dl.data) continue;
      constants.emplace_back(tensor.dl.data, static_cast<std::size_t>(tensor.nbytes),
                             Forbidden{"TN-TEN-1", "of a constant tensor"});
    }
    return watch_.status_of("execute", delegate.number, [&] {
      return theirs_.execute(opened_, delegate.theirs, delegate.execution_context.get(), args,
                             num_args);
    });
  }

  Boundary& boundary;
  tenon_backend_api table = tenon::detail::wrapper_functions<Parts>;  ///< `open` in a slot.
  std::size_t slot = max_boundaries;
  detail::WatchedExtensions shown_extensions;
};

Boundary::Parts::Parts(Boundary& its_boundary, const tenon_backend_api& theirs, Breadcrumbs* crumbs,
                       OnFinding on_finding)
    : WatchedBackend(theirs, crumbs, std::move(on_finding)), boundary(its_boundary) {
  interposition.watch_lent = true;
  static constexpr auto tables = tenon::detail::wrapper_tables<Parts, max_boundaries>();
  for (std::size_t free_slot = 0; free_slot < max_boundaries; ++free_slot) {
    Parts* none = nullptr;
    if (!slots()[free_slot].compare_exchange_strong(none, this)) continue;
    slot = free_slot;
    table = *tables[slot];
    break;
  }
}

Boundary::Parts::~Parts() {
  if (slot < max_boundaries) slots()[slot] = nullptr;
}

Boundary::Boundary(const tenon_backend_api& theirs, Breadcrumbs* crumbs, OnFinding on_finding)
    : parts_(std::make_unique<Parts>(*this, theirs, crumbs, std::move(on_finding))) {}
Boundary::~Boundary() = default;

const tenon_backend_api& Boundary::api() const noexcept { return parts_->table; }
tenon_backend* Boundary::handle() noexcept { return parts_->handle(); }
Boundary& Boundary::of(tenon_backend* backend) noexcept { return Parts::of(backend).boundary; }
const tenon_backend_api& Boundary::theirs() const noexcept { return parts_->theirs(); }
tenon_backend* Boundary::opened() const noexcept { return parts_->opened(); }
std::uint32_t Boundary::live_delegates() const noexcept { return parts_->live_delegates(); }
HostShape& Boundary::shape() noexcept { return parts_->shape; }
WatchedBackend& Boundary::watched() noexcept { return *parts_; }

tenon_status WatchedInit::forward() { return boundary.parts_->forward_init(*this); }

tenon_status WatchedExecute::forward(tenon_value* const* other, std::uint32_t num_other) {
  return boundary.parts_->forward_execute(delegate, other, num_other);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
