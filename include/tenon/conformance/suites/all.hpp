// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/core/api.hpp"

/// All suites of the kit, for one source of a program. In the compiled mode this links them.
namespace tenon::conformance::detail {

/// Does nothing; a program that refers to it has the suites.
TENON_API void link_suites() noexcept;

[[maybe_unused]] static const bool suites_are_linked = (link_suites(), true);

}  // namespace tenon::conformance::detail

#if !defined(TENON_COMPILED) || defined(TENON_BUILD_CONFORMANCE_SUITES)
#include "tenon/conformance/suites/aoti_export.hpp"  // IWYU pragma: export
#include "tenon/conformance/suites/arguments.hpp"    // IWYU pragma: export
#include "tenon/conformance/suites/binary.hpp"       // IWYU pragma: export
#include "tenon/conformance/suites/blobs.hpp"        // IWYU pragma: export
#include "tenon/conformance/suites/code.hpp"         // IWYU pragma: export
#include "tenon/conformance/suites/cost.hpp"         // IWYU pragma: export
#include "tenon/conformance/suites/device.hpp"       // IWYU pragma: export
#include "tenon/conformance/suites/errors.hpp"       // IWYU pragma: export
#include "tenon/conformance/suites/events.hpp"       // IWYU pragma: export
#include "tenon/conformance/suites/kernels.hpp"      // IWYU pragma: export
#include "tenon/conformance/suites/leaks.hpp"        // IWYU pragma: export
#include "tenon/conformance/suites/lifecycle.hpp"    // IWYU pragma: export
#include "tenon/conformance/suites/negotiation.hpp"  // IWYU pragma: export
#include "tenon/conformance/suites/numerics.hpp"     // IWYU pragma: export
#include "tenon/conformance/suites/options.hpp"      // IWYU pragma: export
#include "tenon/conformance/suites/preprocess.hpp"   // IWYU pragma: export
#include "tenon/conformance/suites/process.hpp"      // IWYU pragma: export
#include "tenon/conformance/suites/services.hpp"     // IWYU pragma: export
#include "tenon/conformance/suites/sessions.hpp"     // IWYU pragma: export
#include "tenon/conformance/suites/threads.hpp"      // IWYU pragma: export

namespace tenon::conformance::detail {

TENON_API void link_suites() noexcept {}

}  // namespace tenon::conformance::detail
#endif
