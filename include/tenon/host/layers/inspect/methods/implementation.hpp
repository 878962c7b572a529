// SPDX-License-Identifier: MIT
//
// The definitions of MethodMeta and of check_blob, which the loader and the layer variants use. A
// part of <tenon/host/implementation.hpp>, apart from what tools use: a program that does not link
// with --gc-sections would have that as well.
#pragma once

#include "tenon/host/layers/inspect/impl/check_blob.hpp"
#include "tenon/host/layers/inspect/impl/method_meta.hpp"
