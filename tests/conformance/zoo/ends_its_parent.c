// SPDX-License-Identifier: MIT
// Breaks TN-BCK-7: `execute` ends the process that started this one.
#include <signal.h>
#include <unistd.h>

#include "good.h"

#define ZOO_BEFORE_RUN kill(getppid(), SIGKILL)
#include "good_plugin.h"
