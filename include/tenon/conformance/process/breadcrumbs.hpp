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

#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon::conformance {

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

  /// The rule that a crash breaks now: that of the function of the plugin that runs.
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

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <algorithm>
#include <cstdio>
#include <span>

#include "tenon/conformance/platform/system.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/host/files/read_at.hpp"

namespace tenon::conformance {

namespace detail {

inline std::string describe_call(const Crumb& crumb) {
  std::string out = concat(crumb.name.data(), " (");
  if (crumb.delegate != 0) out += concat("delegate ", crumb.delegate, ", ");
  return concat(out, "thread ", crumb.thread, ")");
}

}  // namespace detail

TENON_API Result<Breadcrumbs> Breadcrumbs::create() {
  host::FileDescriptor descriptor = platform::make_shared_file("tenon-breadcrumbs", sizeof(Ring));
  if (!descriptor.valid()) {
    return error(Error::AccessFailed, "breadcrumbs: no shared memory of ", sizeof(Ring), " bytes");
  }
  return open(std::move(descriptor));
}

TENON_API Result<Breadcrumbs> Breadcrumbs::copy() const {
  void* memory = platform::map_private(sizeof(Ring));
  if (!memory) {
    return error(Error::MemoryAllocationFailed, "breadcrumbs: no memory of ", sizeof(Ring),
                 " bytes");
  }
  Breadcrumbs out(static_cast<Ring*>(memory), host::FileDescriptor());
  const std::span to(static_cast<std::byte*>(memory), sizeof(Ring));
  if (host::read_at(descriptor_.get(), to, 0) != static_cast<std::ptrdiff_t>(sizeof(Ring))) {
    return error(Error::AccessFailed, "breadcrumbs: cannot be read");
  }
  for (Crumb& crumb : out.ring_->crumbs) crumb.name.back() = '\0';
  return out;
}

TENON_API Result<Breadcrumbs> Breadcrumbs::open(host::FileDescriptor descriptor) {
  void* memory = platform::map_shared(descriptor.get(), sizeof(Ring));
  if (!memory) {
    return error(Error::AccessFailed, "breadcrumbs: cannot be mapped");
  }
  return Breadcrumbs(static_cast<Ring*>(memory), std::move(descriptor));
}

TENON_API Breadcrumbs::~Breadcrumbs() {
  if (ring_) platform::unmap(ring_, sizeof(Ring));
}

TENON_API Crumb* Breadcrumbs::enter(const char* function, std::uint32_t delegate) noexcept {
  const std::uint64_t number = ring_->count.fetch_add(1) + 1;
  Crumb& crumb = ring_->crumbs[number % size];
  crumb.number = number;
  crumb.returned = 0;
  std::snprintf(crumb.name.data(), crumb.name.size(), "%s", function);
  crumb.thread = thread_number();
  crumb.delegate = delegate;
  return &crumb;
}

TENON_API std::vector<std::string> Breadcrumbs::last(std::size_t most) const {
  std::vector<std::string> out;
  const std::vector<const Crumb*> crumbs = in_order();
  const std::size_t skipped = crumbs.size() - std::min(most, crumbs.size());
  for (std::size_t i = skipped; i < crumbs.size(); ++i) {
    std::string line =
        concat("call ", crumbs[i]->number.load(), ": ", detail::describe_call(*crumbs[i]));
    if (crumbs[i]->returned == 0) {
      line += ": has not returned";
    } else if (crumbs[i]->status != 0) {
      line += concat(" returned ", error_name(static_cast<Error>(crumbs[i]->status)));
    }
    out.push_back(std::move(line));
  }
  return out;
}

TENON_API std::string Breadcrumbs::running() const {
  std::string out;
  for (const Crumb* crumb : in_order()) {
    if (crumb->returned != 0) continue;
    out += concat(out.empty() ? "" : "; ", detail::describe_call(*crumb), ", call ",
                  crumb->number.load());
  }
  return out;
}

TENON_API std::string_view Breadcrumbs::rule_of_a_crash() const {
  for (const Crumb* crumb : in_order()) {
    if (crumb->returned != 0) continue;
    const std::string_view name = crumb->name.data();
    if (name == destroy_of_null) return "TN-DES-2";
    if (name == "is_available") return "TN-BCK-6";
  }
  return "TN-BCK-7";
}

TENON_API std::uint32_t Breadcrumbs::thread_number() noexcept {
  thread_local std::uint32_t mine = 0;
  if (mine == 0) mine = ring_->threads.fetch_add(1) + 1;
  return mine;
}

TENON_API std::vector<const Crumb*> Breadcrumbs::in_order() const {
  std::vector<const Crumb*> out;
  for (const Crumb& crumb : ring_->crumbs) {
    if (crumb.number != 0) out.push_back(&crumb);
  }
  std::sort(out.begin(), out.end(),
            [](const Crumb* a, const Crumb* b) { return a->number.load() < b->number.load(); });
  return out;
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
