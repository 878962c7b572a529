// SPDX-License-Identifier: MIT
#pragma once

#ifdef __linux__
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// A range of a memfd in the address space, for a backend that computes on the processor. Systems
/// other than Linux have none.
class MappedMemory {
 public:
  /// Maps the range that `memory` names. Keeps no descriptor.
  ///
  /// A memfd must be sealed against becoming smaller (F_SEAL_SHRINK): a page that another process
  /// took away would end this one by a signal. Without `is_written` it is mapped read-only.
  ///
  /// errors: InvalidArgument (no descriptor of a memfd; not sealed; a range that it does not have;
  ///         a device that is not the CPU; write access that it refuses), MemoryAllocationFailed.
  [[nodiscard]] static Result<MappedMemory> map(const ExternalMemory& memory) {
    if (memory.kind != MemoryKind::MemFd) {
      return error(Error::NotSupported, "memory of kind '", memory.kind.text(),
                   "' is not mapped here");
    }
    if (memory.device.device_type != TENON_DL_CPU) {
      return error(Error::InvalidArgument, "expected memory for the CPU, found DLPack device type ",
                   memory.device.device_type, " index ", memory.device.device_id);
    }
#ifdef __linux__
    return map_descriptor(memory);
#else
    return error(Error::NotSupported,
                 "memory of the host is mapped from a memfd, which this system does not have");
#endif
  }

  MappedMemory(MappedMemory&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), size_(other.size_), before_(other.before_) {}
  MappedMemory& operator=(MappedMemory&&) = delete;
  ~MappedMemory() {
#ifdef __linux__
    if (begin_) ::munmap(begin_, size_);
#endif
  }

  /// Where the range begins.
  [[nodiscard]] void* data() const noexcept { return static_cast<std::byte*>(begin_) + before_; }

 private:
  MappedMemory(void* begin, std::size_t size, std::size_t before) noexcept
      : begin_(begin), size_(size), before_(before) {}

#ifdef __linux__
  static Result<MappedMemory> map_descriptor(const ExternalMemory& memory) {
    TENON_TRY(const int seals, check(memory));
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t before = memory.offset % page;
    const auto size = static_cast<std::size_t>(before + memory.nbytes);
    const int protection = memory.is_written ? PROT_READ | PROT_WRITE : PROT_READ;
    // Bytes that no process can change are the same in a private mapping; Linux before 6.7 has no
    // other for them.
    const bool is_fixed = !memory.is_written && (seals & F_SEAL_WRITE) != 0;
    void* const begin = ::mmap(nullptr, size, protection, is_fixed ? MAP_PRIVATE : MAP_SHARED,
                               memory.descriptor, static_cast<off_t>(memory.offset - before));
    if (begin != MAP_FAILED) return MappedMemory(begin, size, static_cast<std::size_t>(before));
    const int reason = errno;
    return error(reason == ENOMEM ? Error::MemoryAllocationFailed : Error::InvalidArgument,
                 "descriptor ", memory.descriptor, " cannot be mapped for ",
                 memory.is_written ? "writing: " : "reading: ", text_of(reason));
  }

  static std::string text_of(int reason) { return std::generic_category().message(reason); }

  /// The seals.
  static Result<int> check(const ExternalMemory& memory) {
    const auto refuse = [&](const auto&... why) {
      return error(Error::InvalidArgument, "descriptor ", memory.descriptor, why...);
    };
    struct stat status{};
    if (::fstat(memory.descriptor, &status) != 0) return refuse(": ", text_of(errno));
    const int seals = ::fcntl(memory.descriptor, F_GET_SEALS);
    if (seals < 0) return refuse(" is no memfd: it has no seals");
    if ((seals & F_SEAL_SHRINK) == 0) {
      return refuse(" may become smaller: expected a memfd with F_SEAL_SHRINK");
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (memory.offset > size || memory.nbytes > size - memory.offset) {
      return refuse(" has ", size, " bytes, and not ", memory.nbytes, " bytes from ",
                    memory.offset);
    }
    return seals;
  }
#endif

  void* begin_;
  std::size_t size_;
  std::size_t before_;
};

#ifdef __linux__
namespace detail {

/// InvalidArgument for a descriptor that is no event of the kernel. A file, a device, a pipe or a
/// connection is readable for other reasons than a fence; to write to one would change a file, wait
/// for a reader, or end the process by SIGPIPE.
[[nodiscard]] inline Status check_is_event(const ExternalFence& fence, const char* purpose) {
  struct stat status{};
  const bool is_open = ::fstat(fence.descriptor, &status) == 0;
  if (is_open && (status.st_mode & S_IFMT) == 0) return ok();
  return error(
      Error::InvalidArgument, fence.kind.text(), " ", fence.descriptor, " cannot be ", purpose,
      ": ",
      is_open ? "it is a descriptor of something else" : std::generic_category().message(errno));
}

/// `poll` of one descriptor, which signals do not prolong. Returns what is there.
[[nodiscard]] inline int poll_one(int descriptor, short wanted, int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  pollfd one{descriptor, wanted, 0};
  for (int left = timeout_ms; ::poll(&one, 1, left) < 0 && errno == EINTR;) {
    if (timeout_ms < 0) continue;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    left = static_cast<int>(std::max<std::int64_t>(rest, 0));
  }
  return one.revents;
}

}  // namespace detail
#endif

/// Waits for a sync_file or an eventfd on the calling thread, at most `timeout_ms`; without end
/// when that is negative. An eventfd keeps its count.
///
/// errors: NotSupported for other kinds and on other systems than Linux, InvalidArgument for a
///         descriptor of something else or of a fence that has failed, TimedOut after the timeout.
[[nodiscard]] inline Status wait_for(const ExternalFence& fence, int timeout_ms) {
#ifdef __linux__
  if (fence.kind == FenceKind::SyncFile || fence.kind == FenceKind::EventFd) {
    TENON_RETURN_IF_ERROR(detail::check_is_event(fence, "waited for"));
    const int found = detail::poll_one(fence.descriptor, POLLIN, timeout_ms);
    if (found == POLLIN) return ok();
    return error(found == 0 ? Error::TimedOut : Error::InvalidArgument, fence.kind.text(), " ",
                 fence.descriptor,
                 found == 0 ? concat(" was not signalled in ", timeout_ms, " ms")
                            : std::string(" cannot be waited for: it has failed"));
  }
#else
  static_cast<void>(timeout_ms);
#endif
  return error(Error::NotSupported, "a fence of kind '", fence.kind.text(),
               "' is not waited for here");
}

/// Signals an eventfd. If its counter is full, it is signalled already and stays as it is.
///
/// errors: NotSupported for other kinds, which only their owner signals, and on other systems than
///         Linux, InvalidArgument for a descriptor of something else.
[[nodiscard]] inline Status signal(const ExternalFence& fence) {
#ifdef __linux__
  if (fence.kind == FenceKind::EventFd) {
    TENON_RETURN_IF_ERROR(detail::check_is_event(fence, "signalled"));
    // Without this the write would wait until a reader lowers the count.
    if ((detail::poll_one(fence.descriptor, POLLIN | POLLOUT, 0) & ~POLLERR) == POLLIN) return ok();
    const std::uint64_t one = 1;
    if (::write(fence.descriptor, &one, sizeof one) == sizeof one) return ok();
    return error(Error::InvalidArgument, fence.kind.text(), " ", fence.descriptor, ": ",
                 std::generic_category().message(errno));
  }
#endif
  return error(Error::NotSupported, "a fence of kind '", fence.kind.text(),
               "' is not signalled here");
}

}}  // namespace tenon::TENON_RELEASE
