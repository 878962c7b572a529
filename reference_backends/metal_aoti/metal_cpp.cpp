// SPDX-License-Identifier: MIT
//
// The one place where metal-cpp defines what its headers declare.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
