// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::isolated {

/// Takes lanes from `socket`, and calls in each, until the application closes it. Returns the exit
/// code of the process.
int serve(int socket);

}  // namespace tenon::isolated
