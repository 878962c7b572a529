// SPDX-License-Identifier: MIT
// Breaks TN-TEN-5 at level 4: elements are looked for at `data`, whatever the byte offset.
#define ZOO_DATA(tensor) ((char*)(tensor)->dl.data)
#include "good.h"

#include "good_plugin.h"
