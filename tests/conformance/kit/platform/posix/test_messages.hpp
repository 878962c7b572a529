// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "tenon/abi/version.h"

/// Messages between the runner and a server that forks tests, by a pair of sockets. The runner asks
/// for a process (a `RequestHead`), gets its id, gets how it ended, asks for the end of its group
/// (one byte), and gets whether that had other processes: in this order, unless something ends.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The channel, the breadcrumbs and the output.
inline constexpr std::size_t num_given = 3;

/// The head of a request, with the descriptors. The directory for temporary files and the value
/// follow.
struct RequestHead {
  std::uint32_t directory_size;
  std::uint32_t value_size;
};

enum class ReplyKind : std::int32_t {
  started = 1,  ///< The id of the process, which says so itself.
  failed,       ///< `errno`: no process was started.
  ended,        ///< `si_code` and `si_status` of waitid.
  cleared,      ///< Whether the group had another process.
};

/// From the server or a process that it forked.
struct Reply {
  ReplyKind kind;
  std::int32_t first;
  std::int32_t second;
};

#if defined(MSG_NOSIGNAL)
inline constexpr int send_flags = MSG_NOSIGNAL;
#else
inline constexpr int send_flags = 0;  // The runner set SO_NOSIGPIPE.
#endif

/// Sends all of `bytes`. False when the other side has closed.
[[nodiscard]] inline bool send_all(int socket, const void* bytes, std::size_t size) noexcept {
  const char* from = static_cast<const char*>(bytes);
  while (size != 0) {
    const ::ssize_t sent = ::send(socket, from, size, send_flags);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

/// Fills `to`. False when the other side has closed.
[[nodiscard]] inline bool receive_all(int socket, void* to, std::size_t size) noexcept {
  char* out = static_cast<char*>(to);
  while (size != 0) {
    const ::ssize_t got = ::recv(socket, out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// The head of a request and its descriptors as the system sends and receives them.
class HeadMessage {
 public:
  explicit HeadMessage(RequestHead& head) noexcept : part_{&head, sizeof head} {
    message.msg_iov = &part_;
    message.msg_iovlen = 1;
    message.msg_control = room_.data();
    // 64 bits with glibc, 32 with musl.
    message.msg_controllen = static_cast<decltype(message.msg_controllen)>(room_.size());
  }
  HeadMessage(const HeadMessage&) = delete;
  HeadMessage& operator=(const HeadMessage&) = delete;
  ~HeadMessage() = default;

  ::msghdr message{};

 private:
  // Room for the descriptors, aligned as their head.
  alignas(::cmsghdr) std::array<char, CMSG_SPACE(num_given * sizeof(int))> room_{};
  ::iovec part_;
};

/// Sends the head of a request with its descriptors.
[[nodiscard]] inline bool send_head(int socket, RequestHead head,
                                    const std::array<int, num_given>& descriptors) noexcept {
  HeadMessage of_head(head);
  ::msghdr& message = of_head.message;
  ::cmsghdr* const control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(control), descriptors.data(), sizeof descriptors);
  ::ssize_t sent = -1;
  do sent = ::sendmsg(socket, &message, send_flags);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<::ssize_t>(sizeof head);
}

/// Receives the head of a request with its descriptors, which the caller owns.
[[nodiscard]] inline bool receive_head(int socket, RequestHead& head,
                                       std::array<int, num_given>& descriptors) noexcept {
  HeadMessage of_head(head);
  ::msghdr& message = of_head.message;
  ::ssize_t got = -1;
  do got = ::recvmsg(socket, &message, 0);
  while (got < 0 && errno == EINTR);
  const ::cmsghdr* const control = CMSG_FIRSTHDR(&message);
  if (got != static_cast<::ssize_t>(sizeof head) || !control ||
      control->cmsg_len != CMSG_LEN(sizeof descriptors)) {
    return false;
  }
  std::memcpy(descriptors.data(), CMSG_DATA(control), sizeof descriptors);
  return true;
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
