// SPDX-License-Identifier: MIT
#include "system.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(address, size)
#define ASAN_UNPOISON_MEMORY_REGION(address, size)
#endif

#include "boundary/lane.hpp"

namespace tenon::fuzz {
namespace {

constexpr int first_descriptor = 100'000;

struct Mapped {
  ObjectPointer file;  ///< Null for memory without one.
  std::size_t size = 0;
  bool is_real = false;
};

/// All of a run.
struct State {
  System* system = nullptr;
  Peer* peer = nullptr;
  std::vector<ObjectPointer> descriptors;
  std::size_t num_open = 0;
  std::multimap<void*, Mapped> mappings;
  std::size_t fails_after = 0;
  std::int64_t now_ns = 0;
};
State state;

bool is_active() noexcept { return state.system != nullptr; }

/// Whether this call that takes a resource fails.
bool fails() noexcept { return state.fails_after != 0 && --state.fails_after == 0; }

ObjectPointer find_object(int descriptor) noexcept {
  const int index = descriptor - first_descriptor;
  if (!is_active() || index < 0 || static_cast<std::size_t>(index) >= state.descriptors.size()) {
    return nullptr;
  }
  return state.descriptors[static_cast<std::size_t>(index)];
}

int refuse(int reason) noexcept {
  errno = reason;
  return -1;
}

/// Blocks of lanes, which are of one size and zeros again: to map new pages takes longer than a
/// run.
struct Blocks {
  std::vector<std::byte*> free;
};
Blocks& lane_blocks() {
  static auto& blocks = *new Blocks;
  return blocks;
}
constexpr std::size_t alignment = 64;

std::byte* new_block(std::size_t size) {
  if (size == isolated::lane_size && !lane_blocks().free.empty()) {
    std::byte* const out = lane_blocks().free.back();
    lane_blocks().free.pop_back();
    ASAN_UNPOISON_MEMORY_REGION(out, size);
    std::memset(out, 0, size);
    return out;
  }
  void* out = nullptr;
  if (::posix_memalign(&out, alignment, std::max<std::size_t>(size, 1)) != 0) std::abort();
  std::memset(out, 0, size);
  return static_cast<std::byte*>(out);
}
void free_block(std::byte* block, std::size_t size) {
  if (size == isolated::lane_size) {
    ASAN_POISON_MEMORY_REGION(block, size);
    lane_blocks().free.push_back(block);
  } else {
    ::free(block);
  }
}

[[noreturn]] void report(const char* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace

Object::~Object() {
  if (bytes) free_block(bytes, static_cast<std::size_t>(size));
}

std::byte* Object::data() {
  if (!bytes && size < max_bytes) bytes = new_block(static_cast<std::size_t>(size));
  return bytes;
}

System::System(Peer& peer) {
  static_cast<void>(read_only());  // Of the system itself.
  state.system = this;
  state.peer = &peer;
  state.fails_after = 0;
  state.now_ns = 1'000'000'000;
}

System::~System() {
  const bool is_left = !keeps_ && state.num_open != 0;
  const bool is_mapped = !keeps_ && !state.mappings.empty();
  state.system = nullptr;
  state.peer = nullptr;
  state.descriptors.clear();
  state.mappings.clear();
  state.num_open = 0;
  if (is_left) report("descriptors are left open");
  if (is_mapped) report("mappings are left");
}

void System::fail_after(std::size_t count) noexcept { state.fails_after = count; }
void System::advance(std::int64_t ns) noexcept { state.now_ns += ns; }
ObjectPointer System::find(int descriptor) const noexcept { return find_object(descriptor); }

int System::open(ObjectPointer object) {
  ++state.num_open;
  const auto free = std::find(state.descriptors.begin(), state.descriptors.end(), nullptr);
  const auto index = free - state.descriptors.begin();
  if (free == state.descriptors.end()) {
    state.descriptors.push_back(std::move(object));
  } else {
    *free = std::move(object);
  }
  return first_descriptor + static_cast<int>(index);
}

ObjectPointer System::make_file(std::string_view name, std::uint64_t size) {
  auto out = std::make_shared<Object>();
  out->kind = Object::Kind::file;
  out->name = name;
  out->size = size;
  return out;
}

std::pair<ObjectPointer, ObjectPointer> System::make_sockets() {
  std::pair out(std::make_shared<Object>(), std::make_shared<Object>());
  out.first->kind = out.second->kind = Object::Kind::socket;
  out.first->other_end = out.second;
  out.second->other_end = out.first;
  return out;
}

bool System::is_mapped(const void* data, std::uint64_t size) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  for (const auto& [at, each] : state.mappings) {
    const auto first = reinterpret_cast<std::uintptr_t>(at);
    if (begin >= first && begin - first <= each.size && size <= each.size - (begin - first)) {
      return true;
    }
  }
  return false;
}

std::span<std::byte> System::read_only() {
  constexpr std::size_t size = 4096;
  static void* const page = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return {static_cast<std::byte*>(page), size};
}

}  // namespace tenon::fuzz

using namespace tenon::fuzz;

// Named by the linker: `__wrap_f` is called where `f` was meant, and `__real_f` is `f`.
// NOLINTBEGIN(bugprone-reserved-identifier)
#pragma clang diagnostic ignored "-Wreserved-identifier"
#pragma clang diagnostic ignored "-Wmissing-prototypes"
extern "C" {

int __real_memfd_create(const char* name, unsigned flags);
int __wrap_memfd_create(const char* name, unsigned flags) {
  // The loader reads the system's files.
  if (!is_active() || std::strcmp(name, "tenon-plugin") == 0) {
    return __real_memfd_create(name, flags);
  }
  if (fails()) return refuse(EMFILE);
  return state.system->open(System::make_file(name, 0));
}

int __real_ftruncate64(int descriptor, off_t size);
int __wrap_ftruncate64(int descriptor, off_t size) {
  const ObjectPointer file = find_object(descriptor);
  if (!file) return __real_ftruncate64(descriptor, size);
  if (file->kind != Object::Kind::file || size < 0) return refuse(EINVAL);
  if (fails()) return refuse(ENOSPC);
  const auto wanted = static_cast<std::uint64_t>(size);
  if (file->bytes && wanted != file->size) return refuse(EPERM);
  file->size = wanted;
  return 0;
}

int __real_fcntl64(int descriptor, int command, long argument);
int __wrap_fcntl64(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  const ObjectPointer object = find_object(descriptor);
  if (!object) return __real_fcntl64(descriptor, command, argument);
  switch (command) {
    case F_ADD_SEALS:
      if (object->kind != Object::Kind::file) return refuse(EINVAL);
      if ((object->seals & F_SEAL_SEAL) != 0) return refuse(EPERM);
      object->seals |= static_cast<int>(argument);
      return 0;
    case F_GET_SEALS:
      return object->kind == Object::Kind::file ? object->seals : refuse(EINVAL);
    case F_DUPFD_CLOEXEC:
    case F_DUPFD:
      return fails() ? refuse(EMFILE) : state.system->open(object);
    default:
      return 0;
  }
}

int __real_fstat64(int descriptor, struct stat* status);
int __wrap_fstat64(int descriptor, struct stat* status) {
  const ObjectPointer object = find_object(descriptor);
  if (!object) return __real_fstat64(descriptor, status);
  *status = {};
  status->st_mode = object->kind == Object::Kind::file ? S_IFREG : S_IFSOCK;
  status->st_size = static_cast<off_t>(object->size);
  if (object->bytes) status->st_blocks = static_cast<blkcnt_t>((object->size + 511) / 512);
  return 0;
}

ssize_t __real_pread64(int descriptor, void* to, std::size_t size, off_t at);
ssize_t __wrap_pread64(int descriptor, void* to, std::size_t size, off_t at) {
  const ObjectPointer file = find_object(descriptor);
  if (!file) return __real_pread64(descriptor, to, size, at);
  if (file->kind != Object::Kind::file || at < 0) return refuse(EINVAL);
  const auto offset = static_cast<std::uint64_t>(at);
  if (offset >= file->size) return 0;
  const std::span<std::byte> constant = System::read_only();
  if (std::less_equal<void*>()(constant.data(), to) &&
      std::less<void*>()(to, constant.data() + constant.size())) {
    return refuse(EFAULT);
  }
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(size, file->size - offset));
  if (const std::byte* const bytes = file->data()) {
    std::memcpy(to, bytes + offset, count);
  } else {
    std::memset(to, 0, count);
  }
  return static_cast<ssize_t>(count);
}

ssize_t __real_pwrite64(int descriptor, const void* from, std::size_t size, off_t at);
ssize_t __wrap_pwrite64(int descriptor, const void* from, std::size_t size, off_t at) {
  const ObjectPointer file = find_object(descriptor);
  if (!file) return __real_pwrite64(descriptor, from, size, at);
  if (file->kind != Object::Kind::file || at < 0) return refuse(EINVAL);
  if ((file->seals & F_SEAL_WRITE) != 0) return refuse(EPERM);
  const auto offset = static_cast<std::uint64_t>(at);
  std::byte* const bytes = file->data();
  if (offset >= file->size || !bytes) return refuse(ENOSPC);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(size, file->size - offset));
  std::memcpy(bytes + offset, from, count);
  return static_cast<ssize_t>(count);
}

