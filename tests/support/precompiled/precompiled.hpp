// SPDX-License-Identifier: MIT
// No pragma: gcc warns of one in what it compiles by itself.
#ifndef TENON_TEST_PRECOMPILED_HPP
#define TENON_TEST_PRECOMPILED_HPP

// With -Dprecompiled_tests=true all tests begin with this. A test includes what it uses all the
// same: without the option this header is not read.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "tenon/host.hpp"

#endif
