// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/conformance/suites/all.hpp"

#include "tenon/conformance/impl/suites/aoti_export.hpp"
#include "tenon/conformance/impl/suites/arguments.hpp"
#include "tenon/conformance/impl/suites/binary.hpp"
#include "tenon/conformance/impl/suites/blobs.hpp"
#include "tenon/conformance/impl/suites/code.hpp"
#include "tenon/conformance/impl/suites/cost.hpp"
#include "tenon/conformance/impl/suites/device.hpp"
#include "tenon/conformance/impl/suites/errors.hpp"
#include "tenon/conformance/impl/suites/events.hpp"
#include "tenon/conformance/impl/suites/kernels.hpp"
#include "tenon/conformance/impl/suites/leaks.hpp"
#include "tenon/conformance/impl/suites/lifecycle.hpp"
#include "tenon/conformance/impl/suites/negotiation.hpp"
#include "tenon/conformance/impl/suites/numerics.hpp"
#include "tenon/conformance/impl/suites/options.hpp"
#include "tenon/conformance/impl/suites/preprocess.hpp"
#include "tenon/conformance/impl/suites/process.hpp"
#include "tenon/conformance/impl/suites/services.hpp"
#include "tenon/conformance/impl/suites/sessions.hpp"
#include "tenon/conformance/impl/suites/threads.hpp"
#include "tenon/conformance/impl/suites/two_hosts.hpp"

namespace tenon::conformance::detail {

void link_suites() noexcept {}

}  // namespace tenon::conformance::detail
