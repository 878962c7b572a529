// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kit/platform/mapping.hpp"

/// The resources of this process, as far as the system reports them: on Linux and Windows all of
/// them, elsewhere memory and descriptors. Descriptors are handles on Windows.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// All mappings of this process, in the order of their addresses; none where the system does not
/// report them.
[[nodiscard]] std::vector<Mapping> mappings();

/// Bytes of allocated memory, without freed blocks: exact where the program counts them
/// (interpose.hpp) or a sanitizer does, else as the allocator reports; 0 where it reports none.
[[nodiscard]] std::int64_t heap_bytes() noexcept;

/// Whether `heap_bytes` counts anything: not by the allocator of musl.
[[nodiscard]] bool counts_heap_bytes() noexcept;

/// Bytes of resident pages without a file, after glibc gave pages of freed blocks back; 0 under a
/// sanitizer, and where the system does not report them.
[[nodiscard]] std::int64_t resident_bytes();

/// The amount of each kind of resource. Taking it leaves nothing allocated, so that the difference
/// of two of them is what was taken between.
struct ResourceCounts {
  std::int64_t memory_bytes = 0;  ///< See `heap_bytes`.
  std::int64_t mapped_bytes = 0;  ///< Without heaps and stacks. Under a sanitizer only files.
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
  std::int64_t processes = 0;  ///< Children.

  [[nodiscard]] static ResourceCounts now();

  /// As `now`, as soon as there are at most `threads` threads, or after half a second: the system
  /// still lists a joined thread for a moment.
  [[nodiscard]] static ResourceCounts once_threads_ended(std::int64_t threads);
};

/// The resources of this process by name.
struct Resources {
  std::map<int, std::string> descriptors;  ///< By number; the file of each.
  std::map<int, std::string> threads;      ///< By number; the name of each.
  std::map<int, std::string> processes;    ///< Children, by number; the name of each.

  [[nodiscard]] static Resources now();

  /// As `ResourceCounts::once_threads_ended`.
  [[nodiscard]] static Resources once_threads_ended(std::size_t threads);

  /// The resources that only `later` has: "descriptor 12 (/dev/null)", "thread worker".
  [[nodiscard]] std::vector<std::string> more_in(const Resources& later) const;
};

namespace detail {

/// A call of the caller's function object.
template <class Function>
void call_round(const void* function) {
  (*static_cast<const Function*>(function))();
}
template <class Function>
std::int64_t call_declared(const void* function) {
  return (*static_cast<const Function*>(function))();
}

/// `growth_of`, with the function objects as pointers.
[[nodiscard]] std::vector<std::string> growth_of_calls(int stretch, const void* round,
                                                       void (*call)(const void*),
                                                       const void* declared,
                                                       std::int64_t (*ask)(const void*));

}  // namespace detail

/// Calls `round` repeatedly and returns what grows with each call: "64 bytes of memory a round".
/// Resources that are taken once, whenever that is, do not count as growth.
///
/// The resources are counted after a few rounds and then three times after `stretch` more of them;
/// growth is what increased in all three stretches. `declared` returns a further number of bytes,
/// for example a device's.
template <class Round, class Declared>
[[nodiscard]] std::vector<std::string> growth_of(int stretch, const Round& round,
                                                 const Declared& declared) {
  return detail::growth_of_calls(stretch, &round, &detail::call_round<Round>, &declared,
                                 &detail::call_declared<Declared>);
}
template <class Round>
[[nodiscard]] std::vector<std::string> growth_of(int stretch, const Round& round) {
  return growth_of(stretch, round, [] { return std::int64_t{0}; });
}

/// "a, b and c".
[[nodiscard]] std::string join_with_and(const std::vector<std::string>& texts);

}}}  // namespace tenon::TENON_RELEASE::conformance
