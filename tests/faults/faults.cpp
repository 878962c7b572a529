// SPDX-License-Identifier: MIT
//
// For LD_PRELOAD: makes one call of the C library fail in a program that knows nothing of it.
//
// TENON_FAULT=GROUP:NUMBER[:HOW]  the call NUMBER of GROUP, counted from 1, over all threads
//   GROUP  memory   malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign
//          open     open, openat, fopen, opendir, fdopendir, memfd_create
//          read     read, pread, readv, fread
//          map      mmap
//          write    write, pwrite, writev, ftruncate; fwrite, fputs and fflush of standard output
//          name     linkat, rename, mkdir, mkdtemp, stat, fstat, lstat, readlink
//          load     dlopen
//          process  posix_spawn, pthread_create
//   HOW    fail (the default): the call fails, with the error that it has when it runs out
//          all: this call and all later ones fail
//          interrupt: EINTR; short: one byte is transferred. Of read, pread, readv, write, pwrite
//          and writev, the only ones that are counted then.
// TENON_FAULT_REPORT=DESCRIPTOR  receives 'h' when the call is hit, and 'd' when the program ends
//                                with more open descriptors than it began with
//
// Standard error is left alone: it has the report that the test reads. Children of the program are
// as well. Calls inside the C library (what `fputs` calls, what `dlopen` opens) are not seen, and
// memory of the dynamic loader is not counted.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

enum class Group { memory, open, read, map, write, name, load, process };
enum class How { fail, all, interrupt, cut };

constexpr const char* group_names[] = {"memory", "open", "read", "map",
                                       "write",  "name", "load", "process"};
constexpr const char* how_names[] = {"fail", "all", "interrupt", "short"};

struct Plan {
  bool active = false;
  Group group = Group::memory;
  How how = How::fail;
  long number = 0;
  int report = -1;
  int descriptors = 0;
};

Plan plan;
std::atomic<int> plan_state{0};  // 0: not read, 1: is being read, 2: read.
std::atomic<long> num_calls{0};
std::atomic<bool> reported{false};

int open_descriptors() {
  int count = 0;
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    if (::syscall(SYS_fcntl, descriptor, F_GETFD) != -1) ++count;
  }
  return count;
}

void report(char what) {
  if (plan.report >= 0) ::syscall(SYS_write, plan.report, &what, 1);
}

/// Index of the word at `text` in `names`, or -1; moves `text` behind it.
template <std::size_t count>
int word(const char*& text, const char* const (&names)[count]) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = std::strlen(names[i]);
    if (std::strncmp(text, names[i], size) != 0) continue;
    text += size;
    return static_cast<int>(i);
  }
  return -1;
}

void read_plan() {
  const char* text = std::getenv("TENON_FAULT");
  const char* const descriptor = std::getenv("TENON_FAULT_REPORT");
  if (!text || !descriptor) return;
  const int group = word(text, group_names);
  if (group < 0 || *text++ != ':') return;
  char* end = nullptr;
  plan.number = std::strtol(text, &end, 10);
  text = end;
  if (*text == ':') {
    ++text;
    const int how = word(text, how_names);
    if (how < 0) return;
    plan.how = static_cast<How>(how);
  }
  plan.group = static_cast<Group>(group);
  plan.report = static_cast<int>(std::strtol(descriptor, nullptr, 10));
  ::syscall(SYS_fcntl, plan.report, F_SETFD, FD_CLOEXEC);
  plan.descriptors = open_descriptors();
  plan.active = true;
}

/// Reads the environment once: at the first call, which comes before any constructor. False while
/// that is under way.
bool has_plan() {
  if (plan_state.load(std::memory_order_acquire) == 2) return true;
  int unread = 0;
  if (!plan_state.compare_exchange_strong(unread, 1)) return false;
  read_plan();
  plan_state.store(2, std::memory_order_release);
  return true;
}

/// Counts a call of `group`; true when this call is to fail.
bool hit(Group group) {
  if (!has_plan()) return false;
  if (!plan.active || plan.group != group) return false;
  const long number = num_calls.fetch_add(1) + 1;
  if (number != plan.number && !(plan.how == How::all && number > plan.number)) return false;
  if (!reported.exchange(true)) report('h');
  return true;
}

