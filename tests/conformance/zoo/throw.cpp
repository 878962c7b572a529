// SPDX-License-Identifier: MIT
// The part of throws.c that C cannot say.
#include <stdexcept>

extern "C" void zoo_throw();
void zoo_throw() { throw std::runtime_error("thrown on purpose"); }
