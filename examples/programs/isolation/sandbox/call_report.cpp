// SPDX-License-Identifier: MIT
#include "sandbox/call_report.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>

#include "sandbox/direct_call.hpp"
#include "sandbox/system_call_names.hpp"
#include "sandbox/system_failure.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::isolated {
namespace {

/// The type of a request: `unsigned long` in glibc, `int` in musl.
template <class Request>
Request request_of(int (*ioctl)(int, Request, ...));
using IoctlRequest = decltype(request_of(&::ioctl));

/// A message of one byte with a descriptor.
struct DescriptorMessage {
  DescriptorMessage() noexcept {
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = static_cast<decltype(message.msg_controllen)>(control.size());
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
};

long address_of(const void* object) { return std::bit_cast<long>(object); }

/// All calls but those from the address that `report_calls` uses are reported.
std::array<sock_filter, 6> reporting_filter() {
  const auto made = std::bit_cast<std::uintptr_t>(&tenon_sandbox_call_made[0]);
  constexpr std::uint32_t low = offsetof(seccomp_data, instruction_pointer);
  return {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(made & 0xffffffff), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(made >> 32), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
  }};
}

/// The path at `address` of the process `process`, as far as it can be read.
std::string path_in(std::uint32_t process, std::uint64_t address) {
  std::array<char, 4096> path{};
  std::size_t size = 0;
  // By pages: a string may end shortly before memory that is not there.
  while (size < path.size()) {
    const std::size_t page_rest = 4096 - (address + size) % 4096;
    const std::size_t wanted = std::min(page_rest, path.size() - size);
    const iovec local{path.data() + size, wanted};
    const iovec remote{std::bit_cast<void*>(address + size), wanted};
    if (::process_vm_readv(static_cast<pid_t>(process), &local, 1, &remote, 1, 0) <= 0) break;
    if (std::memchr(path.data() + size, 0, wanted) != nullptr) break;
    size += wanted;
  }
  return std::string(path.data(), ::strnlen(path.data(), path.size()));
}

void count(CallReport& report, const seccomp_notif& call) {
  const std::string_view name = system_call_name(call.data.nr);
  ++report.calls[name.empty() ? concat("number ", call.data.nr) : std::string(name)];
  if ((name != "openat" && name != "open") || report.files.size() >= CallReport::max_files) return;
  const std::size_t argument = name == "openat" ? 1 : 0;
  const std::string path = path_in(call.pid, call.data.args[argument]);
  if (path.empty()) return;
  const auto flags = static_cast<int>(call.data.args[argument + 1]);
  report.files[path] |= (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
}

}  // namespace

Status report_calls(int socket) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_failure("PR_SET_NO_NEW_PRIVS");
  auto filter = reporting_filter();
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  DescriptorMessage sent;
  cmsghdr* const header = CMSG_FIRSTHDR(&sent.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const long reported =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (reported < 0) return system_failure("calls cannot be reported (Linux 5.5)");
  const auto descriptor = static_cast<int>(reported);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  // The other process does not count yet, so these are not reported.
  const long result =
      tenon_sandbox_call(SYS_sendmsg, socket, address_of(&sent.message), MSG_NOSIGNAL, 0);
  tenon_sandbox_call(SYS_close, descriptor, 0, 0, 0);
  if (result >= 0) return ok();
  errno = static_cast<int>(-result);
  return system_failure("the descriptor of reported calls is not sent");
}

Result<CallReporter> CallReporter::receive(int socket) {
  DescriptorMessage received;
  const ssize_t size = ::recvmsg(socket, &received.message, MSG_CMSG_CLOEXEC);
  if (size < 0) return system_failure("the descriptor of reported calls is not received");
  const cmsghdr* const header = CMSG_FIRSTHDR(&received.message);
  if (size == 0 || header == nullptr || header->cmsg_type != SCM_RIGHTS) {
    return error(Error::AccessFailed, "the worker ended before it reported calls");
  }
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return CallReporter(host::FileDescriptor(descriptor));
}

Result<CallReport> CallReporter::serve() {
  CallReport report;
  while (true) {
    pollfd waited{calls_.get(), POLLIN, 0};
    if (::poll(&waited, 1, -1) < 0) {
      if (errno == EINTR) continue;
      return system_failure("reported calls are not waited for");
    }
    // No process has the filter any more.
    if ((waited.revents & POLLIN) == 0) return report;
    seccomp_notif call{};
    if (::ioctl(calls_.get(), static_cast<IoctlRequest>(SECCOMP_IOCTL_NOTIF_RECV), &call) != 0) {
      // The process was killed in between.
      if (errno == ENOENT || errno == EINTR) continue;
      return system_failure("a reported call is not read");
    }
    count(report, call);
    seccomp_notif_resp answer{};
    answer.id = call.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (::ioctl(calls_.get(), static_cast<IoctlRequest>(SECCOMP_IOCTL_NOTIF_SEND), &answer) != 0 &&
        errno != ENOENT) {
      return system_failure("a reported call is not continued");
    }
  }
}

}  // namespace tenon::isolated
