// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/backend.h"
#include "tenon/conformance/boundary_extensions.hpp"
#include "tenon/conformance/faults.hpp"
#include "tenon/conformance/host_side.hpp"
#include "tenon/conformance/watch.hpp"
#include "tenon/host/backend_api.hpp"

namespace tenon::conformance {

class Boundary;

/// A delegate of the plugin and what it was lent. A host gets a pointer to this in place of the
/// plugin's own.
struct WatchedDelegate {
  WatchedDelegate(Boundary& of, std::uint32_t its_number, const tenon_init_context& context,
                  Faults& faults, bool guard_bytes)
      : boundary(&of),
        number(its_number),
        runtime_allocator(context.runtime_allocator, Service::runtime_memory, faults),
        named_data(context.named_data_map, faults, guard_bytes),
        bytes(context.processed, {"TN-INI-5", "around the blob"}, guard_bytes),
        processed(bytes.buffer()) {}

  Boundary* boundary;
  tenon_delegate* theirs = nullptr;
  std::uint32_t number;  ///< From 1, in the order of `init`.
  detail::SeenAllocator runtime_allocator;
  detail::SeenNamedData named_data;
  detail::SeenBytes bytes;
  tenon_buffer processed;

  detail::SeenStruct<tenon_init_context, tenon_init_context> seen_context;  ///< Of `init`.

  // Of the first `execute`; built once, as a host builds its own.
  std::unique_ptr<detail::SeenAllocator> temp_allocator;
  detail::SeenStruct<tenon_execution_context, WatchedDelegate> execution_context;

  std::shared_ptr<void> attached;  ///< What `on_init` keeps with it. Goes after `destroy`.
};

/// A call of `init` as a test may change it.
struct InitCall {
  Boundary& boundary;
  WatchedDelegate& delegate;
  tenon_init_context context;          ///< With the host's services as the plugin is to see them.
  const tenon_init_context* original;  ///< The host's own, which answers questions about code.
  /// Calls the plugin. On success `delegate.theirs` is what it gave.
  tenon_status forward();
};

/// A call of `execute` as a test may change it.
struct ExecuteCall {
  Boundary& boundary;
  WatchedDelegate& delegate;
  tenon_value* const* args;
  std::uint32_t num_args;
  /// Calls the plugin with other arguments, or with these.
  tenon_status forward(tenon_value* const* other, std::uint32_t num_other);
  tenon_status forward() { return forward(args, num_args); }
};

/// Stands between a host and one backend of a plugin, and looks at every call in both directions.
///
/// A host that is given `api()` sees the backend as it is, unless a rule is broken: then the
/// finding is reported and the call goes on as well as it can. At most `max_boundaries` at a time.
/// Functions may be called as the boundary allows; settings and hooks only while no call runs.
class Boundary {
 public:
  static constexpr std::size_t max_boundaries = 16;

  /// `theirs` is the plugin's own table, `crumbs` may be null; both must outlive this.
  Boundary(const tenon_backend_api& theirs, std::string_view id, Breadcrumbs* crumbs,
           OnFinding on_finding);
  Boundary(const Boundary&) = delete;
  Boundary& operator=(const Boundary&) = delete;
  ~Boundary();

  /// The table for a host: constant, complete, valid as long as this.
  [[nodiscard]] const tenon_backend_api& api() const noexcept { return table_; }

  [[nodiscard]] Watch& watch() noexcept { return watch_; }
  [[nodiscard]] Faults& faults() noexcept { return faults_; }
  [[nodiscard]] const tenon_backend_api& theirs() const noexcept { return theirs_; }
  /// What `open` of the plugin gave; null before.
  [[nodiscard]] tenon_backend* opened() const noexcept { return opened_; }
  [[nodiscard]] std::uint32_t live_delegates() const noexcept { return live_; }
  /// What a host gets from `open`.
  [[nodiscard]] tenon_backend* handle() noexcept { return reinterpret_cast<tenon_backend*>(this); }

  /// The host that the next `open`, `init` and first `execute` of a delegate show to the plugin.
  HostShape shape;

  /// Whether hosts are told that the backend is available, whatever it says itself.
  bool pretend_available = false;

  /// Runs of kernels so far (extension "tenon.kernels/1").
  std::atomic<std::uint64_t> kernel_runs = 0;

  /// What happens in place of `call.forward()`.
  std::function<tenon_status(InitCall&)> on_init;
  std::function<tenon_status(ExecuteCall&)> on_execute;
  detail::OnResize on_resize;

