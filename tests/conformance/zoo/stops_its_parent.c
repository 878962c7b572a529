// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `execute` stops the process that started this one.
#include <signal.h>
#include <unistd.h>

#include "good.h"

#define ZOO_BEFORE_RUN kill(getppid(), SIGSTOP)
#include "good_plugin.h"
