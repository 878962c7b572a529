// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::isolated {

/// A `Serve` (supervisor.hpp): takes lanes from `socket`, and calls in each, until the application
/// closes it.
int serve(int socket, bool has_profile);

}  // namespace tenon::isolated
