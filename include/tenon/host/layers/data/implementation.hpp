// SPDX-License-Identifier: MIT
//
// The definitions of the layer data: files of data and maps of them. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/data/impl/data_file.hpp"
#include "tenon/host/layers/data/impl/data_files.hpp"
#include "tenon/host/layers/data/impl/merged_data_map.hpp"
