// SPDX-License-Identifier: MIT
// Breaks TN-BIN-8: its record gives itself another size than the head does.
#define ZOO_RECORD_SIZE (sizeof(tenon_backend_record) - 8)
#include "good_plugin.h"
