// SPDX-License-Identifier: MIT
// Breaks TN-BIN-3: a constructor rewrites the record that was read from the file.
#define ZOO_CONST
#include "zoo_plugin.h"

__attribute__((constructor)) static void rename_backend(void) {
  // Volatile, because clang would run the constructor while it compiles.
  *(volatile char*)tenon_plugin_v1.record.id = 'B';
}
