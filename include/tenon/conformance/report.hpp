// SPDX-License-Identifier: MIT
#pragma once

/// All formats of a report, also for authors who run the suites in a test program of their own.
#include "tenon/conformance/report/baseline.hpp"     // IWYU pragma: export
#include "tenon/conformance/report/certificate.hpp"  // IWYU pragma: export
#include "tenon/conformance/report/html.hpp"         // IWYU pragma: export
#include "tenon/conformance/report/json.hpp"         // IWYU pragma: export
#include "tenon/conformance/report/json_reader.hpp"  // IWYU pragma: export
#include "tenon/conformance/report/junit.hpp"        // IWYU pragma: export
#include "tenon/conformance/report/markdown.hpp"     // IWYU pragma: export
#include "tenon/conformance/report/text.hpp"         // IWYU pragma: export
