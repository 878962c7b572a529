// SPDX-License-Identifier: MIT
//
// This directory: the process of a test, with its reports to the runner, its crashes, its resources
// and guarded memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The name of `destroy` of a null delegate in reports: a crash in it breaks a rule of its own.
inline constexpr char destroy_of_null[] = "destroy of a null delegate";

/// One call across the boundary.
struct Crumb {
  std::atomic<std::uint64_t> number{0};  ///< From 1; 0 for a free entry.
  std::array<char, 40> name{};
  std::uint32_t thread = 0;    ///< From 1, in the order in which threads first called.
  std::uint32_t delegate = 0;  ///< From 1; 0 for a call without a delegate.
  std::uint32_t status = 0;    ///< Once `returned`.
  std::atomic<std::uint32_t> returned{0};
};

/// The last calls across the boundary, in memory that outlives the process that makes them: the
/// runner reads it after the end of that process. Any thread; takes no lock and allocates nothing.
class Breadcrumbs {
 public:
  /// Shared memory of its own, for the runner. Its size cannot be changed.
  [[nodiscard]] static Result<Breadcrumbs> create();
  /// The calls until now, in memory that the other process cannot reach.
  [[nodiscard]] Result<Breadcrumbs> copy() const;
  /// The shared memory behind `descriptor`, which the runner created.
  [[nodiscard]] static Result<Breadcrumbs> open(host::FileDescriptor descriptor);

  Breadcrumbs(Breadcrumbs&& other) noexcept
      : ring_(std::exchange(other.ring_, nullptr)), descriptor_(std::move(other.descriptor_)) {}
  Breadcrumbs& operator=(Breadcrumbs&&) = delete;
  ~Breadcrumbs();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

  /// Notes that `function` is about to be called. Pass the result to `leave`.
  Crumb* enter(const char* function, std::uint32_t delegate) noexcept;
  void leave(Crumb* crumb, std::uint32_t status) noexcept {
    crumb->status = status;
    crumb->returned = 1;
  }

  /// The last `most` calls, oldest first: "call 37: execute (delegate 2, thread 1) returned 0x12".
  [[nodiscard]] std::vector<std::string> last(std::size_t most) const;

  /// The calls that did not return: "execute (delegate 2, thread 1), call 37"; empty for none.
  [[nodiscard]] std::string running() const;

  /// The rule that a crash breaks now: the rule of the plugin's function that runs.
  [[nodiscard]] std::string_view rule_of_a_crash() const;

  /// The number of calls so far.
  [[nodiscard]] std::uint64_t count() const noexcept { return ring_->count; }

 private:
  static constexpr std::size_t size = 256;

  struct Ring {
    std::atomic<std::uint64_t> count;
    std::atomic<std::uint32_t> threads;
    std::array<Crumb, size> crumbs;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

  Breadcrumbs(Ring* ring, host::FileDescriptor descriptor) noexcept
      : ring_(ring), descriptor_(std::move(descriptor)) {}

  std::uint32_t thread_number() noexcept;
  [[nodiscard]] std::vector<const Crumb*> in_order() const;

  Ring* ring_;
  host::FileDescriptor descriptor_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
