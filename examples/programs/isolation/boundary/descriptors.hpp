// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/core/memory_file.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

/// Files in memory, and the sockets that descriptors are sent through.
namespace tenon::isolated {

[[nodiscard]] inline std::string errno_text(int reason) {
  return std::generic_category().message(reason);
}

/// Bytes of a file in memory in the address space.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping() {
    if (data_) ::munmap(data_, size_);
  }

  /// All of a file whose size is `size`. A file that is not written is mapped privately: Linux
  /// before 6.7 has no other mapping of what is sealed.
  [[nodiscard]] static Result<Mapping> of(int descriptor, std::size_t size, bool is_written) {
    Mapping out;
    if (size == 0) return out;
    void* const data = ::mmap(nullptr, size, is_written ? PROT_READ | PROT_WRITE : PROT_READ,
                              is_written ? MAP_SHARED : MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      const int reason = errno;
      return error(Error::MemoryAllocationFailed, "a file in memory of ", size,
                   " bytes cannot be mapped: ", errno_text(reason));
    }
    out.data_ = data;
    out.size_ = size;
    return out;
  }

  /// A file in memory that another process sent, which it can make no smaller: a page behind its
  /// end would end this process. errors: InvalidArgument for what is no such file, or has fewer
  /// than `size` bytes.
  [[nodiscard]] static Result<Mapping> of_received(int descriptor, std::uint64_t size,
                                                   bool is_written) {
    struct stat status{};
    const int seals = ::fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(descriptor, &status) != 0) {
      return error(Error::InvalidArgument,
                   "expected a file in memory that cannot shrink, found another descriptor");
    }
    if (status.st_size < 0 || size > static_cast<std::uint64_t>(status.st_size)) {
      return error(Error::InvalidArgument, "a file in memory has ", status.st_size,
                   " bytes, expected ", size);
    }
    return of(descriptor, static_cast<std::size_t>(size), is_written);
  }

  /// Addresses that nothing is at.
  [[nodiscard]] static Result<Mapping> of_addresses(std::size_t size) {
    void* const data =
        ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      return error(Error::MemoryAllocationFailed, "no addresses for ", size, " bytes");
    }
    Mapping out;
    out.data_ = data;
    out.size_ = size;
    return out;
  }

  /// A page of zeros of this process, which a child of `fork` finds as zeros again.
  [[nodiscard]] static Result<Mapping> own_page() {
    constexpr std::size_t size = 4096;
    void* const data =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return error(Error::MemoryAllocationFailed, "no page of memory");
    Mapping out;
    out.data_ = data;
    out.size_ = size;
    if (::madvise(data, size, MADV_WIPEONFORK) != 0) {
      return error(Error::NotSupported, "this system has no pages that fork wipes (Linux 4.14)");
    }
    return out;
  }

  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A new file in memory of `size` zeros, whose size nothing changes any more.
[[nodiscard]] inline Result<host::FileDescriptor> memory_file(const char* name, std::size_t size) {
  host::FileDescriptor out(make_memory_file(name, size, size_seals));
  if (out.valid()) return out;
  return error(Error::MemoryAllocationFailed, "no file in memory of ", size,
               " bytes: ", errno_text(errno));
}

/// A file in memory with a copy of the parts, one after the other, which nothing changes any more.
[[nodiscard]] inline Result<host::FileDescriptor> sealed_copy(
    const char* name, std::span<const std::span<const std::byte>> parts) {
  host::FileDescriptor out(make_sealed_file(name, parts));
  if (out.valid()) return out;
  const int reason = errno;
  std::size_t size = 0;
  for (const auto part : parts) size += part.size();
  return error(Error::MemoryAllocationFailed, "no file in memory with a copy of ", size,
               " bytes: ", errno_text(reason));
}
/// A sealed file with a copy of `bytes`.
[[nodiscard]] inline Result<host::FileDescriptor> sealed_copy(const char* name,
                                                              std::span<const std::byte> bytes) {
  return sealed_copy(name, {&bytes, 1});
}

