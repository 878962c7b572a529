// SPDX-License-Identifier: MIT
//
// A backend that maps its blob as code, and may ask for permission first. The code is never run.

#ifndef TENON_ZOO_CODE_H
#define TENON_ZOO_CODE_H

#include <sys/mman.h>

#include "good.h"

typedef struct code {
  void* address;
  size_t nbytes;
} code;

static inline void unmap_code(void** note) {
  code* const mapped = (code*)*note;
  if (mapped) munmap(mapped->address, mapped->nbytes);
  free(mapped);
  *note = NULL;
}

/// Maps the bytes of `blob`, executable; `*note` is for `unmap_code`.
static inline tenon_status map_code(const tenon_host* host, const tenon_buffer* blob, void** note) {
  code* const mapped = (code*)malloc(sizeof *mapped);
  if (!mapped) {
    return good_fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "code: expected %zu bytes of memory, found none", sizeof *mapped);
  }
  mapped->nbytes = (size_t)blob->nbytes;
  mapped->address =
      mmap(NULL, mapped->nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped->address == MAP_FAILED) {
    free(mapped);
    return good_fail(host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                     "code: expected a mapping of %llu bytes, found none",
                     (unsigned long long)blob->nbytes);
  }
  memcpy(mapped->address, blob->data, mapped->nbytes);
  *note = mapped;
  if (mprotect(mapped->address, mapped->nbytes, PROT_READ | PROT_EXEC) == 0) {
    return TENON_STATUS_OK;
  }
  unmap_code(note);
  return good_fail(host, TENON_STATUS_ACCESS_FAILED,
                   "code: expected %llu bytes that can be run, found none",
                   (unsigned long long)blob->nbytes);
}

/// Whether the host permits mapping `nbytes` bytes of the blob.
static inline tenon_status ask_for_code(const tenon_init_context* context, uint64_t nbytes) {
  if (!ZOO_HAS(context, tenon_init_context, permit_code) || !context->permit_code) {
    return TENON_STATUS_OK;
  }
  return context->permit_code(context, context->processed->data, nbytes);
}

#ifndef ZOO_ASK
#define ZOO_ASK(context) ask_for_code((context), (context)->processed->nbytes)
#endif

static inline tenon_status code_init(tenon_backend* backend, const tenon_init_context* context,
                                     tenon_delegate** out) {
  good_blob blob = {.version = 0};
  tenon_status status = good_read_blob(backend->host, context->processed, &blob);
  if (status == TENON_STATUS_OK) status = ZOO_ASK(context);
  void* note = NULL;
  if (status == TENON_STATUS_OK) status = map_code(backend->host, context->processed, &note);
  if (status == TENON_STATUS_OK) status = good_init(backend, context, out);
  if (status == TENON_STATUS_OK) {
    (*out)->note = note;
  } else {
    unmap_code(&note);
  }
  return status;
}

static inline void code_destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) unmap_code(&delegate->note);
  good_destroy(backend, delegate);
}

#define ZOO_INIT code_init
#define ZOO_DESTROY code_destroy
#ifndef ZOO_FLAGS
#define ZOO_FLAGS TENON_BACKEND_RUNS_EMBEDDED_CODE
#endif

#endif  // TENON_ZOO_CODE_H
