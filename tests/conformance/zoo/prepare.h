// SPDX-License-Identifier: MIT
//
// What is prepared from a blob and kept, for plugins of the zoo: the four bytes of `prepare_text`.

#ifndef TENON_ZOO_PREPARE_H
#define TENON_ZOO_PREPARE_H

#include "good.h"

static const char prepare_text[4] = {'k', 'e', 'p', 't'};

/// The bytes that are kept of the blob of `context`, to be released; NULL where there is no place.
static inline tenon_prepared* prepare_open(const tenon_init_context* context, const char* identity,
                                           size_t identity_size, tenon_status* status) {
  const tenon_host* const host = context->host;
  tenon_prepared* out = NULL;
  *status = TENON_STATUS_OK;
  if (!ZOO_HAS(host, tenon_host, get_extension)) return NULL;
  const tenon_prepare_v1* const table =
      (const tenon_prepare_v1*)host->get_extension(host, TENON_EXTENSION_PREPARE);
  if (table) *status = table->open(context, identity, identity_size, &out);
  return *status == TENON_STATUS_OK ? out : NULL;
}

/// Whether `prepared` has bytes; they are those that `prepare_store` gave.
static inline int prepare_is_found(const tenon_prepared* prepared) {
  return prepared->nbytes == sizeof prepare_text &&
         memcmp(prepared->data, prepare_text, sizeof prepare_text) == 0;
}

static inline tenon_status prepare_store(tenon_prepared* prepared) {
  const tenon_span part = {prepare_text, sizeof prepare_text};
  return prepared->store(prepared, &part, 1);
}

static inline void prepare_and_release(tenon_prepared* prepared) {
  (void)prepare_store(prepared);
  prepared->release(prepared);
}

#endif  // TENON_ZOO_PREPARE_H
