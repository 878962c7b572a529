// SPDX-License-Identifier: MIT
#include "tenon/conformance/interpose.hpp"
