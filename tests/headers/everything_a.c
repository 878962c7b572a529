// SPDX-License-Identifier: MIT
#include "tenon/abi/tenon.h"

uint32_t size_in_c_a(void);
uint32_t size_in_c_a(void) { return (uint32_t)sizeof(tenon_backend_api); }
