// SPDX-License-Identifier: MIT
//
// What metal-cpp needs of the macOS header of this name, to compile for Linux.
#pragma once

typedef int kern_return_t;
typedef unsigned int task_id_token_t;
