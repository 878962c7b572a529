// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/api.hpp"

/// The resources of this process, as far as the system reports them: on Linux all of them,
/// elsewhere memory and descriptors.
namespace tenon::conformance {

/// One line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool executable = false;
  std::uint64_t offset = 0;  ///< In the file.
  std::string name;          ///< A path, "[heap]" and the like, or empty.

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

/// One line of /proc/PID/maps; nothing for any other text.
[[nodiscard]] TENON_API std::optional<Mapping> mapping_of(std::string_view line);

/// All mappings of this process, in the order of their addresses; none where the system does not
/// report them.
[[nodiscard]] TENON_API std::vector<Mapping> mappings();

/// Bytes of allocated memory, without freed blocks: exact where the program counts them
/// (interpose.hpp) or a sanitizer does, else as the allocator reports.
[[nodiscard]] TENON_API std::int64_t heap_bytes() noexcept;

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
[[nodiscard]] TENON_API std::vector<std::string> growth_of_calls(int stretch, const void* round,
                                                                 void (*call)(const void*),
                                                                 const void* declared,
                                                                 std::int64_t (*ask)(const void*));

}  // namespace detail

/// Calls `round` repeatedly and returns what grows with each call: "64 bytes of memory a round".
/// Resources that are taken once, whenever that is, do not count as growth.
///
/// The resources are counted after a few rounds and then three times after `stretch` more of them;
/// growth is what increased in all three stretches. `declared` returns a further number of bytes,
/// for example those of a device.
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
[[nodiscard]] TENON_API std::string join(const std::vector<std::string>& texts);

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__APPLE__)
#include <malloc/malloc.h>
#endif

#include "tenon/conformance/process/interposition.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/sanitizer.hpp"

#if TENON_DETAIL_ADDRESS_SANITIZER
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace tenon::conformance {

namespace detail {

/// Calls `each` with the name of each entry of a directory of numbers, such as "/proc/self/fd".
template <class Each>
void for_each_number(const char* directory, const Each& each) {
  DIR* open = ::opendir(directory);
  if (!open) return;
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    int number = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failed == std::errc() && end == name.data() + name.size() && number != ::dirfd(open)) {
      each(number);
    }
  }
  ::closedir(open);
}

inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

#if defined(__APPLE__)
inline constexpr const char* descriptors_directory = "/dev/fd";
#else
inline constexpr const char* descriptors_directory = "/proc/self/fd";
#endif

}  // namespace detail

TENON_API std::optional<Mapping> mapping_of(std::string_view line) {
  Mapping one;
  const char* const last = line.data() + line.size();
  const auto number = [&](const char* from, auto& to) {
    const auto [end, failed] = std::from_chars(from, last, to, 16);
    return failed == std::errc() ? end : nullptr;
  };
  const char* at = number(line.data(), one.begin);
  if (!at || at == last || *at != '-') return std::nullopt;
  at = number(at + 1, one.end);
  // " r-xp " and the offset.
  if (!at || last - at < 7 || at[0] != ' ' || at[5] != ' ') return std::nullopt;
  one.readable = at[1] == 'r';
  one.executable = at[3] == 'x';
  at = number(at + 6, one.offset);
  if (!at) return std::nullopt;
  // The device and the inode come before the name.
  std::size_t begin = static_cast<std::size_t>(at - line.data());
  for (int field = 0; field < 2 && begin != std::string_view::npos; ++field) {
    begin = line.find(' ', line.find_first_not_of(' ', begin));
  }
  begin = begin == std::string_view::npos ? begin : line.find_first_not_of(' ', begin);
  if (begin != std::string_view::npos) one.name = line.substr(begin);
  return one;
}

TENON_API std::vector<Mapping> mappings() {
  std::vector<Mapping> out;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    if (auto one = mapping_of(line)) out.push_back(*std::move(one));
  }
  return out;
}

TENON_API std::int64_t heap_bytes() noexcept {
#if TENON_DETAIL_ADDRESS_SANITIZER
  return static_cast<std::int64_t>(::__sanitizer_get_current_allocated_bytes());
#else
  if (interposition.present) return interposition.live_bytes;
#if defined(__GLIBC__)
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#elif defined(__APPLE__)
  struct mstats info = ::mstats();
  return static_cast<std::int64_t>(info.bytes_used);
#else
  return 0;
#endif
#endif
}

TENON_API ResourceCounts ResourceCounts::now() {
  ResourceCounts out;
  out.memory_bytes = heap_bytes();
  detail::for_each_number(detail::descriptors_directory, [&](int) { ++out.descriptors; });
  detail::for_each_number("/proc/self/task", [&](int task) {
    ++out.threads;
    const std::string children = detail::first_line(concat("/proc/self/task/", task, "/children"));
    for (const char letter : children) out.processes += letter == ' ' ? 1 : 0;
  });
  for (const Mapping& one : mappings()) {
    if (one.name.starts_with('[')) continue;
#if TENON_DETAIL_ADDRESS_SANITIZER
    if (one.name.empty()) continue;
#endif
    out.mapped_bytes += static_cast<std::int64_t>(one.end - one.begin);
  }
  return out;
}

