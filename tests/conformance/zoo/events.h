// SPDX-License-Identifier: MIT
//
// A backend with events: the output of a run that was started is written by a thread. Included in
// place of good.h.

#ifndef TENON_ZOO_EVENTS_H
#define TENON_ZOO_EVENTS_H

#include <pthread.h>
#include <time.h>

#include "good.h"

/// A function of the host for the end of a run.
typedef struct callback {
  tenon_event_function function;
  void* data;
  struct callback* next;
} callback;

/// One run that was started. The delegate and its events share it.
typedef struct run {
  atomic_int users;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int is_done;
  int is_joined;  ///< The delegate waits for its thread.
  tenon_status status;
  pthread_t thread;
  const tenon_host* host;
  float* to;
  float* numbers;
  size_t nbytes;
  struct run* after;  ///< NULL, or a run that must be done first.
  callback* callbacks;
} run;

struct tenon_event {
  run* of;  ///< NULL: the event marks nothing.
};

/// The state of a delegate, in its note.
typedef struct line {
  run* last;   ///< Its thread was not joined.
  run* after;  ///< Of the next run.
} line;

static inline run* run_keep(run* kept) {
  if (kept) atomic_fetch_add(&kept->users, 1);
  return kept;
}
static inline void run_drop(run* dropped) {
  if (!dropped || atomic_fetch_sub(&dropped->users, 1) != 1) return;
  run_drop(dropped->after);
  pthread_cond_destroy(&dropped->changed);
  pthread_mutex_destroy(&dropped->mutex);
  free(dropped->numbers);
  free(dropped);
}

static inline int run_is_done(run* asked) {
  pthread_mutex_lock(&asked->mutex);
  const int is_done = asked->is_done;
  pthread_mutex_unlock(&asked->mutex);
  return is_done;
}
static inline void run_wait(run* awaited) {
  pthread_mutex_lock(&awaited->mutex);
  while (!awaited->is_done) pthread_cond_wait(&awaited->changed, &awaited->mutex);
  pthread_mutex_unlock(&awaited->mutex);
}
static inline void run_wait_for_join(run* awaited) {
  pthread_mutex_lock(&awaited->mutex);
  while (!awaited->is_joined) pthread_cond_wait(&awaited->changed, &awaited->mutex);
  pthread_mutex_unlock(&awaited->mutex);
}
/// Whether it is done in `timeout_ns`.
static inline int run_wait_for(run* awaited, uint64_t timeout_ns) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  const uint64_t nanoseconds = (uint64_t)end.tv_nsec + timeout_ns % 1000000000;
  end.tv_sec += (time_t)(timeout_ns / 1000000000 + nanoseconds / 1000000000);
  end.tv_nsec = (long)(nanoseconds % 1000000000);
  pthread_mutex_lock(&awaited->mutex);
  int failure = 0;
  while (!awaited->is_done && failure == 0) {
    failure = pthread_cond_timedwait(&awaited->changed, &awaited->mutex, &end);
  }
  const int is_done = awaited->is_done;
  pthread_mutex_unlock(&awaited->mutex);
  return is_done;
}
static inline void run_finish(run* finished);

/// Writes the output, unless the run was cancelled.
static inline void run_write(run* written) {
  pthread_mutex_lock(&written->mutex);
  if (written->nbytes) memcpy(written->to, written->numbers, written->nbytes);
  pthread_mutex_unlock(&written->mutex);
}