/// As `hit`, with the error set. For calls that are neither interrupted nor cut short.
bool fails(Group group, int number) {
  if (plan.how == How::interrupt || plan.how == How::cut || !hit(group)) return false;
  errno = number;
  return true;
}

/// Whether `code` is in the dynamic loader. Its memory is left alone: after `dlopen` has failed for
/// want of it, glibc 2.36 uses memory that it freed (_dl_find_object_update).
bool is_in_loader(const void* code) {
  static const std::uintptr_t begin = ::getauxval(AT_BASE);
  static const std::uintptr_t size = [] {
    std::uintptr_t end = 0;
    if (begin == 0) return end;
    const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(begin);
    const auto* const parts = reinterpret_cast<const ElfW(Phdr)*>(begin + header.e_phoff);
    for (int i = 0; i < header.e_phnum; ++i) {
      if (parts[i].p_type == PT_LOAD) end = parts[i].p_vaddr + parts[i].p_memsz;
    }
    return end;
  }();
  return reinterpret_cast<std::uintptr_t>(code) - begin < size;
}

bool memory_fails(const void* caller) {
  return !is_in_loader(caller) && fails(Group::memory, ENOMEM);
}

/// How many of `size` bytes to transfer; -1 with the error set when the call fails.
::ssize_t size_of_transfer(Group group, std::size_t size, int number) {
  if (!hit(group)) return static_cast<::ssize_t>(size);
  if (plan.how == How::cut) return size == 0 ? 0 : 1;
  errno = plan.how == How::interrupt ? EINTR : number;
  return -1;
}

