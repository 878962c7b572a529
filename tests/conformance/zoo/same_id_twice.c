// SPDX-License-Identifier: MIT
// Breaks TN-BIN-6: two backends have one id.
#define ZOO_NUM_RECORDS 2
#define ZOO_RECORDS {ZOO_RECORD, ZOO_RECORD}
#define ZOO_TABLES {&zoo_api, &zoo_api}
#include "good_plugin.h"
