// SPDX-License-Identifier: MIT
#pragma once

// oneDNN and compiled models use GCC's OpenMP runtime, whatever compiler builds this plugin;
// another compiler's <omp.h> would add a second runtime with its own threads. These are
// declarations of the OpenMP standard (OpenMP 5.2, chapter 18).
extern "C" {
int omp_get_max_threads(void);
int omp_get_num_procs(void);
void omp_set_num_threads(int num_threads);
int omp_get_max_active_levels(void);
void omp_set_max_active_levels(int max_levels);
}

namespace tenon::cpu_aoti {

/// Sets the number of threads that OpenMP uses in parallel loops of this thread, while it exists.
class NumThreads {
 public:
  explicit NumThreads(int count) noexcept : before_(::omp_get_max_threads()), count_(count) {
    if (count_ != before_) ::omp_set_num_threads(count_);
  }
  NumThreads(const NumThreads&) = delete;
  NumThreads& operator=(const NumThreads&) = delete;
  ~NumThreads() {
    if (count_ != before_) ::omp_set_num_threads(before_);
  }

 private:
  int before_;
  int count_;
};

/// Makes each parallel loop of this thread run on this thread alone, also a loop that was compiled
/// for a certain number of threads, while it exists.
class OneThread {
 public:
  OneThread() noexcept : levels_(::omp_get_max_active_levels()) {
    if (levels_ != 0) ::omp_set_max_active_levels(0);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() {
    if (levels_ != 0) ::omp_set_max_active_levels(levels_);
  }

 private:
  NumThreads one_{1};
  int levels_;
};

}  // namespace tenon::cpu_aoti