TENON_API ResourceCounts ResourceCounts::once_threads_ended(std::int64_t threads) {
  for (int waited = 0; waited < 50; ++waited) {
    const ResourceCounts counts = now();
    if (counts.threads <= threads) return counts;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return now();
}

TENON_API Resources Resources::now() {
  Resources out;
  detail::for_each_number(detail::descriptors_directory, [&](int number) {
    std::array<char, 4096> target;
    const ssize_t size = ::readlink(concat(detail::descriptors_directory, "/", number).c_str(),
                                    target.data(), target.size());
    out.descriptors[number] =
        size < 0 ? std::string("?") : std::string(target.data(), static_cast<std::size_t>(size));
  });
  detail::for_each_number("/proc/self/task", [&](int task) {
    const std::string directory = concat("/proc/self/task/", task);
    out.threads[task] = detail::first_line(directory + "/comm");
    const std::string children = detail::first_line(directory + "/children");
    for (const char *at = children.data(), *end = at + children.size(); at < end; ++at) {
      int child = 0;
      at = std::from_chars(at, end, child).ptr;
      if (child != 0) out.processes[child] = detail::first_line(concat("/proc/", child, "/comm"));
    }
  });
  return out;
}

TENON_API Resources Resources::once_threads_ended(std::size_t threads) {
  static_cast<void>(ResourceCounts::once_threads_ended(static_cast<std::int64_t>(threads)));
  return now();
}

TENON_API std::vector<std::string> Resources::more_in(const Resources& later) const {
  std::vector<std::string> out;
  for (const auto& [number, target] : later.descriptors) {
    const auto before = descriptors.find(number);
    if (before != descriptors.end() && before->second == target) continue;
    out.push_back(concat("descriptor ", number, " (", target, ")"));
  }
  for (const auto& [task, name] : later.threads) {
    if (!threads.contains(task)) out.push_back(concat("thread ", task, " (", name, ")"));
  }
  for (const auto& [process, name] : later.processes) {
    if (!processes.contains(process)) {
      out.push_back(concat("process ", process, " (", name, ")"));
    }
  }
  return out;
}

namespace detail {

TENON_API std::vector<std::string> growth_of_calls(int stretch, const void* round,
                                                   void (*call)(const void*), const void* declared,
                                                   std::int64_t (*ask)(const void*)) {
  constexpr int warm_up = 3;
  std::array<ResourceCounts, 4> counts;
  std::array<std::int64_t, 4> own{};
  for (int i = 0; i < warm_up; ++i) call(round);
  const std::int64_t threads = ResourceCounts::now().threads;
  for (std::size_t point = 0; point < counts.size(); ++point) {
    for (int i = 0; point != 0 && i < stretch; ++i) call(round);
    counts[point] = ResourceCounts::once_threads_ended(threads);
    own[point] = ask(declared);
  }
  std::vector<std::string> out;
  // Less than `least` a round is noise, or something that is taken now and then.
  const auto judge = [&](const auto& at, double least, std::string_view what) {
    for (std::size_t point = 1; point < counts.size(); ++point) {
      const auto more = static_cast<double>(at(point) - at(point - 1));
      if (more <= 0 || more < least * stretch) return;
    }
    const std::int64_t all = at(3) - at(0);
    const int rounds = 3 * stretch;
    out.push_back(
        concat(all, " ", what, " more after ", rounds + warm_up, " rounds than after ", warm_up));
  };
#if TENON_DETAIL_ADDRESS_SANITIZER
  constexpr double least_memory = 512;  // It allocates some itself for each opened library.
#else
  constexpr double least_memory = 1;
#endif
  judge([&](std::size_t i) { return counts[i].memory_bytes; }, least_memory, "bytes of memory");
  // A large block of memory is a mapping as well, which was reported already.
  if (out.empty()) {
    judge([&](std::size_t i) { return counts[i].mapped_bytes; }, 4096, "bytes of mappings");
  }
  judge([&](std::size_t i) { return counts[i].descriptors; }, 0.1, "descriptors");
  judge([&](std::size_t i) { return counts[i].threads; }, 0.1, "threads");
  judge([&](std::size_t i) { return counts[i].processes; }, 0.1, "processes");
  judge([&](std::size_t i) { return own[i]; }, 1, "bytes by its own count");
  return out;
}

}  // namespace detail

TENON_API std::string join(const std::vector<std::string>& texts) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out += concat(i == 0 ? "" : i + 1 == texts.size() ? " and " : ", ", texts[i]);
  }
  return out;
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
