// SPDX-License-Identifier: MIT
#include "onednn/reorder.hpp"

namespace tenon::cpu_aoti::onednn {

Status Reorder::make(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  TENON_TRY(const Attributes attributes, new_attributes());
  dnnl_primitive_desc_t desc = nullptr;
  TENON_RETURN_IF_ERROR(check(api().dnnl_reorder_primitive_desc_create(&desc, &from, engine(), &to,
                                                                       engine(), attributes.get()),
                              "changing a format"));
  const PrimitiveDesc owned(desc);
  static constexpr int arguments[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
  TENON_RETURN_IF_ERROR(bound_.make(desc, arguments));
  from_nbytes_ = static_cast<std::int64_t>(api().dnnl_memory_desc_get_size(&from));
  to_nbytes_ = static_cast<std::int64_t>(api().dnnl_memory_desc_get_size(&to));
  return ok();
}

Status Reorder::run(const std::byte* source, std::byte* target) {
  // oneDNN only reads this argument, but its interface has no const.
  TENON_RETURN_IF_ERROR(bound_.set(DNNL_ARG_FROM, const_cast<std::byte*>(source)));
  TENON_RETURN_IF_ERROR(bound_.set(DNNL_ARG_TO, target));
  return bound_.run();
}

}  // namespace tenon::cpu_aoti::onednn
