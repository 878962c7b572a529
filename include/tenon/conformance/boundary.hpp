// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "tenon/abi/backend.h"
#include "tenon/abi/version.h"
#include "tenon/conformance/result.hpp"

/// The proxy between a host and a plugin that judges each call.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

class Boundary;
class Breadcrumbs;       // Calls across the boundary, for a report of a crash.
class WatchedBackend;    // The plugin's side of a boundary, for the suites of the kit.
struct WatchedDelegate;  // A delegate of the plugin, for the suites of the kit.

/// Receives findings. Called from any thread.
using OnFinding = std::function<void(Finding)>;

/// The shape of a host. The default is the shape in this header's ABI.
struct HostShape {
  std::uint16_t abi_major = TENON_ABI_MAJOR;
  std::uint16_t abi_minor = TENON_ABI_MINOR;
  /// Bytes of 0xA5 at the end of each struct that count as part of it: members of later versions.
  std::uint32_t unknown_bytes = 0;
  bool host_extensions = true;        ///< Whether `get_extension` of the host is passed on.
  bool tracer = true;                 ///< Whether a tracer is passed on.
  const char* plugin_path = nullptr;  ///< `tenon_host.plugin_path`; null for the host's.
  /// Whether blobs and named data are copied to guarded memory.
  bool guard_bytes = true;

  /// A host of a later minor version.
  [[nodiscard]] static HostShape of_the_future() noexcept {
    HostShape shape;
    shape.abi_minor = TENON_ABI_MINOR + 9;
    shape.unknown_bytes = 64;
    return shape;
  }
};

/// A call of `init` that a test may change.
struct WatchedInit {
  Boundary& boundary;
  WatchedDelegate& delegate;
  tenon_init_context context;          ///< With the host's services as the plugin is to see them.
  const tenon_init_context* original;  ///< The host's own, which answers questions about code.
  /// Calls the plugin. On success the boundary has the plugin's delegate.
  tenon_status forward();
};

/// A call of `execute` that a test may change.
struct WatchedExecute {
  Boundary& boundary;
  WatchedDelegate& delegate;
  tenon_value* const* args;
  std::uint32_t num_args;
  /// Calls the plugin with other arguments, or with these.
  tenon_status forward(tenon_value* const* other, std::uint32_t num_other);
  tenon_status forward() { return forward(args, num_args); }
};

/// Answers `resize_tensor` in place of the host, which is `original`.
using OnResize = std::function<tenon_status(const tenon_host* original, tenon_tensor* tensor,
                                            const std::int64_t* sizes, std::uint32_t rank)>;

/// A proxy between a host and one backend of a plugin, which judges every call in both directions.
///
/// A host that is given `api()` sees the backend unchanged. When a rule is violated, the finding is
/// reported and the call continues as well as it can. At most `max_boundaries` exist at a time.
/// threads: functions as the boundary allows; settings and hooks only while no call runs.
class Boundary {
 public:
  static constexpr std::size_t max_boundaries = 16;

  /// `theirs` is the plugin's own table, `crumbs` may be null; both must outlive this.
  Boundary(const tenon_backend_api& theirs, Breadcrumbs* crumbs, OnFinding on_finding);
  Boundary(const Boundary&) = delete;
  Boundary& operator=(const Boundary&) = delete;
  ~Boundary();

  /// The table for a host: constant, complete, valid as long as this. Without `open` when there are
  /// too many boundaries.
  [[nodiscard]] const tenon_backend_api& api() const noexcept;
  /// The pointer that a host gets from `open`, and the object behind it.
  [[nodiscard]] tenon_backend* handle() noexcept;
  [[nodiscard]] static Boundary& of(tenon_backend* backend) noexcept;

  /// The plugin's own table.
  [[nodiscard]] const tenon_backend_api& theirs() const noexcept;
  /// The result of the plugin's `open`; null before.
  [[nodiscard]] tenon_backend* opened() const noexcept;
  [[nodiscard]] std::uint32_t live_delegates() const noexcept;
  /// The host that the next `open`, `init` and first `execute` of a delegate show to the plugin.
  [[nodiscard]] HostShape& shape() noexcept;
  /// The parts of it that the suites of the kit use besides.
  [[nodiscard]] WatchedBackend& watched() noexcept;

  /// Whether hosts see the backend as available, whatever the plugin answers.
  bool pretend_available = false;

  /// Hooks, called in place of `call.forward()`.
  std::function<tenon_status(WatchedInit&)> on_init;
  std::function<tenon_status(WatchedExecute&)> on_execute;
  OnResize on_resize;

 private:
  friend struct WatchedInit;
  friend struct WatchedExecute;
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
