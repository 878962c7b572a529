// SPDX-License-Identifier: MIT
#include "tenon/conformance/boundary.hpp"

#include <memory>
#include <vector>

#include "kit/boundary/extensions.hpp"
#include "kit/boundary/watched_backend.hpp"
#include "kit/process/crash_reporter.hpp"
#include "kit/process/guarded_memory.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The hidden members of a boundary: the plugin's side, and the functions of the table for a host.
struct Boundary::Parts final : WatchedBackend {
  Parts(Boundary& its_boundary, const tenon_backend_api& theirs, Breadcrumbs* crumbs,
        OnFinding on_finding);
  ~Parts();

  // `open` has no argument that says which boundary it is for: each has a function of its own.
  using Open = tenon_status (*)(const tenon_host*, tenon_backend**);
  static std::array<std::atomic<Parts*>, max_boundaries>& slots() noexcept {
    static std::array<std::atomic<Parts*>, max_boundaries> all;
    return all;
  }
  template <std::size_t Slot>
  static tenon_status open(const tenon_host* host, tenon_backend** out) {
    return open_backend(*slots()[Slot].load(), host, out);
  }
  template <std::size_t... Slots>
  static constexpr std::array<Open, max_boundaries> make_opens(std::index_sequence<Slots...>) {
    return {&open<Slots>...};
  }

  static Parts& of(tenon_backend* backend) noexcept {
    return static_cast<Parts&>(WatchedBackend::of(backend));
  }

  static tenon_status open_backend(Parts& self, const tenon_host* host, tenon_backend** out) {
    self.host_ = std::make_unique<detail::GuardedHost>(host, self.shape, self.faults_,
                                                       self.boundary.on_resize);
    self.opened_ = nullptr;
    const tenon_status status = self.watch_.status_of(
        "open", 0, [&] { return self.theirs_.open(self.host_->get(), &self.opened_); });
    if (status != TENON_STATUS_OK) return status;
    ++open_backends();
    *out = self.handle();
    return status;
  }

  static void close(tenon_backend* backend) {
    Parts& self = of(backend);
    self.watch_.nothing_of("close", 0, [&] { self.theirs_.close(self.opened_); });
    --open_backends();
    self.opened_ = nullptr;
    // Its memory is kept, so that a plugin that still uses this host is found out.
    self.closed_host_ = std::move(self.host_);
    self.closed_host_->forbid({"TN-BCK-9", "of a host that has closed the backend"});
  }

  static tenon_status is_available(tenon_backend* backend) {
    Parts& self = of(backend);
    const tenon_status status = self.watch_.status_of(
        "is_available", 0, [&] { return self.theirs_.is_available(self.opened_); });
    return self.boundary.pretend_available ? tenon_status{TENON_STATUS_OK} : status;
  }

  static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                           tenon_delegate** out) {
    Parts& self = of(backend);
    auto delegate = self.new_delegate(*context);
    WatchedInit call{self.boundary, *delegate, self.context_for(*delegate, *context), context};
    const auto& on_init = self.boundary.on_init;
    const tenon_status status = on_init ? on_init(call) : call.forward();
    if (status != TENON_STATUS_OK) return status;
    *out = self.lend_to_host(std::move(delegate));
    return TENON_STATUS_OK;
  }

  static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                              const tenon_execution_context* context, tenon_value* const* args,
                              std::uint32_t num_args) {
    Parts& self = of(backend);
    auto& watched = *reinterpret_cast<WatchedDelegate*>(delegate);
    static_cast<void>(self.execution_context_for(watched, *context));
    WatchedExecute call{self.boundary, watched, args, num_args};
    const auto& on_execute = self.boundary.on_execute;
    return on_execute ? on_execute(call) : call.forward();
  }

  static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
    Parts& self = of(backend);
    const auto watched = self.take_back(delegate);
    self.watch_.nothing_of(watched->theirs ? "destroy" : destroy_of_null, watched->number,
                           [&] { self.theirs_.destroy(self.opened_, watched->theirs); });
  }

  static const void* get_extension(tenon_backend* backend, const char* id) {
    Parts& self = of(backend);
    const void* found = nullptr;
    self.watch_.nothing_of("get_extension", 0,
                           [&] { found = self.theirs_.get_extension(self.opened_, id); });
    return found ? self.shown_extensions.wrap(self, id, found) : nullptr;
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
  tenon_backend_api table{};
  std::size_t slot = max_boundaries;
  detail::WatchedExtensions shown_extensions;
};

Boundary::Parts::Parts(Boundary& its_boundary, const tenon_backend_api& theirs, Breadcrumbs* crumbs,
                       OnFinding on_finding)
    : WatchedBackend(theirs, crumbs, std::move(on_finding)), boundary(its_boundary) {
  interposition.watch_lent = true;
  static constexpr std::array<Open, max_boundaries> opens =
      make_opens(std::make_index_sequence<max_boundaries>());
  for (std::size_t free_slot = 0; free_slot < max_boundaries; ++free_slot) {
    Parts* none = nullptr;
    if (!slots()[free_slot].compare_exchange_strong(none, this)) continue;
    slot = free_slot;
    break;
  }
  table = {sizeof(tenon_backend_api),
           0,
           slot < max_boundaries ? opens[slot] : nullptr,
           &close,
           &is_available,
           &init,
           &execute,
           &destroy,
           &get_extension};
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
