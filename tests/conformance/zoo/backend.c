// SPDX-License-Identifier: MIT
//
// `open`, `close`, and what any call may do (TN-BCK). README.md says how a section becomes a
// plugin.

#ifdef ZOO_aborts_in_preprocess
// Breaks TN-BCK-7 at level 5: `preprocess` ends the process.
#include "good_compiler.h"

static tenon_status preprocess(tenon_backend* backend, const tenon_partition* partitions,
                               uint32_t count, const tenon_preprocess_sink* sink) {
  (void)backend;
  (void)partitions;
  (void)count;
  (void)sink;
  abort();
}

#undef ZOO_PREPROCESS
#define ZOO_PREPROCESS preprocess
#endif

#ifdef ZOO_null_execute
// Breaks TN-BCK-3: its table has no `execute`.
#define ZOO_EXECUTE NULL
#endif

#ifdef ZOO_short_table
// Breaks TN-BCK-3: its table ends before `destroy`.
#define ZOO_API_SIZE offsetof(tenon_backend_api, destroy)
#endif

#ifdef ZOO_walks_by_sizeof
// Breaks TN-BCK-10 at level 3: the step between compile specs is the size of today's struct.
#define ZOO_STEP(first) sizeof *(first)
#include "good.h"
#endif

#include "good.h"

#ifdef ZOO_aborts_in_execute
// Breaks TN-BCK-7: `execute` aborts.
#define ZOO_AFTER_RUN abort()
#endif

#ifdef ZOO_aborts_on_empty_blob
// Breaks TN-BCK-7 at level 5: `init` asserts that the blob is not empty.
#define ZOO_BEFORE_INIT \
  if (context->processed->nbytes == 0) abort()
#endif

#ifdef ZOO_crashes_without_device
// Breaks TN-BCK-6: `is_available` crashes if the file of its device is missing.
#include <stdio.h>
static tenon_status is_available(tenon_backend* backend) {
  FILE* const device = fopen("/dev/zoo/keeper", "rb");
  char name[16];
  // A correct plugin checks whether the file exists.
  if (fread(name, sizeof name, 1, device) == 1) fclose(device);
  return good_is_available(backend);
}

#define ZOO_IS_AVAILABLE is_available
#endif

#ifdef ZOO_deadlocks_in_destroy
// Breaks TN-BCK-8: `destroy` locks a mutex twice.
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_denies_its_device
// Breaks TN-BCK-6 at level 3: `is_available` reports that there is no device, but it loads and
// runs.
static tenon_status is_available(tenon_backend* backend) {
  return good_fail(backend->host, TENON_STATUS_NOT_FOUND,
                   "device: expected /dev/zoo/keeper, found no such file");
}

#define ZOO_IS_AVAILABLE is_available
#endif

#ifdef ZOO_ends_its_parent
// Breaks TN-BCK-7: `execute` ends the process that started this one.
#include <signal.h>
#include <unistd.h>

#define ZOO_BEFORE_RUN kill(getppid(), SIGKILL)
#endif

#ifdef ZOO_ends_the_thread
// Breaks TN-BCK-7: `execute` ends the thread that called it.
#include <pthread.h>
#define ZOO_AFTER_RUN pthread_exit(NULL)
#endif

#ifdef ZOO_exits_in_init
// Breaks TN-BCK-7: `init` ends the process with exit code 0.
#define ZOO_AFTER_INIT exit(0)
#endif

#ifdef ZOO_forges_its_report
// Breaks TN-BCK-7: `execute` writes the end of a successful test to the runner, and ends the
// process.
#include "memory_files.h"

static void forge(int descriptor) {
  const char text[] = "\n{\"outcome\":\"passed\",\"reason\":\"\"}\n{\"done\":true}\n{\"done\":2}\n";
  if (write(descriptor, text, sizeof text - 1) < 0) return;
}

ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  if (status != TENON_STATUS_OK) return status;
  for_each_memory_file(&forge);
  _exit(0);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_frees_memory_of_the_host
// Breaks TN-BCK-2 at level 4: `destroy` frees the model, which is in the host's runtime memory.
static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  if (delegate) free(delegate->model);
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_global_state
// Breaks TN-BCK-9 at level 9: delegates share a number, so that two concurrent runs compute wrong
// outputs.
#include <time.h>

static atomic_int num_running;

ZOO_EXECUTE_FUNCTION(execute) {
  atomic_fetch_add(&num_running, 1);
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  const tenon_tensor* const result = good_output(args, num_args);
  if (status == TENON_STATUS_OK && result) {
    *good_data(result) += (float)(atomic_load(&num_running) - 1);
  }
  atomic_fetch_sub(&num_running, 1);
  return status;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_hangs_in_execute
// Breaks TN-BCK-8: `execute` never returns.
#include <unistd.h>
ZOO_EXECUTE_FUNCTION(execute) {
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  while (status == TENON_STATUS_OK) pause();
  return status;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_keeps_a_descriptor
// Breaks TN-BCK-5 at level 6: a descriptor that `open` opened is still open after `close`.
#include <fcntl.h>
static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return descriptor < 0 ? good_fail(host, TENON_STATUS_ACCESS_FAILED,
                                    "/dev/null: expected a descriptor, found %d", descriptor)
                        : good_open(host, out);
}

#define ZOO_OPEN open_backend
#endif

#ifdef ZOO_keeps_a_mapping
// Breaks TN-BCK-5 at level 6: a mapping that `open` made still exists after `close`.
#include <sys/mman.h>
static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  void* const mapped =
      mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped != MAP_FAILED) memset(mapped, 1, 1 << 20);
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#endif

