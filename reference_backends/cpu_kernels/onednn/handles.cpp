// SPDX-License-Identifier: MIT
#include "onednn/handles.hpp"

#include <string_view>

namespace tenon::cpu_aoti::onednn {

Status check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) [[likely]]
    return ok();
  const Error code = status == dnnl_out_of_memory   ? Error::MemoryAllocationFailed
                     : status == dnnl_unimplemented ? Error::NotSupported
                                                    : Error::Internal;
  return error(code, "oneDNN: ", std::string_view(what), ": status ", static_cast<int>(status));
}

dnnl_engine_t engine() {
  static const Owned<dnnl_engine_t, &Api::dnnl_engine_destroy> only = [] {
    dnnl_engine_t made = nullptr;
    if (api().dnnl_engine_create(&made, dnnl_cpu, 0) != dnnl_success) made = nullptr;
    return Owned<dnnl_engine_t, &Api::dnnl_engine_destroy>(made);
  }();
  return only.get();
}

}  // namespace tenon::cpu_aoti::onednn
