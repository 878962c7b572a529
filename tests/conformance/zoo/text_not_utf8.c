// SPDX-License-Identifier: MIT
// Breaks TN-BIN-7: its description is Latin-1.
#define ZOO_DESCRIPTION "Tr\xe4gt zusammen"
#include "good_plugin.h"
