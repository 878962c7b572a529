// SPDX-License-Identifier: MIT
#include "tenon/abi/tenon.h"

uint32_t size_in_c_b(void);
uint32_t size_in_c_b(void) { return (uint32_t)sizeof(tenon_backend_api); }
