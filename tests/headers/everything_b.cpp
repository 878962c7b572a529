// SPDX-License-Identifier: MIT
// Every header in two C and two C++ sources of one program: what is defined in a header and not
// inline does not link, and what C and C++ see differently does not match.
#include "tenon/abi/tenon.h"
#include "tenon/aot.hpp"
#include "tenon/host.hpp"
#include "tenon/host/arrays.hpp"
#include "tenon/host/async.hpp"
#include "tenon/host/discovery.hpp"
#include "tenon/host/inspect.hpp"
#include "tenon/tenon.hpp"

extern "C" uint32_t size_in_c_a();
extern "C" uint32_t size_in_c_b();
tenon::Status fail_in_a();

int main() {
  const bool same = size_in_c_a() == sizeof(tenon_backend_api) && size_in_c_a() == size_in_c_b();
  return same && fail_in_a().error() == tenon::Error::NotFound ? 0 : 1;
}
