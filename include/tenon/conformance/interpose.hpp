// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>  // Defines __GLIBC__ with that C library.

#include "tenon/abi/version.h"
#include "tenon/core/sanitizer.hpp"

/// Defines functions of the C library that count and can fail; include it in exactly one source of
/// a program. A plugin finds the program's functions before the library's if the program exports
/// them (`-rdynamic`, Meson's `export_dynamic`).
///
/// Counted: malloc, calloc, realloc, free, aligned_alloc, posix_memalign and memalign, of the whole
/// process, and separately those inside calls of the plugin. Failing, only inside calls of the
/// plugin and only as `interposition.faults` decides: open, openat, creat, fopen, fread, fwrite,
/// read, pread, write, pwrite, ftruncate, mmap, mprotect, memfd_create, mkstemp, mkostemp, mkdtemp.
/// Noted, only inside calls of the plugin: setenv, unsetenv, putenv and clearenv that change
/// something, also when it is undone before the call returns.
///
/// Not seen: calls of the C library and the dynamic loader themselves (reads and mappings of
/// dlopen), direct system calls, threads that the plugin started (for failing), and a plugin with a
/// statically linked C library. Only with glibc; under a sanitizer, which defines such functions
/// itself, nothing is defined.
#if TENON_DETAIL_ADDRESS_SANITIZER || TENON_DETAIL_THREAD_SANITIZER || TENON_DETAIL_MEMORY_SANITIZER
#define TENON_INTERPOSE 0
#endif
#if !defined(TENON_INTERPOSE) && defined(__GLIBC__)
#define TENON_INTERPOSE 1
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

// Counts and decisions of the kit, for the functions below. threads: any. They allocate nothing.

/// Counts an allocated block of `size` bytes.
void count_taken(void* block, std::size_t size) noexcept;
/// Whether the plugin frees a block of the host, which is noted and must not happen. Such a block
/// is not one of malloc's, which must not be asked about it.
[[nodiscard]] bool is_of_host(const void* block) noexcept;
/// Counts a block of `size` bytes that is about to be freed.
void count_given_back(std::size_t size) noexcept;
/// Undoes `count_given_back` for a block that was not freed.
void keep_counted(std::size_t size) noexcept;
/// Whether the file operation that the plugin calls is the one to fail.
[[nodiscard]] bool must_fail() noexcept;
/// Notes that the plugin is about to set the variable at `name`, which ends at NUL or '=', to
/// `value`, or to remove it for null. Nothing is noted where that changes nothing.
void note_variable(const char* name, const char* value) noexcept;
/// Notes that this program counts. Returns true.
bool mark_interposed() noexcept;

}}}  // namespace tenon::TENON_RELEASE::conformance::detail

#if TENON_INTERPOSE

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::detail {

inline void* taken(void* block) noexcept {
  if (block) count_taken(block, ::malloc_usable_size(block));
  return block;
}

/// The next function of that name, which is the C library's.
template <class Function>
Function* next(std::atomic<void*>& found, const char* name) noexcept {
  void* function = found;
  if (!function) {
    function = ::dlsym(RTLD_NEXT, name);
    found = function;
  }
  return reinterpret_cast<Function*>(function);
}

inline const bool interposed = mark_interposed();

}}}  // namespace tenon::TENON_RELEASE::conformance::detail

extern "C" {

// The names of glibc's own functions, for programs that define others in their place.
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);

