// SPDX-License-Identifier: MIT
//
// Embedded code (TN-COD). README.md says how a section becomes a plugin.

#ifdef ZOO_asks_for_part_of_code
// Breaks TN-COD-2 at level 4: it asks for permission for half of the code that it maps.
#define ZOO_ASK(context) ask_for_code((context), (context)->processed->nbytes / 2)
#include "code.h"
#endif

#ifdef ZOO_hides_its_code
// Breaks TN-COD-1 at level 4: it asks for permission for code, but its record does not declare
// that.
#define ZOO_FLAGS 0
#include "code.h"
#endif

#ifdef ZOO_maps_code_unasked
// Breaks TN-COD-1 at level 4: `init` maps the blob as code without permission.
#define ZOO_ASK(context) TENON_STATUS_OK
#include "code.h"
#endif

#ifdef ZOO_maps_refused_code
// Breaks TN-COD-3 at level 4: it maps the code although the host refused permission.
#define ZOO_ASK(context) (ask_for_code((context), (context)->processed->nbytes), TENON_STATUS_OK)
#include "code.h"
#endif

#include "code.h"

#ifdef ZOO_check_blob_maps_code
// Breaks TN-COD-4 at level 4: `check_blob` maps the blob as code, until `close`.
static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                               uint32_t* verdict) {
  const tenon_status status = good_check_blob(backend, context, verdict);
  if (status != TENON_STATUS_OK || *verdict == TENON_BLOB_INCOMPATIBLE) return status;
  unmap_code(&backend->note);
  return map_code(backend->host, context->processed, &backend->note);
}

static void close_backend(tenon_backend* backend) {
  unmap_code(&backend->note);
  good_close(backend);
}

#define ZOO_CHECK_BLOB check_blob
#define ZOO_CLOSE close_backend
#endif

#ifdef ZOO_good_code
// Breaks nothing: a backend that maps code of the program.
#include "code.h"
#endif

#include "good_plugin.h"
