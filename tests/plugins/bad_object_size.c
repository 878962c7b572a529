// SPDX-License-Identifier: MIT
// Claims more bytes than the object has in the file.
#define ZOO_OBJECT_SIZE (sizeof(zoo_object) + 4096)
#include "zoo_plugin.h"
