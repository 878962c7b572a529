// SPDX-License-Identifier: MIT
// A shared library that is not a plugin.
__attribute__((visibility("default"))) extern const int tenon_plugin_v2;
const int tenon_plugin_v2 = 1;
