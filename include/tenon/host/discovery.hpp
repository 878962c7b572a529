// SPDX-License-Identifier: MIT
//
// The search for plugins, `discover` and `discovery`, for applications that find plugins by the ids
// in programs. It reads manifests, and so needs the headers of nlohmann-json.
#pragma once

#include "tenon/host/registry/discovery.hpp"
