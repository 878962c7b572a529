// SPDX-License-Identifier: MIT
// Breaks nothing: a host can read and write the state of its delegates.
#include "sequence.h"
