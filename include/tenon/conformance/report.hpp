// SPDX-License-Identifier: MIT
#pragma once

/// All forms of a report. Headers, not sources of `tenon-conformance`: an author who runs the
/// suites in a test program of their own writes the same reports from there.
#include "tenon/conformance/report_baseline.hpp"     // IWYU pragma: export
#include "tenon/conformance/report_html.hpp"         // IWYU pragma: export
#include "tenon/conformance/report_json.hpp"         // IWYU pragma: export
#include "tenon/conformance/report_json_reader.hpp"  // IWYU pragma: export
#include "tenon/conformance/report_junit.hpp"        // IWYU pragma: export
#include "tenon/conformance/report_markdown.hpp"     // IWYU pragma: export
#include "tenon/conformance/report_text.hpp"         // IWYU pragma: export