void* __real_mmap64(void* at, std::size_t size, int protection, int flags, int file, off_t offset);
void* __wrap_mmap64(void* at, std::size_t size, int protection, int flags, int descriptor,
                    off_t offset) {
  const ObjectPointer file = find_object(descriptor);
  if (!is_active() || (descriptor >= 0 && !file)) {
    return __real_mmap64(at, size, protection, flags, descriptor, offset);
  }
  if (size == 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  if (fails()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (!file) {
    // Addresses that nothing is at are taken from the system: an access is a signal.
    const bool is_real = protection == PROT_NONE;
    void* const out = is_real ? __real_mmap64(at, size, protection, flags, -1, 0) : new_block(size);
    if (out != MAP_FAILED) state.mappings.emplace(out, Mapped{nullptr, size, is_real});
    return out;
  }
  const bool is_written = (protection & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0;
  std::byte* const bytes = file->kind == Object::Kind::file ? file->data() : nullptr;
  const auto begin = static_cast<std::uint64_t>(offset);
  if (!bytes || begin > file->size || (is_written && (file->seals & F_SEAL_WRITE) != 0)) {
    errno = bytes ? EPERM : ENODEV;
    return MAP_FAILED;
  }
  // A page behind the end of its file, by now or later, is a signal.
  if (size > file->size - begin) report("pages behind the end of a file are mapped");
  if ((file->seals & F_SEAL_SHRINK) == 0) report("a file is mapped that may become smaller");
  state.mappings.emplace(bytes + begin, Mapped{file, size, false});
  return bytes + begin;
}

int __real_munmap(void* at, std::size_t size);
int __wrap_munmap(void* at, std::size_t size) {
  if (!is_active()) return __real_munmap(at, size);
  const auto found = state.mappings.find(at);
  if (found == state.mappings.end()) return __real_munmap(at, size);
  if (found->second.size != size) report("a mapping is ended with another size");
  if (!found->second.file) {
    if (found->second.is_real) {
      __real_munmap(at, size);
    } else {
      free_block(static_cast<std::byte*>(at), size);
    }
  }
  state.mappings.erase(found);
  return 0;
}

int __real_madvise(void* at, std::size_t size, int advice);
int __wrap_madvise(void* at, std::size_t size, int advice) {
  return is_active() && advice == MADV_WIPEONFORK ? 0 : __real_madvise(at, size, advice);
}

int __real_close(int descriptor);
int __wrap_close(int descriptor) {
  if (!is_active() || descriptor < first_descriptor) return __real_close(descriptor);
  if (!find_object(descriptor)) report("a descriptor is closed that is not open");
  --state.num_open;
  state.descriptors[static_cast<std::size_t>(descriptor - first_descriptor)] = nullptr;
  return 0;
}

int __real_socketpair(int domain, int type, int protocol, int* ends);
int __wrap_socketpair(int domain, int type, int protocol, int* ends) {
  if (!is_active()) return __real_socketpair(domain, type, protocol, ends);
  if (fails()) return refuse(EMFILE);
  const auto made = System::make_sockets();
  ends[0] = state.system->open(made.first);
  ends[1] = state.system->open(made.second);
  return 0;
}

int __real_shutdown(int descriptor, int how);
int __wrap_shutdown(int descriptor, int how) {
  const ObjectPointer socket = find_object(descriptor);
  if (!socket) return __real_shutdown(descriptor, how);
  socket->is_shut = true;
  return 0;
}

ssize_t __real_sendmsg(int descriptor, const msghdr* message, int flags);
ssize_t __wrap_sendmsg(int descriptor, const msghdr* message, int flags) {
  const ObjectPointer socket = find_object(descriptor);
  if (!socket) return __real_sendmsg(descriptor, message, flags);
  if (socket->kind != Object::Kind::socket) return refuse(ENOTSOCK);
  if (fails()) return refuse(ETOOMANYREFS);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    const auto* const begin = static_cast<const std::byte*>(message->msg_iov[i].iov_base);
    bytes.insert(bytes.end(), begin, begin + message->msg_iov[i].iov_len);
  }
  std::vector<ObjectPointer> descriptors;
  const cmsghdr* const header = message->msg_control ? CMSG_FIRSTHDR(message) : nullptr;
  const std::size_t count = header ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    int sent = -1;
    std::memcpy(&sent, CMSG_DATA(header) + i * sizeof(int), sizeof sent);
    ObjectPointer object = find_object(sent);
    if (!object && sent >= first_descriptor) return refuse(EBADF);
    descriptors.push_back(object ? std::move(object) : std::make_shared<Object>());
  }
  const int reason = state.peer->send(socket, bytes, descriptors);
  return reason == 0 ? static_cast<ssize_t>(bytes.size()) : refuse(reason);
}

ssize_t __real_recvmsg(int descriptor, msghdr* message, int flags);
ssize_t __wrap_recvmsg(int descriptor, msghdr* message, int flags) {
  const ObjectPointer socket = find_object(descriptor);
  if (!socket) return __real_recvmsg(descriptor, message, flags);
  if (socket->kind != Object::Kind::socket) return refuse(ENOTSOCK);
  if (socket->queue.empty()) state.peer->ask(socket);
  const std::size_t room = message->msg_controllen;
  message->msg_controllen = 0;
  if (socket->queue.empty()) {
    const ObjectPointer other = socket->other_end.lock();
    if (!other || other->is_shut) return 0;
    return (flags & MSG_DONTWAIT) != 0 ? refuse(EAGAIN) : 0;
  }
  const Object::Message received = std::move(socket->queue.front());
  socket->queue.pop_front();
  std::size_t done = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    const std::size_t now = std::min(received.bytes.size() - done, message->msg_iov[i].iov_len);
    if (now != 0) std::memcpy(message->msg_iov[i].iov_base, received.bytes.data() + done, now);
    done += now;
  }
  const std::size_t most = room < CMSG_LEN(0) ? 0 : (room - CMSG_LEN(0)) / sizeof(int);
  const std::size_t count = std::min(received.descriptors.size(), most);
  if (count != received.descriptors.size()) message->msg_flags |= MSG_CTRUNC;
  if (count == 0) return static_cast<ssize_t>(done);
  auto* const header = static_cast<cmsghdr*>(message->msg_control);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  for (std::size_t i = 0; i < count; ++i) {
    const int made = state.system->open(received.descriptors[i]);
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &made, sizeof made);
  }
  message->msg_controllen = std::min(room, CMSG_SPACE(count * sizeof(int)));
  return static_cast<ssize_t>(done);
}

