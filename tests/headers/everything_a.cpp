// SPDX-License-Identifier: MIT
#include "tenon/aot.hpp"
#include "tenon/host.hpp"
#include "tenon/host/arrays.hpp"
#include "tenon/host/async.hpp"
#include "tenon/host/discovery.hpp"
#include "tenon/host/inspect.hpp"
#include "tenon/tenon.hpp"

tenon::Status fail_in_a() { return tenon::error(tenon::Error::NotFound, "from a"); }
