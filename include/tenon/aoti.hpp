// SPDX-License-Identifier: MIT
//
// For backends that run models compiled by PyTorch's AOTInductor. Includes everything of aoti/.
#pragma once

#include "tenon/aoti/aoti_backend.hpp"
#include "tenon/aoti/base_shims.hpp"
#include "tenon/aoti/call.hpp"
#include "tenon/aoti/constant_adoption.hpp"
#include "tenon/aoti/container.hpp"
#include "tenon/aoti/container_api.hpp"
#include "tenon/aoti/device_memory.hpp"
#include "tenon/aoti/device_shims.hpp"
#include "tenon/aoti/device_weights.hpp"
#include "tenon/aoti/host_shims.hpp"
#include "tenon/aoti/input_signature.hpp"
#include "tenon/aoti/instance.hpp"
#include "tenon/aoti/model_checks.hpp"
#include "tenon/aoti/model_library.hpp"
#include "tenon/aoti/named_weights.hpp"
#include "tenon/aoti/payload.hpp"
#include "tenon/aoti/shim.hpp"
#include "tenon/aoti/shim_table.hpp"
#include "tenon/aoti/size_mask.hpp"
#include "tenon/aoti/strided_copy.hpp"
#include "tenon/aoti/tensor.hpp"
#include "tenon/aoti/tensor_pool.hpp"
#include "tenon/aoti/thread_exit.hpp"
#include "tenon/aoti/weights.hpp"

// How a model's library is loaded differs between the systems; model_library.hpp chooses.
#if !defined(__APPLE__)
#include "tenon/aoti/elf_editor.hpp"
#include "tenon/aoti/memory_file.hpp"
#include "tenon/aoti/model_requirements.hpp"
#endif
