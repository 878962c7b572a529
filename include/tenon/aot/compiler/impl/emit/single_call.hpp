// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/emit/single_call.hpp"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

Result<ProgramData> make_program(const SingleCall& call) {
  if (call.blob.empty()) return error(Error::InvalidArgument, "the blob has no bytes");
  if (call.outputs.empty()) {
    return error(Error::InvalidArgument, "expected an output or more, found none");
  }
  ProgramData out;
  NamedDataStore store;
  std::set<std::string_view> keys;
  for (const auto& [key, bytes] : call.data) {
    if (!keys.insert(key).second) {
      return error(Error::InvalidArgument, "named data ", host::quoted(key), ": twice");
    }
    TENON_RETURN_IF_ERROR(store.add_named_data(key, bytes));
  }
  out.named_data = store.get_named_data_store_output();
  MethodData& method = out.methods.emplace_back();
  method.name = call.method;
  DelegateCall delegate;
  delegate.delegate_index = method.add_delegate({call.backend, call.blob, call.specs});
  const auto add = [&](const std::vector<TensorValue>& tensors, std::vector<ValueIndex>& list) {
    for (const TensorValue& tensor : tensors) {
      list.push_back(method.add(tensor));
      delegate.args.push_back(list.back());
    }
  };
  add(call.inputs, method.inputs);
  add(call.outputs, method.outputs);
  method.instructions.emplace_back(std::move(delegate));
  TENON_RETURN_IF_ERROR(
      plan_method_memory(method).with_context("the memory of inputs, then outputs"));
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aot