void* malloc(std::size_t size) noexcept {
  return tenon::conformance::detail::taken(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return tenon::conformance::detail::taken(__libc_calloc(count, size));
}
void* realloc(void* block, std::size_t size) noexcept {
  using namespace tenon::conformance::detail;
  if (!block) return taken(__libc_realloc(block, size));
  if (is_of_host(block)) return nullptr;
  const std::size_t before = ::malloc_usable_size(block);
  count_given_back(before);
  void* moved = __libc_realloc(block, size);
  if (moved || size == 0) return taken(moved);
  keep_counted(before);  // It failed, and the block is unchanged.
  return nullptr;
}
void free(void* block) noexcept {
  using namespace tenon::conformance::detail;
  if (!block || is_of_host(block)) return;
  count_given_back(::malloc_usable_size(block));
  __libc_free(block);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return tenon::conformance::detail::taken(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return tenon::conformance::detail::taken(__libc_memalign(alignment, size));
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
    return EINVAL;
  }
  void* block = tenon::conformance::detail::taken(__libc_memalign(alignment, size));
  if (!block) return ENOMEM;
  *out = block;
  return 0;
}

// A function that fails with `number` and `result` when it must, and else calls the C library's.
#define TENON_INTERPOSE_FILE(result_type, name, parameters, arguments, result, number, exception) \
  result_type name parameters exception {                                                         \
    static constinit std::atomic<void*> found = nullptr;                                          \
    if (tenon::conformance::detail::must_fail()) {                                                \
      errno = number;                                                                             \
      return result;                                                                              \
    }                                                                                             \
    return tenon::conformance::detail::next<result_type parameters>(found, #name) arguments;      \
  }
// TENON_INTERPOSE_FILE for functions with a mode that is passed only if the flags ask for a new
// file.
#define TENON_INTERPOSE_OPEN(name, parameters, ...)                                           \
  int name parameters {                                                                       \
    static constinit std::atomic<void*> found = nullptr;                                      \
    mode_t mode = 0;                                                                          \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {                         \
      std::va_list rest;                                                                      \
      va_start(rest, flags);                                                                  \
      mode = va_arg(rest, mode_t);                                                            \
      va_end(rest);                                                                           \
    }                                                                                         \
    if (tenon::conformance::detail::must_fail()) {                                            \
      errno = EMFILE;                                                                         \
      return -1;                                                                              \
    }                                                                                         \
    return tenon::conformance::detail::next<int parameters>(found, #name)(__VA_ARGS__, mode); \
  }

TENON_INTERPOSE_OPEN(open, (const char* path, int flags, ...), path, flags)
TENON_INTERPOSE_OPEN(open64, (const char* path, int flags, ...), path, flags)
TENON_INTERPOSE_OPEN(openat, (int directory, const char* path, int flags, ...), directory, path,
                     flags)
TENON_INTERPOSE_OPEN(openat64, (int directory, const char* path, int flags, ...), directory, path,
                     flags)
TENON_INTERPOSE_FILE(int, creat, (const char* path, mode_t mode), (path, mode), -1, EMFILE, )
TENON_INTERPOSE_FILE(int, creat64, (const char* path, mode_t mode), (path, mode), -1, EMFILE, )
TENON_INTERPOSE_FILE(FILE*, fopen, (const char* path, const char* mode), (path, mode), nullptr,
                     EMFILE, )
TENON_INTERPOSE_FILE(FILE*, fopen64, (const char* path, const char* mode), (path, mode), nullptr,
                     EMFILE, )
TENON_INTERPOSE_FILE(std::size_t, fread,
                     (void* to, std::size_t size, std::size_t count, FILE* file),
                     (to, size, count, file), 0, EIO, )
TENON_INTERPOSE_FILE(std::size_t, fwrite,
                     (const void* from, std::size_t size, std::size_t count, FILE* file),
                     (from, size, count, file), 0, ENOSPC, )
TENON_INTERPOSE_FILE(ssize_t, read, (int file, void* to, std::size_t size), (file, to, size), -1,
                     EIO, )
TENON_INTERPOSE_FILE(ssize_t, pread, (int file, void* to, std::size_t size, off_t at),
                     (file, to, size, at), -1, EIO, )
TENON_INTERPOSE_FILE(ssize_t, pread64, (int file, void* to, std::size_t size, off64_t at),
                     (file, to, size, at), -1, EIO, )
TENON_INTERPOSE_FILE(ssize_t, write, (int file, const void* from, std::size_t size),
                     (file, from, size), -1, ENOSPC, )
TENON_INTERPOSE_FILE(ssize_t, pwrite, (int file, const void* from, std::size_t size, off_t at),
                     (file, from, size, at), -1, ENOSPC, )
TENON_INTERPOSE_FILE(ssize_t, pwrite64, (int file, const void* from, std::size_t size, off64_t at),
                     (file, from, size, at), -1, ENOSPC, )
TENON_INTERPOSE_FILE(int, ftruncate, (int file, off_t size), (file, size), -1, ENOSPC, noexcept)
TENON_INTERPOSE_FILE(int, ftruncate64, (int file, off64_t size), (file, size), -1, ENOSPC, noexcept)
TENON_INTERPOSE_FILE(void*, mmap,
                     (void* at, std::size_t size, int protection, int flags, int file,
                      off_t offset),
                     (at, size, protection, flags, file, offset), MAP_FAILED, ENOMEM, noexcept)
TENON_INTERPOSE_FILE(void*, mmap64,
                     (void* at, std::size_t size, int protection, int flags, int file,
                      off64_t offset),
                     (at, size, protection, flags, file, offset), MAP_FAILED, ENOMEM, noexcept)
TENON_INTERPOSE_FILE(int, mprotect, (void* at, std::size_t size, int protection),
                     (at, size, protection), -1, ENOMEM, noexcept)
TENON_INTERPOSE_FILE(int, memfd_create, (const char* name, unsigned flags), (name, flags), -1,
                     EMFILE, noexcept)
TENON_INTERPOSE_FILE(int, mkstemp, (char* name), (name), -1, EACCES, )
TENON_INTERPOSE_FILE(int, mkostemp, (char* name, int flags), (name, flags), -1, EACCES, )
TENON_INTERPOSE_FILE(char*, mkdtemp, (char* name), (name), nullptr, EACCES, noexcept)

#undef TENON_INTERPOSE_FILE
#undef TENON_INTERPOSE_OPEN

int setenv(const char* name, const char* value, int overwrite) noexcept {
  using namespace tenon::conformance::detail;
  static constinit std::atomic<void*> found = nullptr;
  if (overwrite != 0 || !std::getenv(name)) note_variable(name, value);
  return next<int(const char*, const char*, int)>(found, "setenv")(name, value, overwrite);
}
int unsetenv(const char* name) noexcept {
  using namespace tenon::conformance::detail;
  static constinit std::atomic<void*> found = nullptr;
  note_variable(name, nullptr);
  return next<int(const char*)>(found, "unsetenv")(name);
}
int putenv(char* text) noexcept {
  using namespace tenon::conformance::detail;
  static constinit std::atomic<void*> found = nullptr;
  const char* const at = std::strchr(text, '=');
  note_variable(text, at ? at + 1 : nullptr);
  return next<int(char*)>(found, "putenv")(text);
}
int clearenv() noexcept {
  using namespace tenon::conformance::detail;
  static constinit std::atomic<void*> found = nullptr;
  for (char** each = environ; each && *each; ++each) note_variable(*each, nullptr);
  return next<int()>(found, "clearenv")();
}

}  // extern "C"

#endif  // TENON_INTERPOSE
