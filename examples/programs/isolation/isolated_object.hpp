// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/isolation/isolated_object.hpp"

/// The object that hosts and `tenon-isolate` fill in, by its names here.
namespace tenon::isolated {

using host::isolated_mark;
using host::isolated_path_size;
using host::IsolatedObject;
using host::IsolatedSettings;
using host::max_isolated_backends;
using host::Sharing;
using host::WorkerMemory;

}  // namespace tenon::isolated
