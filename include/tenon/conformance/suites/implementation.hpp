// SPDX-License-Identifier: MIT
//
// The suites of <tenon/conformance/suites.hpp>, for a program that does not link the library
// tenon-conformance-kit. Exactly one source of the program includes it. Needs
// <tenon/conformance/implementation.hpp>, in this source or another one.
#pragma once

#include "tenon/conformance/impl/suites/all.hpp"
