// SPDX-License-Identifier: MIT
// Breaks TN-BCK-3: its table ends before `destroy`.
#define ZOO_API_SIZE offsetof(tenon_backend_api, destroy)
#include "good_plugin.h"
