// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>

namespace tenon::test {

/// `Known` as a later version of the headers has it. What this build does not know is filled with
/// poison, so that a look at it shows.
template <class Known>
struct Longer : Known {
  alignas(Known) unsigned char beyond[64];
  Longer() : Known{} { std::memset(beyond, 0xa5, sizeof beyond); }
};

}  // namespace tenon::test
