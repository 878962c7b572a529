// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/variants/requirements.hpp"

#include <set>

#include "tenon/core/concat.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/layers/devices/impl/copy_kernels.hpp"
#include "tenon/host/loader/method/kernels.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::map<std::string, std::string> find_missing_operators(const schema::ExecutionPlan& plan,
                                                          const KernelTable* kernels) {
  std::map<std::string, std::string> missing;
  for (flatbuffers::uoffset_t c = 0; c < plan.chains()->size(); ++c) {
    const auto& instructions = *plan.chains()->Get(c)->instructions();
    for (flatbuffers::uoffset_t i = 0; i < instructions.size(); ++i) {
      const auto* call = instructions.Get(i)->instr_args_as_KernelCall();
      if (!call) continue;
      const std::string op = operator_name(
          *plan.operators()->Get(static_cast<flatbuffers::uoffset_t>(call->op_index())));
      if (is_built_in(op) || (kernels && kernels->find(op))) continue;
      std::string& places = missing[op];
      places += concat(places.empty() ? "" : ", ", c, ":", i);
    }
  }
  return missing;
}

std::vector<std::string> find_missing_tensors(const schema::ExecutionPlan& plan,
                                              const MergedDataMap* external) {
  std::vector<std::string> missing;
  std::set<std::string_view> seen;
  for (const auto* value : *plan.values()) {
    const auto* tensor = value->val_as_Tensor();
    const auto* extra = tensor ? tensor->extra_tensor_info() : nullptr;
    if (!extra || extra->location() != schema::TensorDataLocation::EXTERNAL) continue;
    const std::string_view name = extra->fully_qualified_name()->string_view();
    if (external && external->find(name)) continue;
    if (seen.insert(name).second) missing.emplace_back(name);
  }
  return missing;
}

}}}  // namespace tenon::TENON_RELEASE::host