static inline void run_pause(void) { nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

// What a broken plugin may replace before it includes this.
#ifndef ZOO_RUN
/// The work of a run.
#define ZOO_RUN(work)                           \
  do {                                          \
    if ((work)->after) run_wait((work)->after); \
    run_pause();                                \
    run_write(work);                            \
    run_finish(work);                           \
  } while (0)
#endif
#ifndef ZOO_WAIT_STATUS
#define ZOO_WAIT_STATUS(awaited) ((awaited)->status)
#endif
/// What a wait does whose limit has passed.
#ifndef ZOO_TIMES_OUT
#define ZOO_TIMES_OUT(event) (void)0
#endif
/// Calls a host's function.
#ifndef ZOO_CALL_BACK
#define ZOO_CALL_BACK(function, data) (function)(data)
#endif
/// Whether a host's function is to be called later.
#ifndef ZOO_CALLS_LATER
#define ZOO_CALLS_LATER(asked) (!(asked)->is_done)
#endif
#ifndef ZOO_DESTROYS_EVENT
#define ZOO_DESTROYS_EVENT(event) (void)0
#endif

static inline void run_finish(run* finished) {
  pthread_mutex_lock(&finished->mutex);
  finished->is_done = 1;
  callback* next = finished->callbacks;
  finished->callbacks = NULL;
  pthread_cond_broadcast(&finished->changed);
  pthread_mutex_unlock(&finished->mutex);
  while (next) {
    callback* const now = next;
    next = now->next;
    ZOO_CALL_BACK(now->function, now->data);
    free(now);
  }
}

static inline void* run_work(void* argument) {
  run* const work = (run*)argument;
  ZOO_RUN(work);
  return NULL;
}

/// Waits for the thread of the last run.
static inline void line_join(line* of) {
  if (!of->last) return;
  pthread_mutex_lock(&of->last->mutex);
  of->last->is_joined = 1;
  pthread_cond_broadcast(&of->last->changed);
  pthread_mutex_unlock(&of->last->mutex);
  pthread_join(of->last->thread, NULL);
  run_drop(of->last);
  of->last = NULL;
}

static inline line* line_of(tenon_delegate* delegate) {
  if (!delegate->note) delegate->note = calloc(1, sizeof(line));
  return (line*)delegate->note;
}

static inline tenon_status events_no_memory(tenon_backend* backend) {
  return good_fail(backend->host, TENON_STATUS_MEMORY_ALLOCATION_FAILED,
                   "run: expected memory, found none");
}

static inline tenon_status events_create(tenon_backend* backend, tenon_event** out) {
  *out = (tenon_event*)calloc(1, sizeof **out);
  return *out ? TENON_STATUS_OK : events_no_memory(backend);
}

/// Computes at once, into memory of its own, and lets the thread write the output. What fails at
/// once fails in the run.
static inline tenon_status events_start(tenon_backend* backend, tenon_delegate* delegate,
                                        const tenon_execution_context* context,
                                        tenon_value* const* args, uint32_t num_args) {
  line* const of = line_of(delegate);
  if (!of) return events_no_memory(backend);
  line_join(of);
  const tenon_tensor* const result = good_output(args, num_args);
  const size_t capacity = result ? (size_t)result->capacity : 0;
  run* const started = (run*)calloc(1, sizeof *started);
  void* const before = malloc(capacity + 1);
  float* const numbers = (float*)malloc(capacity + 1);
  if (!started || !before || !numbers) {
    free(started);
    free(before);
    free(numbers);
    return events_no_memory(backend);
  }
  if (capacity) memcpy(before, good_data(result), capacity);
  started->status = good_execute(backend, delegate, context, args, num_args);
  started->host = backend->host;
  started->numbers = numbers;
  if (started->status == TENON_STATUS_OK && result) {
    started->nbytes = (size_t)result->nbytes;
    started->to = good_data(result);
    memcpy(numbers, started->to, started->nbytes);
    memcpy(started->to, before, started->nbytes);
  }
  free(before);
  pthread_mutex_init(&started->mutex, NULL);
  pthread_cond_init(&started->changed, NULL);
  atomic_init(&started->users, 1);
  started->after = of->after;
  of->after = NULL;
  if (pthread_create(&started->thread, NULL, run_work, started) != 0) {
    run_drop(started);
    return good_fail(backend->host, TENON_STATUS_OUT_OF_RESOURCES,
                     "run: expected a thread, found none");
  }
  of->last = started;
  return TENON_STATUS_OK;
}

static inline tenon_status events_record(tenon_backend* backend, tenon_delegate* delegate,
                                         tenon_event* event) {
  (void)backend;
  line* const of = (line*)delegate->note;
  run_drop(event->of);
  event->of = run_keep(of ? of->last : NULL);
  return TENON_STATUS_OK;
}

static inline tenon_status events_wait(tenon_backend* backend, tenon_event* event,
                                       uint64_t timeout_ns) {
  if (!event->of) return TENON_STATUS_OK;
  if (timeout_ns == TENON_NO_TIMEOUT) {
    run_wait(event->of);
  } else if (!run_wait_for(event->of, timeout_ns)) {
    ZOO_TIMES_OUT(event);
    return good_fail(backend->host, TENON_STATUS_TIMED_OUT,
                     "wait: expected a run that is done in %llu ns, found one that is not",
                     (unsigned long long)timeout_ns);
  }
  const tenon_status status = ZOO_WAIT_STATUS(event->of);
  if (status == TENON_STATUS_OK) return status;
  return good_fail(backend->host, status,
                   "run: expected arguments of the program, found others (status %d)", status);
}

static inline tenon_status events_query(tenon_backend* backend, tenon_event* event,
                                        uint32_t* is_complete) {
  (void)backend;
  *is_complete = !event->of || run_is_done(event->of);
  return TENON_STATUS_OK;
}

static inline tenon_status events_wait_on(tenon_backend* backend, tenon_delegate* delegate,
                                          tenon_event* event) {
  line* const of = line_of(delegate);
  if (!of) return events_no_memory(backend);
  if (of->after) run_wait(of->after);  // One is remembered, the others are waited for.
  run_drop(of->after);
  of->after = run_keep(event->of);
  return TENON_STATUS_OK;
}

static inline tenon_status events_on_complete(tenon_backend* backend, tenon_event* event,
                                              tenon_event_function function, void* data) {
  run* const asked = event->of;
  if (asked) {
    callback* const made = (callback*)malloc(sizeof *made);
    if (!made) return events_no_memory(backend);
    pthread_mutex_lock(&asked->mutex);
    const int is_later = ZOO_CALLS_LATER(asked);
    if (is_later) {
      *made = (callback){function, data, asked->callbacks};
      asked->callbacks = made;
    }
    pthread_mutex_unlock(&asked->mutex);
    if (is_later) return TENON_STATUS_OK;
    free(made);
  }
  ZOO_CALL_BACK(function, data);
  return TENON_STATUS_OK;
}

static inline void events_destroy(tenon_backend* backend, tenon_event* event) {
  (void)backend;
  if (!event) return;
  ZOO_DESTROYS_EVENT(event);
  run_drop(event->of);
  free(event);
}

static const tenon_events_v1 zoo_events = {
    .struct_size = sizeof(tenon_events_v1),
    .create_event = events_create,
    .start = events_start,
    .record = events_record,
    .wait = events_wait,
    .query = events_query,
    .wait_on = events_wait_on,
    .destroy_event = events_destroy,
    .on_complete = events_on_complete,
};

static inline tenon_status events_execute(tenon_backend* backend, tenon_delegate* delegate,
                                          const tenon_execution_context* context,
                                          tenon_value* const* args, uint32_t num_args) {
  if (delegate->note) line_join((line*)delegate->note);
  return good_execute(backend, delegate, context, args, num_args);
}

static inline void events_destroy_delegate(tenon_backend* backend, tenon_delegate* delegate) {
  line* const of = delegate ? (line*)delegate->note : NULL;
  if (of) {
    line_join(of);
    run_drop(of->after);
    free(of);
  }
  good_destroy(backend, delegate);
}

#define ZOO_EXECUTE events_execute
#define ZOO_DESTROY events_destroy_delegate
#define ZOO_EXTENSIONS(id) \
  if (strcmp((id), TENON_EXTENSION_EVENTS) == 0) return &zoo_events

#endif  // TENON_ZOO_EVENTS_H
