// SPDX-License-Identifier: MIT
#pragma once

// The runtime of OpenMP that oneDNN and compiled models use is GCC's, whatever compiler builds this
// plugin; another compiler's <omp.h> would bring another runtime, with threads of its own. These
// are declarations of the OpenMP standard (OpenMP 5.2, chapter 18).
extern "C" {
int omp_get_max_threads(void);
int omp_get_num_procs(void);
void omp_set_num_threads(int num_threads);
}
