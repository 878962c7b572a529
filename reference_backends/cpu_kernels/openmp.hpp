// SPDX-License-Identifier: MIT
#pragma once

// oneDNN and compiled models use GCC's OpenMP runtime, whatever compiler builds this plugin;
// another compiler's <omp.h> would add a second runtime with its own threads. These are
// declarations of the OpenMP standard (OpenMP 5.2, chapter 18).
extern "C" {
int omp_get_max_threads(void);
int omp_get_num_procs(void);
void omp_set_num_threads(int num_threads);
}
