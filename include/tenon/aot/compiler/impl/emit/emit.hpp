// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/emit/emit.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "tenon/aot/compiler/impl/emit/emit_method.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/host/layers/trace/debug_handles.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

Result<ProgramData> emit(const std::vector<CompiledMethod>& methods, const EmitOptions& options) {
  if (methods.empty())
    return error(Error::InvalidArgument, "a program: expected at least one method, found none");
  std::vector<const CompiledMethod*> order;
  for (const CompiledMethod& method : methods) order.push_back(&method);
  const auto name_of = [](const CompiledMethod* method) {
    return method->program.program.method_name();
  };
  std::ranges::stable_sort(order, {}, name_of);

  ProgramData program;
  NamedDataStore named_data;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const CompiledMethod& method = *order[i];
    const std::string_view name = name_of(order[i]);
    const auto in_method = [&](const Status& status) {
      return error(status.error(), "method '", name, "': ", status.text());
    };
    if (i > 0 && name_of(order[i - 1]) == name) {
      return error(Error::InvalidArgument, "two methods have the name '", name, "'");
    }
    if (method.results.size() != method.program.partitions.size()) {
      return error(Error::InvalidArgument, "method '", name, "' has ",
                   method.program.partitions.size(), " partitions but ", method.results.size(),
                   " results");
    }
    for (const PreprocessResult& result : method.results) {
      Status merged = named_data.merge_named_data_store(result.data_store_output);
      if (!merged.ok()) return in_method(merged);
    }
    detail::MethodEmitter emitter(
        method.program, method.results, options.operators,
        options.external_constants ? &*options.external_constants : nullptr, program, named_data);
    auto emitted = emitter.emit();
    if (!emitted.ok()) return in_method(std::move(emitted).status());
    if (options.debug_handles) {
      Status added = named_data.add_named_data(
          concat(host::debug_handles_key, name),
          SharedBytes::copy_of(std::string_view(emitter.debug_handles_text())));
      if (!added.ok()) return in_method(added);
    }
    Status planned = plan_method_memory(*emitted, options.memory);
    if (!planned.ok()) return in_method(planned);
    program.methods.push_back(*std::move(emitted));
  }
  program.named_data = named_data.get_named_data_store_output();
  return program;
}

}}}  // namespace tenon::TENON_RELEASE::aot
