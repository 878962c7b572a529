// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "tenon/aot/compiler/aoti/aoti_model.hpp"
#include "tenon/aot/compiler/pt2/limits.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// Reads the compiled models of an archive that torch._inductor.aoti_compile_and_package or
/// torch.export.pt2_archive wrote (`data/aotinductor/NAME/`), sorted by their names there; "model",
/// the name of an only one, becomes "forward". Libraries and weights are used in place and keep the
/// file mapped.
///
/// errors: AccessFailed when the file cannot be read; InvalidProgram when it is damaged, has no
///         compiled model, or has a model without its library; NotSupported for weights that are
///         pickled and for several libraries of one model; OutOfResources for what is above
///         `limits`. The text names the file and the entry.
[[nodiscard]] Result<std::vector<AotiModel>> read_aoti_package(const std::filesystem::path& path,
                                                               const Pt2Limits& limits = {});

}}}  // namespace tenon::TENON_RELEASE::aot
