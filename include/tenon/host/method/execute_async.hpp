// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/method/method.hpp"
