// SPDX-License-Identifier: MIT
#pragma once

#if !defined(TENON_PLUGINDIR) && __has_include("tenon/host/plugindir.hpp")
#include "tenon/host/plugindir.hpp"
#endif

namespace tenon {

/// The directory of installed plugins, as in host/registry/discovery.hpp. In a header of its own,
/// so that a program whose `main` names another one need not compile a host for that.
#ifdef TENON_PLUGINDIR
inline constexpr const char* installed_plugins = TENON_PLUGINDIR;
#else
inline constexpr const char* installed_plugins = "";
#endif

}  // namespace tenon
