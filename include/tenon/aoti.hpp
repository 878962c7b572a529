// SPDX-License-Identifier: MIT
//
// For backends that run models compiled by PyTorch's AOTInductor. Includes everything of aoti/:
//
//   aoti/          AotiBackend, the instances of a model, and its container
//   aoti/library/  the library of a model: loaded from bytes, bound to a backend's shims, checked
//   aoti/shims/    the functions of PyTorch's C shim that models call
//   aoti/tensors/  tensors of models, their memory, and copies between layouts
//   aoti/weights/  weights of models, shared between delegates by content
#pragma once

#include "tenon/aoti/aoti_backend.hpp"
#include "tenon/aoti/container.hpp"
#include "tenon/aoti/container_api.hpp"
#include "tenon/aoti/input_signature.hpp"
#include "tenon/aoti/instance.hpp"
#include "tenon/aoti/library/code_features.hpp"
#include "tenon/aoti/library/isa_sets.hpp"
#include "tenon/aoti/library/model_checks.hpp"
#include "tenon/aoti/library/model_library.hpp"
#include "tenon/aoti/library/named_features.hpp"
#include "tenon/aoti/load_options.hpp"
#include "tenon/aoti/payload.hpp"
#include "tenon/aoti/plug_points.hpp"
#include "tenon/aoti/shims/base_shims.hpp"
#include "tenon/aoti/shims/call.hpp"
#include "tenon/aoti/shims/device_shims.hpp"
#include "tenon/aoti/shims/host_shims.hpp"
#include "tenon/aoti/shims/proxy_shims.hpp"
#include "tenon/aoti/shims/shim.hpp"
#include "tenon/aoti/shims/shim_table.hpp"
#include "tenon/aoti/shims/thread_exit.hpp"
#include "tenon/aoti/tensors/constant_adoption.hpp"
#include "tenon/aoti/tensors/device_memory_api.hpp"
#include "tenon/aoti/tensors/model_tensor.hpp"
#include "tenon/aoti/tensors/size_mask.hpp"
#include "tenon/aoti/tensors/strided_copy.hpp"
#include "tenon/aoti/tensors/tensor_pool.hpp"
#include "tenon/aoti/weights/device_weights.hpp"
#include "tenon/aoti/weights/named_weights.hpp"
#include "tenon/aoti/weights/shared_by_content.hpp"
#include "tenon/aoti/weights/weights.hpp"

// How a model's library is loaded differs between the systems; model_library.hpp chooses.
#if !defined(__APPLE__)
#include "tenon/aoti/library/code_places.hpp"
#include "tenon/aoti/library/elf_editor.hpp"
#include "tenon/aoti/library/loader_effects.hpp"
#include "tenon/aoti/library/memory_file.hpp"
#include "tenon/aoti/library/model_requirements.hpp"
#include "tenon/aoti/library/symbol_versions.hpp"
#endif
