// SPDX-License-Identifier: MIT
//
// Arrays of values for a method's inputs and outputs: NumPy's files, copies of a method's values,
// and comparing two arrays.
#pragma once

#include "tenon/host/arrays/array.hpp"
#include "tenon/host/arrays/compare_arrays.hpp"
#include "tenon/host/arrays/npy.hpp"
#include "tenon/host/arrays/value_array.hpp"
