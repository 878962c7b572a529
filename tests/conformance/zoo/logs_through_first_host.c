// SPDX-License-Identifier: MIT
// Breaks TN-BCK-9 at level 3: its runtime has one logger, which writes to the host that opened the
// backend first, also when that one has closed it and others have not.
#include "good.h"

static _Atomic(const tenon_host*) log_host;
static atomic_int num_open;

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  const tenon_status status = good_open(host, out);
  if (status != TENON_STATUS_OK) return status;
  if (atomic_fetch_add(&num_open, 1) == 0) atomic_store(&log_host, host);
  return status;
}

static void close_backend(tenon_backend* backend) {
  if (atomic_fetch_sub(&num_open, 1) == 1) atomic_store(&log_host, NULL);
  good_close(backend);
}

static void before_run(void) {
  const tenon_host* const host = atomic_load(&log_host);
  host->log(host, TENON_LOG_DEBUG, "run", 3);
}

#define ZOO_OPEN open_backend
#define ZOO_CLOSE close_backend
#define ZOO_BEFORE_RUN before_run()
#include "good_plugin.h"
