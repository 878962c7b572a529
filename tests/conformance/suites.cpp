// SPDX-License-Identifier: MIT
//
// The tests themselves. Catch2 gets them as well; this program calls them by its own list, because
// each has a process of its own.
// [include]
#include <tenon/conformance/suites.hpp>
// [include]
