// SPDX-License-Identifier: MIT
// Breaks TN-BIN-7: its version fills the field to the end.
#define ZOO_VERSION                  \
  "0123456789abcdef0123456789abcdef" \
  "0123456789abcdef0123456789abcdef"
#include "good_plugin.h"
