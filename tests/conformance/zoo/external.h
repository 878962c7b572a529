// SPDX-License-Identifier: MIT
//
// The good backend, which imports files in memory and knows the fences that an eventfd is. A plugin
// of the zoo includes this in place of good.h, and replaces what it breaks.

#ifndef TENON_ZOO_EXTERNAL_H
#define TENON_ZOO_EXTERNAL_H

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "good.h"

struct tenon_imported_memory {
  void* begin;
  size_t size;
};

static inline int zoo_has_range(const tenon_external_memory* memory) {
  struct stat status;
  if (fstat((int)memory->descriptor, &status) != 0) return 0;
  const int seals = fcntl((int)memory->descriptor, F_GET_SEALS);
  const uint64_t size = (uint64_t)status.st_size;
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && memory->nbytes > 0 &&
         memory->offset <= size && memory->nbytes <= size - memory->offset;
}
#ifndef ZOO_HAS_RANGE
#define ZOO_HAS_RANGE zoo_has_range
#endif
/// How a kind of memory that is not known is refused.
#ifndef ZOO_UNKNOWN_KIND
#define ZOO_UNKNOWN_KIND TENON_STATUS_NOT_SUPPORTED
#endif
#ifndef ZOO_PROTECTION
#define ZOO_PROTECTION(memory) \
  (((memory)->access & TENON_EXTERNAL_WRITE) != 0 ? PROT_READ | PROT_WRITE : PROT_READ)
#endif
/// MAP_SHARED, or what a broken one has in its place.
#ifndef ZOO_MAPPING
#define ZOO_MAPPING MAP_SHARED
#endif

static inline tenon_status zoo_import(tenon_backend* backend, const tenon_external_memory* memory,
                                      tenon_imported_memory** out, void** address) {
  const tenon_host* const host = backend->host;
  if (strcmp(memory->kind, TENON_KIND_MEMFD) != 0) {
    return good_fail(host, ZOO_UNKNOWN_KIND, "memory: expected kind '%s', found kind '%s'",
                     TENON_KIND_MEMFD, memory->kind);
  }
  if (memory->device.device_type != TENON_DL_CPU || !ZOO_HAS_RANGE(memory)) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "memory: expected a sealed file with %llu bytes from %llu, found none",
                     (unsigned long long)memory->nbytes, (unsigned long long)memory->offset);
  }
  const uint64_t before = memory->offset % (uint64_t)sysconf(_SC_PAGESIZE);
  tenon_imported_memory made = {.size = (size_t)(before + memory->nbytes)};
  made.begin = mmap(NULL, made.size, ZOO_PROTECTION(memory), ZOO_MAPPING, (int)memory->descriptor,
                    (off_t)(memory->offset - before));
  if (made.begin == MAP_FAILED) {
    return good_fail(host, TENON_STATUS_INVALID_ARGUMENT,
                     "memory: expected a file that can be mapped with access %u, found descriptor "
                     "%d",
                     memory->access, (int)memory->descriptor);
  }
  tenon_imported_memory* const kept = (tenon_imported_memory*)malloc(sizeof *kept);
  if (!kept) {
    munmap(made.begin, made.size);
    return good_fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "memory: expected %zu bytes, found none", sizeof *kept);
  }
  *kept = made;
  *out = kept;
  *address = (char*)made.begin + before;
  return TENON_STATUS_OK;
}

static inline void zoo_release(tenon_backend* backend, tenon_imported_memory* memory) {
  (void)backend;
  if (memory) munmap(memory->begin, memory->size);
  free(memory);
}

static inline tenon_status zoo_check_fence(tenon_backend* backend,
                                           const tenon_external_fence* fence) {
  if (strcmp(fence->kind, TENON_KIND_EVENTFD) == 0) return TENON_STATUS_OK;
  return good_fail(backend->host, TENON_STATUS_NOT_SUPPORTED,
                   "fence: expected kind '%s', found kind '%s'", TENON_KIND_EVENTFD, fence->kind);
}

static inline tenon_status zoo_wait_fence(tenon_backend* backend, tenon_delegate* delegate,
                                          const tenon_external_fence* fence) {
  (void)delegate;
  const tenon_status status = zoo_check_fence(backend, fence);
  if (status != TENON_STATUS_OK) return status;
  struct pollfd wanted = {(int)fence->descriptor, POLLIN, 0};
  if (poll(&wanted, 1, 10000) == 1) return TENON_STATUS_OK;
  return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                   "fence: expected a signal in 10 s, found none");
}

static inline tenon_status zoo_signal_fence(tenon_backend* backend, tenon_delegate* delegate,
                                            const tenon_external_fence* fence) {
  (void)delegate;
  const tenon_status status = zoo_check_fence(backend, fence);
  if (status != TENON_STATUS_OK) return status;
  const uint64_t one = 1;
  if (write((int)fence->descriptor, &one, sizeof one) == sizeof one) return TENON_STATUS_OK;
  return good_fail(backend->host, TENON_STATUS_INVALID_ARGUMENT,
                   "fence: expected an eventfd, found descriptor %d", (int)fence->descriptor);
}

#ifndef ZOO_IMPORT
#define ZOO_IMPORT zoo_import
#endif
#ifndef ZOO_RELEASE
#define ZOO_RELEASE zoo_release
#endif
#ifndef ZOO_WAIT_FENCE
#define ZOO_WAIT_FENCE zoo_wait_fence
#endif
#ifndef ZOO_SIGNAL_FENCE
#define ZOO_SIGNAL_FENCE zoo_signal_fence
#endif
#define ZOO_EXTENSIONS(id)                                                               \
  do {                                                                                   \
    static const char* const memory_kinds[] = {TENON_KIND_MEMFD};                        \
    static const char* const fence_kinds[] = {TENON_KIND_EVENTFD};                       \
    static const tenon_external_memory_v1 external = {.struct_size = sizeof external,    \
                                                      .num_memory_kinds = 1,             \
                                                      .num_fence_kinds = 1,              \
                                                      .memory_kinds = memory_kinds,      \
                                                      .fence_kinds = fence_kinds,        \
                                                      .import_memory = ZOO_IMPORT,       \
                                                      .release_memory = ZOO_RELEASE,     \
                                                      .wait_fence = ZOO_WAIT_FENCE,      \
                                                      .signal_fence = ZOO_SIGNAL_FENCE}; \
    if (strcmp(id, TENON_EXTENSION_EXTERNAL_MEMORY) == 0) return &external;              \
  } while (0)

#endif  // TENON_ZOO_EXTERNAL_H
