// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/conformance/boundary/extensions.hpp"
#include "tenon/conformance/boundary/host_side.hpp"
#include "tenon/conformance/boundary/watch.hpp"
#include "tenon/conformance/boundary/watched_backend.hpp"
#include "tenon/core/api.hpp"

namespace tenon::conformance {

class Boundary;

/// A call of `init` that a test may change.
struct WatchedInit {
  Boundary& boundary;
  WatchedDelegate& delegate;
  tenon_init_context context;          ///< With the host's services as the plugin is to see them.
  const tenon_init_context* original;  ///< The host's own, which answers questions about code.
  /// Calls the plugin. On success `delegate.theirs` is the plugin's delegate.
  TENON_API tenon_status forward();
};

/// A call of `execute` that a test may change.
struct WatchedExecute {
  Boundary& boundary;
  WatchedDelegate& delegate;
  tenon_value* const* args;
  std::uint32_t num_args;
  /// Calls the plugin with other arguments, or with these.
  TENON_API tenon_status forward(tenon_value* const* other, std::uint32_t num_other);
  tenon_status forward() { return forward(args, num_args); }
};

/// A proxy between a host and one backend of a plugin, which judges every call in both directions.
///
/// A host that is given `api()` sees the backend unchanged. When a rule is violated, the finding is
/// reported and the call continues as well as it can. At most `max_boundaries` exist at a time.
/// threads: functions as the boundary allows; settings and hooks only while no call runs.
class Boundary : public WatchedBackend {
 public:
  static constexpr std::size_t max_boundaries = 16;

  /// `theirs` is the plugin's own table, `crumbs` may be null; both must outlive this.
  TENON_API Boundary(const tenon_backend_api& theirs, Breadcrumbs* crumbs, OnFinding on_finding);
  Boundary(const Boundary&) = delete;
  Boundary& operator=(const Boundary&) = delete;
  TENON_API ~Boundary();

  /// The table for a host: constant, complete, valid as long as this. Without `open` when there are
  /// too many boundaries.
  [[nodiscard]] const tenon_backend_api& api() const noexcept { return table_; }

  /// The object behind the pointer that a host holds.
  [[nodiscard]] static Boundary& of(tenon_backend* backend) noexcept {
    return static_cast<Boundary&>(WatchedBackend::of(backend));
  }

  /// Whether hosts see the backend as available, whatever the plugin answers.
  bool pretend_available = false;

  /// Hooks, called in place of `call.forward()`.
  std::function<tenon_status(WatchedInit&)> on_init;
  std::function<tenon_status(WatchedExecute&)> on_execute;
  detail::OnResize on_resize;

 private:
  friend struct WatchedInit;
  friend struct WatchedExecute;
  struct Calls;

  tenon_backend_api table_{};
  std::size_t slot_ = max_boundaries;
  detail::WatchedExtensions shown_extensions_;
};

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS
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
    self.host_.reset();
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

TENON_API Boundary::Boundary(const tenon_backend_api& theirs, Breadcrumbs* crumbs,
                             OnFinding on_finding)
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

TENON_API Boundary::~Boundary() {
  if (slot_ < max_boundaries) Calls::slots()[slot_] = nullptr;
}

TENON_API tenon_status WatchedInit::forward() {
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

TENON_API tenon_status WatchedExecute::forward(tenon_value* const* other, std::uint32_t num_other) {
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
#endif  // TENON_CONFORMANCE_DEFINITIONS
