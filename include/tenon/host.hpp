// SPDX-License-Identifier: MIT
//
// Everything that an application needs to load plugins and run programs: the registry of backends,
// programs and their methods. Needs the headers of flatbuffers, and no library but the C++ runtime
// and the system's.
//
// The search for plugins is in <tenon/host/discovery.hpp>, readers of arrays are in
// <tenon/host/arrays.hpp>, what tools ask of a plugin or a program without running it in
// <tenon/host/inspect.hpp>, asynchronous runs in <tenon/host/async.hpp>.
#pragma once

#include "tenon/host/all_layers.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/async/executor.hpp"
#include "tenon/host/layers/budget/budget.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/cancel/cancel.hpp"
#include "tenon/host/layers/code/embedded_code.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/external_memory/external_memory.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/kernels/kernel_backends.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/layers/progress/load_progress.hpp"
#include "tenon/host/layers/scheduling/scheduling_hints.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/layers/trace/intermediates.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/layers/variants/variant.hpp"
#include "tenon/loader.hpp"
