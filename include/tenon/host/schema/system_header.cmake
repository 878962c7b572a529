# SPDX-License-Identifier: MIT
# cmake -DHEADER=FILE -P system_header.cmake: as meson.build does by sed.
file(READ "${HEADER}" _tenon_text)
file(WRITE "${HEADER}" "#pragma GCC system_header\n${_tenon_text}")
