// SPDX-License-Identifier: MIT
// Breaks nothing: a backend whose runs can be started, and waited for by events.
#include "events.h"

#include "good_plugin.h"
