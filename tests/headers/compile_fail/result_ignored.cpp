// SPDX-License-Identifier: MIT
// expect: ignoring return
#include <tenon/tenon.hpp>

tenon::Result<int> run();
void call() { run(); }
