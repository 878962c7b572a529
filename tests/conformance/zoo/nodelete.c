// SPDX-License-Identifier: MIT
// Breaks TN-BIN-10: it is linked with -z nodelete.
#include "good_plugin.h"
