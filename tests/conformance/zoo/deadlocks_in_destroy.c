// SPDX-License-Identifier: MIT
// Breaks TN-BCK-8: `destroy` locks a mutex twice.
#include <pthread.h>
#include "good.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#include "good_plugin.h"
