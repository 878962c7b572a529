// SPDX-License-Identifier: MIT
// expect: ignoring return
#include <tenon/tenon.hpp>

tenon::Status run();
void call() { run(); }
