// SPDX-License-Identifier: MIT
//
// The C library's functions that count what a plugin takes and can fail it. Meson asks for files
// beyond 2 GiB, which makes `open` another name of `open64`; here both are defined.
#undef _FILE_OFFSET_BITS
#include "tenon/conformance/interpose.hpp"
