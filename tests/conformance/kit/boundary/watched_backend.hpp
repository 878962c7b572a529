// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "kit/boundary/host_side.hpp"
#include "kit/boundary/watch.hpp"
#include "kit/process/faults.hpp"
#include "tenon/abi/backend.h"
#include "tenon/conformance/boundary.hpp"
#include "tenon/core/extensions.hpp"

/// The plugin's side of a `Boundary`: its tables, its delegates, and what they see of the host.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

class WatchedBackend;

/// A delegate of the plugin and what the host lent to it. A host gets a pointer to this in place of
/// the plugin's own.
struct WatchedDelegate {
  WatchedDelegate(WatchedBackend& of, std::uint32_t its_number, const tenon_init_context& context,
                  Faults& faults, bool guard_bytes)
      : backend(&of),
        number(its_number),
        runtime_allocator(context.runtime_allocator, Service::runtime_memory, faults),
        named_data(context.named_data_map, faults, guard_bytes),
        bytes(context.processed, {"TN-INI-5", "around the blob"}, guard_bytes),
        processed(bytes.buffer()) {}

  WatchedBackend* backend;
  tenon_delegate* theirs = nullptr;  ///< The plugin's own.
  std::uint32_t number;              ///< From 1, in the order of `init`.
  detail::GuardedAllocator runtime_allocator;
  detail::GuardedNamedData named_data;
  detail::GuardedBytes bytes;
  tenon_buffer processed;

  detail::GuardedStruct<tenon_init_context, tenon_init_context> shown_context;  ///< Of `init`.

  // Of the first `execute`; built once, as a host builds its own.
  const tenon_execution_context* original_context = nullptr;
  std::unique_ptr<detail::GuardedAllocator> temp_allocator;
  detail::GuardedStruct<tenon_execution_context, WatchedDelegate> execution_context;

  std::shared_ptr<void> attached;  ///< Data of `on_init`. Released after `destroy`.
};

namespace detail {

/// One table of each extension that a backend may have.
using ExtensionTables = ListTo<std::tuple, BackendExtensions>;

}  // namespace detail

/// One backend of a plugin, as the functions of `Boundary` and of its extensions use it. A host's
/// `tenon_backend*` points to it.
class WatchedBackend {
 public:
  WatchedBackend(const WatchedBackend&) = delete;
  WatchedBackend& operator=(const WatchedBackend&) = delete;

  /// The object behind the pointer that a host holds.
  [[nodiscard]] static WatchedBackend& of(tenon_backend* backend) noexcept {
    return *reinterpret_cast<WatchedBackend*>(backend);
  }
  /// The pointer that a host gets from `open`.
  [[nodiscard]] tenon_backend* handle() noexcept { return reinterpret_cast<tenon_backend*>(this); }

  [[nodiscard]] Watch& watch() noexcept { return watch_; }
  [[nodiscard]] Faults& faults() noexcept { return faults_; }
  /// The plugin's own table.
  [[nodiscard]] const tenon_backend_api& theirs() const noexcept { return theirs_; }
  /// The plugin's own table of an extension, complete. Without functions when the plugin does not
  /// offer it, or was not asked for it yet.
  template <class Table>
  [[nodiscard]] Table& extension() noexcept {
    return std::get<Table>(extensions_);
  }
  /// The result of the plugin's `open`; null before.
  [[nodiscard]] tenon_backend* opened() const noexcept { return opened_; }
  [[nodiscard]] std::uint32_t live_delegates() const noexcept { return live_; }
  /// The plugin's own pointer for a delegate that a host holds; null for null.
  [[nodiscard]] static tenon_delegate* theirs(tenon_delegate* delegate) noexcept {
    return delegate ? reinterpret_cast<WatchedDelegate*>(delegate)->theirs : nullptr;
  }

  /// The host that the next `open`, `init` and first `execute` of a delegate show to the plugin.
  HostShape shape;

  /// Runs of kernels so far (extension "tenon.kernels/1").
  std::atomic<std::uint64_t> kernel_runs = 0;

  /// Whether the plugin asked for the flag of a run (host extension "tenon.cancel_flag/1").
  std::atomic<bool> asked_cancel_flag = false;
  /// Whether the plugin asked for the threads of a run (host extension "tenon.threads/1").
  std::atomic<bool> asked_threads = false;

  /// A delegate that is about to be created, or another object that is watched like one.
  [[nodiscard]] std::unique_ptr<WatchedDelegate> new_delegate(const tenon_init_context& original) {
    return std::make_unique<WatchedDelegate>(*this, ++delegates_, original, faults_,
                                             shape.guard_bytes);
  }
  /// Gives a created one to the host, which owns it until `take_back`.
  [[nodiscard]] tenon_delegate* lend_to_host(std::unique_ptr<WatchedDelegate> delegate) noexcept {
    ++live_;
    return reinterpret_cast<tenon_delegate*>(delegate.release());
  }
  [[nodiscard]] std::unique_ptr<WatchedDelegate> take_back(tenon_delegate* delegate) noexcept {
    --live_;
    return std::unique_ptr<WatchedDelegate>(reinterpret_cast<WatchedDelegate*>(delegate));
  }

  /// The context that each run of `delegate` shows to the plugin; made from the first `original`.
  [[nodiscard]] const tenon_execution_context* execution_context_for(
      WatchedDelegate& delegate, const tenon_execution_context& original);

  /// The context that `init`, and extensions that examine a blob, show to the plugin.
  [[nodiscard]] tenon_init_context context_for(WatchedDelegate& delegate,
                                               const tenon_init_context& original);
  /// Calls `call` with a guarded copy of `context`; `original` answers what the plugin asks about
  /// code. Afterwards any access to the copy faults (TN-INI-3), as long as `delegate` lives.
  template <class Call>
  tenon_status with_context(WatchedDelegate& delegate, const tenon_init_context& context,
                            const tenon_init_context& original, const Call& call) {
    show_context(delegate, context, original);
    const tenon_status status = call(delegate.shown_context.get());
    forbid_context(delegate);
    return status;
  }

 protected:
  /// `theirs` and `crumbs`, which may be null, must outlive this.
  WatchedBackend(const tenon_backend_api& theirs, Breadcrumbs* crumbs, OnFinding on_finding)
      : theirs_(theirs), watch_(crumbs, std::move(on_finding)) {}
  ~WatchedBackend() = default;

  tenon_backend_api theirs_;
  Watch watch_;
  Faults faults_;
  std::unique_ptr<detail::GuardedHost> host_;
  std::unique_ptr<detail::GuardedHost> closed_host_;  ///< Of the last `close`; it is forbidden.
  tenon_backend* opened_ = nullptr;

 private:
  void show_context(WatchedDelegate& delegate, const tenon_init_context& context,
                    const tenon_init_context& original);
  static void forbid_context(WatchedDelegate& delegate) noexcept;

  std::atomic<std::uint32_t> delegates_ = 0;
  std::atomic<std::uint32_t> live_ = 0;
  detail::ExtensionTables extensions_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
