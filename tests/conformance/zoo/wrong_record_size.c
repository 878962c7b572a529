// SPDX-License-Identifier: MIT
// Breaks TN-BIN-8: the sizes of a record in the record and in the head differ.
#define ZOO_RECORD_SIZE (sizeof(tenon_backend_record) - 8)
#include "good_plugin.h"
