// SPDX-License-Identifier: MIT
//
// How an application names a plugin that is linked into it.

#ifndef TENON_ABI_STATIC_PLUGIN_H
#define TENON_ABI_STATIC_PLUGIN_H

#include "tenon_v1_0/abi/plugin.h"

/// Declares the object that `TENON_PLUGIN(first, ...)` defined under -DTENON_STATIC_PLUGIN. At
/// namespace scope; the object is then `tenon_static_plugin_first`.
#ifdef __cplusplus
#define TENON_DECLARE_STATIC_PLUGIN(first) \
  extern "C" const tenon_plugin_head* const tenon_static_plugin_##first
#else
#define TENON_DECLARE_STATIC_PLUGIN(first) \
  extern const tenon_plugin_head* const tenon_static_plugin_##first
#endif

#endif  // TENON_ABI_STATIC_PLUGIN_H
