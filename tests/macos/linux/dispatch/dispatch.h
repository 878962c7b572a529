// SPDX-License-Identifier: MIT
//
// What metal-cpp needs of the macOS header of this name, to compile for Linux.
#pragma once

typedef struct dispatch_data_s* dispatch_data_t;
typedef struct dispatch_queue_s* dispatch_queue_t;