#ifdef ZOO_keeps_a_thread
// Breaks TN-BCK-5 at level 6: a thread that `open` started still runs after `close`. Before that
// level only the crash of a thread that had not begun when its code was unmapped shows it.
#include <pthread.h>
#include <unistd.h>
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
#endif

#ifdef ZOO_keeps_memory
// Breaks TN-BCK-5 at level 6: memory that `open` allocated is still allocated after `close`.
#include "keep.h"

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  static void* kept;
  keep_memory(&kept);
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#endif

#ifdef ZOO_leaves_a_file
// Breaks TN-BCK-5: a file that `open` made in $TMPDIR still exists after `close`.
#include <stdlib.h>
#include <unistd.h>
static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  // Without TMPDIR, and where a subject file switches it off, nothing is written.
  const char* const directory = getenv("ZOO_LEAVES_NOTHING") ? NULL : getenv("TMPDIR");
  char path[4096];
  if (directory && snprintf(path, sizeof path, "%s/zoo-XXXXXX", directory) < (int)sizeof path) {
    const int file = mkstemp(path);
    if (file >= 0) close(file);
  }
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#endif

#ifdef ZOO_leaves_a_process
// Breaks TN-BCK-5: a process that `open` started still runs after `close`.
#include <unistd.h>
static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  if (fork() == 0) {
    alarm(60);  // Ends it if nothing else does.
    for (;;) pause();
  }
  return good_open(host, out);
}

#define ZOO_OPEN open_backend
#endif

#ifdef ZOO_logs_through_first_host
// Breaks TN-BCK-9 at level 3: its runtime has one logger, which writes to the host that opened the
// backend first, also when that one has closed it and others have not.
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
#endif

#ifdef ZOO_logs_through_last_host
// Breaks TN-BCK-9 at level 3: its runtime has one logger, which writes to the host that opened the
// backend last, also when that one has closed it and others have not.
static _Atomic(const tenon_host*) log_host;

static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  const tenon_status status = good_open(host, out);
  if (status == TENON_STATUS_OK) atomic_store(&log_host, host);
  return status;
}

static void before_run(void) {
  const tenon_host* const host = atomic_load(&log_host);
  host->log(host, TENON_LOG_DEBUG, "run", 3);
}

#define ZOO_OPEN open_backend
#define ZOO_BEFORE_RUN before_run()
#endif

#ifdef ZOO_needs_much_stack
// Breaks TN-BCK-7 at level 3: `execute` uses 1 MiB of stack, more than a small thread has.
static void before_run(void) {
  volatile char pages[1 << 20];
  for (size_t i = sizeof pages; i >= 4096; i -= 4096) pages[i - 1] = 1;
}

#define ZOO_BEFORE_RUN before_run()
#endif

#ifdef ZOO_opens_for_any_host
// Breaks TN-BCK-4: it opens for a host of another major version.
static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  tenon_host like_ours = *host;
  like_ours.abi_major = TENON_ABI_MAJOR;
  const tenon_status status = good_open(&like_ours, out);
  if (status == TENON_STATUS_OK) (*out)->host = host;
  return status;
}

#define ZOO_OPEN open_backend
#endif

#ifdef ZOO_overflows_the_stack
// Breaks TN-BCK-7: `execute` uses more stack than a thread can have.
static void before_run(void) {
  volatile char pages[64 << 20];
  for (size_t i = sizeof pages; i >= 4096; i -= 4096) pages[i - 1] = 1;
}

#define ZOO_BEFORE_RUN before_run()
#endif

#ifdef ZOO_reads_a_wrong_address
// Breaks TN-BCK-7: `execute` reads address 0x10. Nothing but a run shows it.
ZOO_EXECUTE_FUNCTION(execute) {
  const volatile uint32_t* const wrong = (const volatile uint32_t*)(uintptr_t)0x10;
  if (*wrong == 0) return TENON_STATUS_INTERNAL;
  return good_execute(backend, delegate, context, args, num_args);
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_refuses_hosts_without_versions
// Breaks TN-BCK-4: the error text does not name the versions.
static tenon_status open_backend(const tenon_host* host, tenon_backend** out) {
  if (host->abi_major == TENON_ABI_MAJOR) return good_open(host, out);
  return good_fail(host, TENON_STATUS_NOT_SUPPORTED,
                   "open: expected a host of the right version, found one of another");
}

#define ZOO_OPEN open_backend
#endif

#ifdef ZOO_segfaults_in_destroy
// Breaks TN-BCK-7: `destroy` writes to an invalid address.
static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  good_destroy(backend, delegate);
  *(volatile int*)(uintptr_t)16 = 1;
}

#define ZOO_DESTROY destroy
#endif

#ifdef ZOO_stops_its_parent
// Breaks TN-BCK-7: `execute` stops the process that started this one.
#include <signal.h>
#include <unistd.h>

#define ZOO_BEFORE_RUN kill(getppid(), SIGSTOP)
#endif

#ifdef ZOO_throws
// Breaks TN-BCK-1: `execute` throws a C++ exception.
/// Defined in throw.cpp.
extern void zoo_throw(void);

#define ZOO_AFTER_RUN zoo_throw()
#endif

#include "good_plugin.h"