/// The C library's definition of a function.
template <class Function>
Function* next(const char* name, std::atomic<void*>& kept) {
  void* found = kept.load(std::memory_order_relaxed);
  if (!found) {
    found = ::dlsym(RTLD_NEXT, name);
    kept.store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function*>(found);
}

#define NEXT(name)                              \
  ([]() -> decltype(&::name) {                  \
    static std::atomic<void*> kept{nullptr};    \
    return next<decltype(::name)>(#name, kept); \
  }())

// glibc's own allocator. Finding it takes no memory.
void* glibc_malloc(std::size_t size) {
  static std::atomic<void*> kept{nullptr};
  return next<void*(std::size_t)>("__libc_malloc", kept)(size);
}
void* glibc_calloc(std::size_t count, std::size_t size) {
  static std::atomic<void*> kept{nullptr};
  return next<void*(std::size_t, std::size_t)>("__libc_calloc", kept)(count, size);
}
void* glibc_realloc(void* memory, std::size_t size) {
  static std::atomic<void*> kept{nullptr};
  return next<void*(void*, std::size_t)>("__libc_realloc", kept)(memory, size);
}
void* glibc_memalign(std::size_t alignment, std::size_t size) {
  static std::atomic<void*> kept{nullptr};
  return next<void*(std::size_t, std::size_t)>("__libc_memalign", kept)(alignment, size);
}

/// Finds all of the allocator before the program runs: `dlerror` takes memory while it uses the
/// text of the last error, which a `dlsym` that succeeds frees.
void find_allocator() {
  for (void* const memory :
       {glibc_malloc(1), glibc_calloc(1, 1), glibc_realloc(nullptr, 1), glibc_memalign(16, 1)}) {
    std::free(memory);
  }
}

__attribute__((constructor)) void begin() {
  static_cast<void>(has_plan());
  find_allocator();
  // Not for the children of the program.
  ::unsetenv("TENON_FAULT");
  ::unsetenv("TENON_FAULT_REPORT");
}

__attribute__((destructor)) void end() {
  const bool opened_more = plan.active && open_descriptors() > plan.descriptors;
  if (opened_more) report('d');
}

/// Whether `open` has a mode: when a file may be made.
bool takes_mode(int flags) noexcept {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int open_at(int directory, const char* path, int flags, unsigned mode) {
  if (fails(Group::open, EMFILE)) return -1;
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Under both names: a program that defines `malloc` itself calls glibc's by the other one.
#define DEFINE_MEMORY(malloc, calloc, realloc, memalign)                     \
  void* malloc(std::size_t size) noexcept {                                  \
    if (memory_fails(__builtin_return_address(0))) return nullptr;           \
    return glibc_malloc(size);                                               \
  }                                                                          \
  void* calloc(std::size_t count, std::size_t size) noexcept {               \
    if (memory_fails(__builtin_return_address(0))) return nullptr;           \
    return glibc_calloc(count, size);                                        \
  }                                                                          \
  void* realloc(void* memory, std::size_t size) noexcept {                   \
    const bool frees = size == 0;                                            \
    if (!frees && memory_fails(__builtin_return_address(0))) return nullptr; \
    return glibc_realloc(memory, size);                                      \
  }                                                                          \
  void* memalign(std::size_t alignment, std::size_t size) noexcept {         \
    if (memory_fails(__builtin_return_address(0))) return nullptr;           \
    return glibc_memalign(alignment, size);                                  \
  }
DEFINE_MEMORY(malloc, calloc, realloc, memalign)
DEFINE_MEMORY(__libc_malloc, __libc_calloc, __libc_realloc, __libc_memalign)

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  void* const memory = memalign(alignment, size);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}

#define DEFINE_OPEN(name, parameters, directory)                           \
  int name parameters {                                                    \
    va_list list;                                                          \
    va_start(list, flags);                                                 \
    const unsigned mode = takes_mode(flags) ? va_arg(list, unsigned) : 0U; \
    va_end(list);                                                          \
    return open_at(directory, path, flags, mode);                          \
  }
DEFINE_OPEN(open, (const char* path, int flags, ...), AT_FDCWD)
DEFINE_OPEN(open64, (const char* path, int flags, ...), AT_FDCWD)
DEFINE_OPEN(openat, (int directory, const char* path, int flags, ...), directory)
DEFINE_OPEN(openat64, (int directory, const char* path, int flags, ...), directory)

FILE* fopen(const char* path, const char* mode) {
  return fails(Group::open, EMFILE) ? nullptr : NEXT(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return fails(Group::open, EMFILE) ? nullptr : NEXT(fopen64)(path, mode);
}
DIR* opendir(const char* path) {
  return fails(Group::open, EMFILE) ? nullptr : NEXT(opendir)(path);
}
DIR* fdopendir(int descriptor) {
  return fails(Group::open, ENOMEM) ? nullptr : NEXT(fdopendir)(descriptor);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  if (fails(Group::open, EMFILE)) return -1;
  return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
}

::ssize_t read(int descriptor, void* to, std::size_t size) {
  const ::ssize_t part = size_of_transfer(Group::read, size, EIO);
  return part < 0 ? part : ::syscall(SYS_read, descriptor, to, part);
}
::ssize_t pread64(int descriptor, void* to, std::size_t size, off64_t offset) {
  const ::ssize_t part = size_of_transfer(Group::read, size, EIO);
  return part < 0 ? part : ::syscall(SYS_pread64, descriptor, to, part, offset);
}
::ssize_t pread(int descriptor, void* to, std::size_t size, off_t offset) {
  return pread64(descriptor, to, size, offset);
}
::ssize_t readv(int descriptor, const iovec* parts, int count) {
  const ::ssize_t part = size_of_transfer(Group::read, 2, EIO);
  if (part < 0) return part;
  return part == 1 ? ::syscall(SYS_read, descriptor, parts[0].iov_base, 1)
                   : ::syscall(SYS_readv, descriptor, parts, count);
}
std::size_t fread(void* to, std::size_t size, std::size_t count, FILE* file) {
  return fails(Group::read, EIO) ? 0 : NEXT(fread)(to, size, count, file);
}

void* mmap64(void* at, std::size_t size, int protection, int flags, int descriptor,
             off64_t offset) noexcept {
  if (fails(Group::map, ENOMEM)) return MAP_FAILED;
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, at, size, protection, flags, descriptor, offset));
}
void* mmap(void* at, std::size_t size, int protection, int flags, int descriptor,
           off_t offset) noexcept {
  return mmap64(at, size, protection, flags, descriptor, offset);
}

::ssize_t write(int descriptor, const void* from, std::size_t size) {
  const ::ssize_t part = size_of_transfer(Group::write, size, ENOSPC);
  return part < 0 ? part : ::syscall(SYS_write, descriptor, from, part);
}
::ssize_t pwrite64(int descriptor, const void* from, std::size_t size, off64_t offset) {
  const ::ssize_t part = size_of_transfer(Group::write, size, ENOSPC);
  return part < 0 ? part : ::syscall(SYS_pwrite64, descriptor, from, part, offset);
}
::ssize_t pwrite(int descriptor, const void* from, std::size_t size, off_t offset) {
  return pwrite64(descriptor, from, size, offset);
}
::ssize_t writev(int descriptor, const iovec* parts, int count) {
  const ::ssize_t part = size_of_transfer(Group::write, 2, ENOSPC);
  if (part < 0) return part;
  return part == 1 ? ::syscall(SYS_write, descriptor, parts[0].iov_base, 1)
                   : ::syscall(SYS_writev, descriptor, parts, count);
}
int ftruncate64(int descriptor, off64_t size) noexcept {
  if (fails(Group::write, ENOSPC)) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, descriptor, size));
}
int ftruncate(int descriptor, off_t size) noexcept { return ftruncate64(descriptor, size); }
std::size_t fwrite(const void* from, std::size_t size, std::size_t count, FILE* file) {
  if (file == stdout && fails(Group::write, ENOSPC)) return 0;
  return NEXT(fwrite)(from, size, count, file);
}
int fputs(const char* text, FILE* file) {
  if (file == stdout && fails(Group::write, ENOSPC)) return EOF;
  return NEXT(fputs)(text, file);
}
int fflush(FILE* file) {
  if (file == stdout && fails(Group::write, ENOSPC)) return EOF;
  return NEXT(fflush)(file);
}

