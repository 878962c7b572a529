// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "kit/boundary/extensions.hpp"
#include "kit/boundary/host_side.hpp"
#include "kit/boundary/watch.hpp"
#include "kit/boundary/watched_backend.hpp"
#include "tenon/abi/backend.h"

namespace tenon::conformance {

class Boundary;

/// A call of `init` that a test may change.
struct WatchedInit {
  Boundary& boundary;
  WatchedDelegate& delegate;
  tenon_init_context context;          ///< With the host's services as the plugin is to see them.
  const tenon_init_context* original;  ///< The host's own, which answers questions about code.
  /// Calls the plugin. On success `delegate.theirs` is the plugin's delegate.
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

/// A proxy between a host and one backend of a plugin, which judges every call in both directions.
///
/// A host that is given `api()` sees the backend unchanged. When a rule is violated, the finding is
/// reported and the call continues as well as it can. At most `max_boundaries` exist at a time.
/// threads: functions as the boundary allows; settings and hooks only while no call runs.
class Boundary : public WatchedBackend {
 public:
  static constexpr std::size_t max_boundaries = 16;

  /// `theirs` is the plugin's own table, `crumbs` may be null; both must outlive this.
  Boundary(const tenon_backend_api& theirs, Breadcrumbs* crumbs, OnFinding on_finding);
  Boundary(const Boundary&) = delete;
  Boundary& operator=(const Boundary&) = delete;
  ~Boundary();

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