int __real_poll(pollfd* waited, nfds_t count, int limit_ms);
int __wrap_poll(pollfd* waited, nfds_t count, int limit_ms) {
  if (!is_active()) return __real_poll(waited, count, limit_ms);
  int ready = 0;
  for (nfds_t i = 0; i < count; ++i) {
    const ObjectPointer object = find_object(waited[i].fd);
    if (object && (waited[i].events & POLLIN) != 0) state.peer->ask(object);
    const bool has_message = object && !object->queue.empty();
    waited[i].revents =
        static_cast<short>((waited[i].events & POLLOUT) | (has_message ? POLLIN : 0));
    ready += waited[i].revents != 0 ? 1 : 0;
  }
  if (ready == 0 && limit_ms > 0) state.system->advance(std::int64_t{limit_ms} * 1'000'000);
  return ready;
}

int __real_ioctl(int descriptor, unsigned long request, void* argument);
int __wrap_ioctl(int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const ObjectPointer object = find_object(descriptor);
  if (!object) return __real_ioctl(descriptor, request, argument);
  if (request != SIOCOUTQ) return refuse(ENOTTY);
  *static_cast<int*>(argument) = state.peer->has_taken(object) ? 0 : 1;
  return 0;
}

int __real_waitid(idtype_t type, id_t id, siginfo_t* info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  return is_active() ? refuse(ECHILD) : __real_waitid(type, id, info, options);
}

