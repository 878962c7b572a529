// SPDX-License-Identifier: MIT
#pragma once

namespace tenon::compile {

/// From now on, a signal (on Windows an exception of the system) that ends the process inside a
/// plugin writes a line to standard error first: the signal, the call, the backend, its file, and
/// the weight that the plugin wrote to if that was it. The process then ends as without this. For
/// programs: it replaces handlers of the whole process.
void name_plugins_that_crash();

}  // namespace tenon::compile
