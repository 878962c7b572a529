// SPDX-License-Identifier: MIT
#pragma once

// Catch2 from 2.13 on: version 3 has other headers.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
