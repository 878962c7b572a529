// SPDX-License-Identifier: MIT
// Breaks TN-EXM-5 at level 5: memory that is only to be read can be written.
// Only on Linux.
#define ZOO_PROTECTION(memory) (PROT_READ | PROT_WRITE)
#include "external.h"
#include "good_plugin.h"
