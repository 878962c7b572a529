// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/schema/program_generated.h"
#include "tenon/onnxruntime/node_program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// Asks the backend of a node whether its blobs were made for this machine (`check_blob`). ONNX
/// Runtime's own question to a provider shows it the model's metadata alone.
///
/// A backend without an answer, and one that fails to judge, leave it to `init`: the verdict is
/// then optimal.
///
/// errors: DelegateInvalidCompatibility for a blob that `init` would refuse.
[[nodiscard]] inline Result<host::BlobCheck> judge_blobs(const host::LoadedBackend& backend,
                                                         const NodeProgram& node,
                                                         const host::MethodOptions& options) {
  host::BlobCheck out;
  const auto& plans = *node.program->flatbuffer().execution_plan();
  const auto plan = std::find_if(plans.begin(), plans.end(), [&](const auto* each) {
    return each->name()->string_view() == node.method;
  });
  if (plan == plans.end()) return out;
  for (const auto* const delegate : *plan->delegates()) {
    if (delegate->id()->string_view() != backend.id()) continue;
    auto found = host::check_blob(
        backend, *node.program, node.method.c_str(), *delegate, node.program->named_data(),
        options.registry, host::detail::runtime_specs_of(options.backend_options, backend.id()));
    if (!found.ok() || !*found) continue;
    if ((*found)->verdict == TENON_BLOB_INCOMPATIBLE) {
      return error(Error::DelegateInvalidCompatibility, "the context: ", (*found)->reason);
    }
    if ((*found)->verdict > out.verdict) out = **std::move(found);
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::ort
