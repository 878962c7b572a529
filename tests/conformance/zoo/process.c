// SPDX-License-Identifier: MIT
//
// The process and its state (TN-PRC). README.md says how a section becomes a plugin.

#ifdef ZOO_flushes_subnormals
// Breaks TN-PRC-3: `init` makes the thread treat subnormal numbers as zero.
#include "float_state.h"
#include "good.h"

#define ZOO_BEFORE_INIT flush_subnormals()
#endif

#include "good.h"

#ifdef ZOO_blocks_signals
// Breaks TN-PRC-2: `execute` leaves signals blocked.
#include <signal.h>
static void before_run(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

#define ZOO_BEFORE_RUN before_run()
#endif

#ifdef ZOO_changes_folder
// Breaks TN-PRC-4: `init` changes the current directory.
#include <unistd.h>
ZOO_INIT_FUNCTION(init) {
  if (chdir("/") != 0) {
    return good_fail(backend->host, TENON_STATUS_ACCESS_FAILED,
                     "directory /: expected to change to it");
  }
  return good_init(backend, context, out);
}

#define ZOO_INIT init
#endif

#ifdef ZOO_empties_the_report
// Breaks TN-PRC-5: `execute` truncates the files by which the process reports to the runner.
#include "memory_files.h"

static void empty(int descriptor) {
  if (ftruncate(descriptor, 0) != 0) return;  // One of them is sealed.
}

#define ZOO_BEFORE_RUN for_each_memory_file(&empty)
#endif

#ifdef ZOO_ignores_sigpipe
// Breaks TN-PRC-2: `open` ignores SIGPIPE.
#include <signal.h>
#define ZOO_BEFORE_OPEN signal(SIGPIPE, SIG_IGN)
#endif

#ifdef ZOO_prints_to_stderr
// Breaks TN-PRC-5: `init` prints to standard error.
#define ZOO_BEFORE_INIT fprintf(stderr, "loading\n")
#endif

#ifdef ZOO_prints_to_stdout
// Breaks TN-PRC-5: `execute` prints to standard output.
static void before_run(void) {
  printf("running\n");
  fflush(stdout);
}

#define ZOO_BEFORE_RUN before_run()
#endif

#ifdef ZOO_rounds_up
// Breaks TN-PRC-3: `execute` leaves the thread rounding up.
#include <fenv.h>
ZOO_EXECUTE_FUNCTION(execute) {
  fesetround(FE_TONEAREST);
  const tenon_status status = good_execute(backend, delegate, context, args, num_args);
  fesetround(FE_UPWARD);
  return status;
}

#define ZOO_EXECUTE execute
#endif

#ifdef ZOO_sets_environment
// Breaks TN-PRC-4: `open` sets an environment variable.
#include <stdlib.h>
#define ZOO_BEFORE_OPEN setenv("ZOO_NUM_THREADS", "1", 1)
#endif

#ifdef ZOO_sets_environment_for_a_call
// Breaks TN-PRC-4: `init` sets an environment variable, and unsets it before it returns.
#include <stdlib.h>

ZOO_INIT_FUNCTION(init) {
  setenv("ZOO_NUM_THREADS", "1", 1);
  const tenon_status status = good_init(backend, context, out);
  unsetenv("ZOO_NUM_THREADS");
  return status;
}

#define ZOO_INIT init
#endif

#ifdef ZOO_sets_locale
// Breaks TN-PRC-1: `init` sets the locale of the process.
#include <locale.h>
#define ZOO_BEFORE_INIT setlocale(LC_ALL, "C.UTF-8")
#endif

#ifdef ZOO_sets_signal_handler
// Breaks TN-PRC-2: `init` handles SIGTERM.
#include <signal.h>
static void ignore(int number) { (void)number; }

#define ZOO_BEFORE_INIT signal(SIGTERM, ignore)
#endif

#ifdef ZOO_sets_umask
// Breaks TN-PRC-4: `init` changes the mask for new files.
#include <sys/stat.h>
#define ZOO_BEFORE_INIT umask(umask(0) ^ S_IRWXO)
#endif

#ifdef ZOO_writes_to_the_runner
// Breaks TN-PRC-5: `execute` writes lines to the runner that are JSON, but of other types.
#include "memory_files.h"

static void confuse(int descriptor) {
  const char text[] =
      "\n{\"finding\":1}\n{\"measurement\":[]}\n{\"outcome\":{}}\n[[[\n!crash\n!frame\n";
  if (write(descriptor, text, sizeof text - 1) < 0) return;
}

#define ZOO_BEFORE_RUN for_each_memory_file(&confuse)
#endif

#include "good_plugin.h"
