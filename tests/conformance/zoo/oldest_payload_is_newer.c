// SPDX-License-Identifier: MIT
// Breaks TN-BIN-14: the oldest payload that its record names is newer than the newest one.
#define ZOO_MIN_PAYLOAD_VERSION 2
#include "good_plugin.h"