/// Copies the bytes of a file that another process sent. The file is never mapped, so that anything
/// the other process does to it is a failure of `pread` at worst.
///
/// errors: InvalidArgument for a file that is not in memory, has more than `limit` bytes or not
/// `size`, is not sealed, or does not hold all of its bytes.
[[nodiscard]] inline Result<std::vector<std::byte>> copy_of(int descriptor, std::uint64_t size,
                                                            std::uint64_t limit) {
  struct stat status{};
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || ::fstat(descriptor, &status) != 0) {
    return error(Error::InvalidArgument, "expected a file in memory, found another descriptor");
  }
  if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) != size || size > limit) {
    return error(Error::InvalidArgument, "a file in memory has ", status.st_size,
                 " bytes, expected ", size, ", and at most ", limit);
  }
  // No hole can be made in a sealed file, and none is paid for by the process that sent it.
  constexpr std::uint64_t block = 512;
  const std::uint64_t held = static_cast<std::uint64_t>(status.st_blocks) * block;
  constexpr int required = F_SEAL_WRITE | F_SEAL_SHRINK;
  if ((seals & required) != required || held < size) {
    return error(Error::InvalidArgument, "a file in memory holds ", held, " of its ", size,
                 " bytes", (seals & required) != required ? ", and is not sealed" : "");
  }
  std::vector<std::byte> out(static_cast<std::size_t>(size));
  std::size_t done = 0;
  while (done != out.size()) {
    const ssize_t now =
        ::pread(descriptor, out.data() + done, out.size() - done, static_cast<off_t>(done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0)
      return error(Error::InvalidArgument, "a file in memory of ", size,
                   " bytes cannot be read from byte ", done, " on");
    done += static_cast<std::size_t>(now);
  }
  return out;
}

/// Closes all descriptors from `first` on. Only system calls: for a process that was just made.
inline void close_descriptors_from(int first) noexcept {
  // Not the function of glibc, which has it since 2.34.
  constexpr long close_range_number = 436;
  if (::syscall(close_range_number, static_cast<unsigned>(first), ~0u, 0u) == 0) return;
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int i = first; i < most; ++i) ::close(i);
}

inline constexpr std::size_t max_sent_descriptors = 4;

/// The two ends of a connection that keeps messages apart.
[[nodiscard]] inline Result<std::pair<host::FileDescriptor, host::FileDescriptor>> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    const int reason = errno;
    return error(Error::OutOfResources, "no pair of sockets: ", errno_text(reason));
  }
  return std::pair(host::FileDescriptor(ends[0]), host::FileDescriptor(ends[1]));
}

/// Sends `bytes`, not empty, and descriptors. Never raises SIGPIPE. False with `errno` set: EAGAIN
/// when `flags` has MSG_DONTWAIT and the other end has taken too little of what was sent before.
[[nodiscard]] inline bool send_message(int socket, std::span<const std::byte> bytes,
                                       std::span<const int> descriptors, int flags = 0) noexcept {
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(max_sent_descriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

/// Whether the other end has taken all that was sent.
[[nodiscard]] inline bool is_taken(int socket) noexcept {
  int left = 0;
  return ::ioctl(socket, SIOCOUTQ, &left) != 0 || left == 0;
}

/// A message that was received: the number of bytes, 0 when the other end is closed, -1 with
/// `errno` set.
struct Received {
  ssize_t size = -1;
  std::vector<host::FileDescriptor> descriptors;
};

[[nodiscard]] inline Received receive_message(int socket, std::span<std::byte> bytes, int flags) {
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(max_sent_descriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  Received out;
  do {
    out.size = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (out.size < 0 && errno == EINTR);
  if (out.size < 0) return out;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
      out.descriptors.emplace_back(descriptor);
    }
  }
  return out;
}

}  // namespace tenon::isolated
