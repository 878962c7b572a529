// SPDX-License-Identifier: MIT
#pragma once

// All suites of the kit, for one source of a program.
#include "tenon/conformance/embed.hpp"
#include "tenon/conformance/suites/arguments.hpp"
#include "tenon/conformance/suites/binary.hpp"
#include "tenon/conformance/suites/blobs.hpp"
#include "tenon/conformance/suites/code.hpp"
#include "tenon/conformance/suites/cost.hpp"
#include "tenon/conformance/suites/device.hpp"
#include "tenon/conformance/suites/errors.hpp"
#include "tenon/conformance/suites/kernels.hpp"
#include "tenon/conformance/suites/leaks.hpp"
#include "tenon/conformance/suites/lifecycle.hpp"
#include "tenon/conformance/suites/negotiation.hpp"
#include "tenon/conformance/suites/numerics.hpp"
#include "tenon/conformance/suites/options.hpp"
#include "tenon/conformance/suites/preprocess.hpp"
#include "tenon/conformance/suites/process.hpp"
#include "tenon/conformance/suites/services.hpp"
#include "tenon/conformance/suites/sessions.hpp"
#include "tenon/conformance/suites/threads.hpp"
#include "tenon/conformance/suites/wrong_arguments.hpp"
