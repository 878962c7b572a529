// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tenon/aot/shared_bytes.hpp"
#include "tenon/core/bytes.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// One model that PyTorch's AOTInductor compiled.
struct AotiModel {
  /// Of the method in ExecuTorch's sense; empty when its files do not say.
  std::string name;
  /// PyTorch's name of the device that it was compiled for ("cpu", "cuda", "mps"); empty when its
  /// files do not say.
  std::string torch_device;
  SharedBytes library;
  /// The blob of weights; nothing when they are inside the library, or there are none.
  std::optional<SharedBytes> weights;
  /// AOTInductor's description of the operators that the library calls by number
  /// (`extern_kernel_nodes.json`); nothing when it calls none, or its files do not have it.
  std::optional<SharedBytes> operator_calls{};
  /// CPU features that the code of the library needs: names as in a plugin's record with commas
  /// between them ("avx2,fma"), on x86-64 also levels of the psABI ("x86-64-v3"); empty when it
  /// runs on every processor of its machine. Backends refuse the model by name where one is
  /// missing. Nothing when they are not known, as in all files of AOTInductor: programs say nothing
  /// then.
  std::optional<std::string> cpu_features{};
};

/// Checks that `bytes` are a library with the functions by which backends run models of
/// AOTInductor. Of a library for another kind of machine than this one only the format is known.
///
/// errors: InvalidProgram. The text begins with `name`.
[[nodiscard]] Status check_aoti_library(Bytes bytes, const std::string& name);

/// Reads a model from its files, as torch._inductor.aot_compile writes them: library, weights, and
/// the description of its operator calls, which has the name of the library with ".json", if the
/// library calls operators and the file is there. They are mapped, and stay so while bytes of the
/// model are in use.
///
/// errors: AccessFailed for a file that cannot be read; InvalidProgram as `check_aoti_library`.
[[nodiscard]] Result<AotiModel> read_aoti_library(
    const std::filesystem::path& library,
    const std::optional<std::filesystem::path>& weights = std::nullopt);

}}}  // namespace tenon::TENON_RELEASE::aot