int __real_clock_gettime(clockid_t clock, timespec* now);
int __wrap_clock_gettime(clockid_t clock, timespec* now) {
  if (!is_active()) return __real_clock_gettime(clock, now);
  *now = {static_cast<time_t>(state.now_ns / 1'000'000'000),
          static_cast<long>(state.now_ns % 1'000'000'000)};
  return 0;
}

int __real_sched_getaffinity(pid_t process, std::size_t size, cpu_set_t* set);
int __wrap_sched_getaffinity(pid_t process, std::size_t size, cpu_set_t* set) {
  const int out = __real_sched_getaffinity(process, size, set);
  // With one processor nothing spins.
  CPU_ZERO_S(size, set);
  CPU_SET_S(0, size, set);
  return out;
}

long __real_syscall(long number, ...);
// Of words that were not passed it reads what is there.
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...) {
  va_list arguments;
  va_start(arguments, number);
  long words[6];
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  if (is_active() && number == SYS_futex) {
    if ((words[1] & FUTEX_CMD_MASK) != FUTEX_WAIT) return 0;
    const auto* const limit = reinterpret_cast<const timespec*>(words[3]);
    state.peer->wait(reinterpret_cast<void*>(words[0]),
                     limit ? limit->tv_sec * 1'000'000'000 + limit->tv_nsec : -1);
    return 0;
  }
  constexpr long pidfd_send_signal_number = 424;
  if (is_active() && number == pidfd_send_signal_number) {
    state.peer->kill();
    return 0;
  }
  return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
}
// NOLINTEND(bugprone-reserved-identifier)
