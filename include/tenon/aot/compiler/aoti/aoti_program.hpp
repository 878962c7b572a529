// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/aot/compile_spec_data.hpp"
#include "tenon/aot/compiler/aoti/aoti_model.hpp"
#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/edge_program.hpp"
#include "tenon/aot/program_data.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// How a delegate of AOTInductor names its library and weights among the program's named data.
enum class AotiKeys {
  /// By content: the blob is two lines, "<sha256>_so_blob" and "<sha256>_weights_blob". Equal
  /// models and weights are stored once (aoti_backend.py since ExecuTorch PR #20424).
  Content,
  /// By the method's name: the blob is empty, keys are "forward_so_blob" and
  /// "forward_weights_blob".
  /// Every runtime for AOTInductor reads it.
  Method,
};

/// One method: its signature, and the model that runs all of it.
struct AotiMethod {
  /// This program has the method's user inputs and outputs; the compiler does not look at its
  /// nodes.
  EdgeProgram program;
  const AotiModel* model;  ///< Outlives the call.
};

struct AotiOptions {
  AotiKeys keys = AotiKeys::Content;
  /// The backend of the delegates; nothing: ExecuTorch's id for the model's device
  /// (aoti_names.hpp).
  std::optional<std::string> backend_id = std::nullopt;
  /// Weights are stored in "aoti_{device}_blob.ptd"; nothing: as ExecuTorch does it for the device,
  /// which is outside for CUDA alone.
  std::optional<bool> external_weights = std::nullopt;
  /// In addition to `method_name`, and for CUDA `target_device`.
  std::vector<CompileSpecData> compile_specs = {};
  MethodMemoryOptions memory = {};
};

/// Describes a program whose methods are models of AOTInductor, as ExecuTorch's exporter packs them
/// (backends/aoti/aoti_backend.py, AotiBackend.preprocess): each method is one delegate. For CUDA,
/// inputs and outputs of the method are in the host's memory, and programs copy them to and from
/// the device around the delegate (exir/passes/propagate_device_pass.py). Methods are in the order
/// of their names, and equal calls give equal descriptions. Bytes are shared, not copied.
///
/// Libraries are aligned to 1, as ExecuTorch aligns them; weights to 64, so that backends use them
/// in place.
///
/// errors: InvalidArgument: no method, two of one name, a device that is not known and no
///         `backend_id`; NotSupported: an input or output that is a number, an input that the
///         program changes, a size without bound. The text names the method and the value.
[[nodiscard]] Result<ProgramData> make_aoti_program(std::span<const AotiMethod> methods,
                                                    const AotiOptions& options = {});

}}}  // namespace tenon::TENON_RELEASE::aot
