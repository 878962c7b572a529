// SPDX-License-Identifier: MIT
#pragma once

/// All formats of a report, also for authors who run the suites in a test program of their own.
#include "kit/report/baseline.hpp"     // IWYU pragma: export
#include "kit/report/certificate.hpp"  // IWYU pragma: export
#include "kit/report/html.hpp"         // IWYU pragma: export
#include "kit/report/json.hpp"         // IWYU pragma: export
#include "kit/report/json_reader.hpp"  // IWYU pragma: export
#include "kit/report/junit.hpp"        // IWYU pragma: export
#include "kit/report/markdown.hpp"     // IWYU pragma: export
#include "kit/report/text.hpp"         // IWYU pragma: export
