// SPDX-License-Identifier: MIT
// Breaks TN-BCK-5 at level 6: a thread that `open` started still runs after `close`. Before that
// level only the crash of a thread that had not begun when its code was unmapped shows it.
#include <pthread.h>
#include <unistd.h>
#include "good.h"

static void* wait(void* unused) {
  for (;;) pause();
  return unused;
}

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait, NULL) == 0) pthread_detach(thread);
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#include "good_plugin.h"
