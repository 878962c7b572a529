// SPDX-License-Identifier: MIT
// Breaks TN-EXE-5 at level 4: elements of two lanes are taken for elements of one lane.
#define ZOO_IS_FLOAT(tensor)                                                  \
  ((tensor)->scalar_type == 6 && (tensor)->dl.dtype.code == TENON_DL_FLOAT && \
   (tensor)->dl.dtype.bits == 32)
#define ZOO_ELEMENT_BYTES(tensor) ((uint64_t)4 * (tensor)->dl.dtype.lanes)
#include "good.h"

#include "good_plugin.h"
