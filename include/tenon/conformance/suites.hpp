// SPDX-License-Identifier: MIT
#pragma once

/// All suites of the kit as tests of Catch2, for an author's own test program: include this in one
/// source. The subject is that of `set_subject` or of the environment's variable
/// TENON_CONFORMANCE_SUBJECT, a subject file that names its plugin.
#include "tenon/conformance/run/catch_tests.hpp"  // IWYU pragma: export
#include "tenon/conformance/run/embed.hpp"        // IWYU pragma: export
#include "tenon/conformance/suites/all.hpp"       // IWYU pragma: export
