// SPDX-License-Identifier: MIT
#pragma once

// The kernels by name, for the device code that defines them and the host code that launches them.

/// X(name, format): each makes the kernel tenon_<name>_one_narrow.
#define TENON_CUDA_PLAIN_MATMULS(X) \
  X(int4_plain_mm, Int4Plain)       \
  X(int5_plain_mm, Int5Plain)       \
  X(int6_plain_mm, Int6Plain)       \
  X(int8_plain_mm, Int8Plain)

/// X(name, format): each makes the kernels tenon_<name>_one, _few, _tiles and _unpack.
#define TENON_CUDA_MATMULS(X)       \
  X(weight_int4pack_mm, Int4Packed) \
  TENON_CUDA_PLAIN_MATMULS(X)

/// X(name, item): each makes the kernels tenon_sort_short_<name>, _tiles_ and _merge_.
#define TENON_CUDA_SORTS(X) \
  X(32, Item32)             \
  X(64, Item64)
