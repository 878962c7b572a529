// SPDX-License-Identifier: MIT
//
// The tests themselves. Not `tenon/conformance/suites.hpp`: this program calls them by its own
// list, each in a process of its own, and needs no Catch2.
#include "tenon/conformance/suites/all.hpp"
