// SPDX-License-Identifier: MIT
#include "onednn/reorder.hpp"

#include "onednn/primitive_desc.hpp"

namespace tenon::cpu_aoti::onednn {

Status Reorder::make(const Format& from, const Format& to) {
  TENON_TRY(const PrimitiveDesc desc, reorder(from, to));
  static constexpr int arguments[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
  TENON_RETURN_IF_ERROR(bound_.make(desc, arguments));
  from_nbytes_ = static_cast<std::int64_t>(from.nbytes());
  to_nbytes_ = static_cast<std::int64_t>(to.nbytes());
  return ok();
}

Status Reorder::run(const std::byte* source, std::byte* target) {
  // oneDNN only reads this argument, but its interface has no const.
  TENON_RETURN_IF_ERROR(bound_.set(DNNL_ARG_FROM, const_cast<std::byte*>(source)));
  TENON_RETURN_IF_ERROR(bound_.set(DNNL_ARG_TO, target));
  return bound_.run();
}

}  // namespace tenon::cpu_aoti::onednn
