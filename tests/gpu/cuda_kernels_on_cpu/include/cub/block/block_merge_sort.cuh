// SPDX-License-Identifier: MIT
#pragma once
#include "cuda_threads.hpp"
