// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/method/method.hpp"