  /// The Boundary behind what a host holds.
  [[nodiscard]] static Boundary& of(tenon_backend* backend) noexcept {
    return *reinterpret_cast<Boundary*>(backend);
  }
  /// The plugin's own pointer behind what a host holds; null for null.
  [[nodiscard]] static tenon_delegate* theirs(tenon_delegate* delegate) noexcept {
    return delegate ? reinterpret_cast<WatchedDelegate*>(delegate)->theirs : nullptr;
  }

  [[nodiscard]] detail::WatchedExtensions& extensions() noexcept { return extensions_; }

  /// A delegate that is about to be made, and, once it was, what a host gets for it.
  [[nodiscard]] std::unique_ptr<WatchedDelegate> new_delegate(const tenon_init_context& original) {
    return std::make_unique<WatchedDelegate>(*this, ++delegates_, original, faults_,
                                             shape.guard_bytes);
  }
  [[nodiscard]] tenon_delegate* hand_over(std::unique_ptr<WatchedDelegate> delegate) noexcept {
    ++live_;
    return reinterpret_cast<tenon_delegate*>(delegate.release());
  }
  /// What a host got, back from it to be destroyed.
  [[nodiscard]] std::unique_ptr<WatchedDelegate> take_back(tenon_delegate* delegate) noexcept {
    --live_;
    return std::unique_ptr<WatchedDelegate>(reinterpret_cast<WatchedDelegate*>(delegate));
  }

  /// What each run of `delegate` shows to the plugin; made of the first one's `original`.
  [[nodiscard]] const tenon_execution_context* execution_context_for(
      WatchedDelegate& delegate, const tenon_execution_context& original);

  /// What `init` and extensions that look at a blob show to the plugin.
  [[nodiscard]] tenon_init_context context_for(WatchedDelegate& delegate,
                                               const tenon_init_context& original);
  /// Calls `call` with the context as it lies in memory for the plugin; `original` answers what it
  /// asks about code. Afterwards the context is gone (TN-INI-3), and stays so while `delegate`
  /// lives.
  template <class Call>
  auto with_context(WatchedDelegate& delegate, const tenon_init_context& context,
                    const tenon_init_context& original, const Call& call) {
    // What the host takes and closes for itself is none of the plugin's.
    const auto as_host = [](const auto& work) {
      const OutsidePlugin outside;
      work();
    };
    as_host([&] {
      delegate.seen_context = {context, shape.init_context_size, shape.unknown_bytes,
                               const_cast<tenon_init_context*>(&original)};
    });
    const auto result = call(delegate.seen_context.get());
    as_host([&] {
      delegate.seen_context.forbid({"TN-INI-3", "of the context of init, which is gone"});
    });
    return result;
  }

 private:
  friend struct InitCall;
  friend struct ExecuteCall;
  using Seen = detail::SeenStruct<tenon_init_context, tenon_init_context>;

  static tenon_status permit_code(const tenon_init_context* seen, const void* code,
                                  std::uint64_t size) {
    const OutsidePlugin outside;
    const tenon_init_context& original = Seen::owner_of(seen);
    const tenon_status status = original.permit_code(&original, code, size);
    // The host has kept its reason, which counts as the plugin's own (TN-COD-3).
    if (status != TENON_STATUS_OK)
      said_error() = {true, status, "the application refused the code"};
    return status;
  }

  template <std::size_t Slot>
  static tenon_status open(const tenon_host* host, tenon_backend** out);
  static void close(tenon_backend* backend);
  static tenon_status is_available(tenon_backend* backend);
  static tenon_status init(tenon_backend* backend, const tenon_init_context* context,
                           tenon_delegate** out);
  static tenon_status execute(tenon_backend* backend, tenon_delegate* delegate,
                              const tenon_execution_context* context, tenon_value* const* args,
                              std::uint32_t num_args);
  static void destroy(tenon_backend* backend, tenon_delegate* delegate);
  static const void* get_extension(tenon_backend* backend, const char* id);

  using Open = tenon_status (*)(const tenon_host*, tenon_backend**);
  template <std::size_t... Slots>
  static constexpr std::array<Open, max_boundaries> make_opens(std::index_sequence<Slots...>) {
    return {&open<Slots>...};
  }
  static std::array<std::atomic<Boundary*>, max_boundaries>& slots() noexcept {
    static std::array<std::atomic<Boundary*>, max_boundaries> all;
    return all;
  }

  tenon_backend_api theirs_;
  std::string id_;
  Watch watch_;
  Faults faults_;
  tenon_backend_api table_{};
  std::size_t slot_ = max_boundaries;
  std::unique_ptr<detail::SeenHost> host_;
  tenon_backend* opened_ = nullptr;
  std::atomic<std::uint32_t> delegates_ = 0;
  std::atomic<std::uint32_t> live_ = 0;
  detail::WatchedExtensions extensions_;
};

}  // namespace tenon::conformance
