// SPDX-License-Identifier: MIT
//
// Everything that the author of a backend needs. Depends on the C++ standard library alone.
#pragma once

#include "tenon/backend/backend.hpp"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/backend/mixins.hpp"
#include "tenon/backend/named_data_map.hpp"
#include "tenon/backend/plugin.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/status.hpp"
#include "tenon/core/tensor.hpp"