int linkat(int from_directory, const char* from, int to_directory, const char* to,
           int flags) noexcept {
  if (fails(Group::name, EACCES)) return -1;
  return static_cast<int>(::syscall(SYS_linkat, from_directory, from, to_directory, to, flags));
}
int rename(const char* from, const char* to) noexcept {
  if (fails(Group::name, EACCES)) return -1;
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (fails(Group::name, EACCES)) return -1;
  return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
char* mkdtemp(char* path) noexcept {
  return fails(Group::name, EACCES) ? nullptr : NEXT(mkdtemp)(path);
}
int fstat64(int descriptor, struct stat64* out) noexcept {
  if (fails(Group::name, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, descriptor, "", out, AT_EMPTY_PATH));
}
int stat64(const char* path, struct stat64* out) noexcept {
  if (fails(Group::name, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, out, 0));
}
int lstat64(const char* path, struct stat64* out) noexcept {
  if (fails(Group::name, EIO)) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW));
}
// The two structures are the same where `long` has 64 bits.
int fstat(int descriptor, struct stat* out) noexcept {
  return fstat64(descriptor, reinterpret_cast<struct stat64*>(out));
}
int stat(const char* path, struct stat* out) noexcept {
  return stat64(path, reinterpret_cast<struct stat64*>(out));
}
int lstat(const char* path, struct stat* out) noexcept {
  return lstat64(path, reinterpret_cast<struct stat64*>(out));
}
::ssize_t readlink(const char* path, char* to, std::size_t size) noexcept {
  if (fails(Group::name, EIO)) return -1;
  return ::syscall(SYS_readlinkat, AT_FDCWD, path, to, size);
}

void* dlopen(const char* path, int mode) noexcept {
  // A failure for which `dlerror` has a text.
  return NEXT(dlopen)(hit(Group::load) ? "/tenon-fault/none.so" : path, mode);
}

int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) {
  if (hit(Group::process)) return EAGAIN;
  return NEXT(posix_spawn)(child, path, actions, attributes, arguments, environment);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  if (hit(Group::process)) return EAGAIN;
  return NEXT(pthread_create)(thread, attributes, start, argument);
}

}  // extern "C"
#pragma GCC visibility pop
