// SPDX-License-Identifier: MIT
//
// Another plugin that lists CUDA device 0, as the one of far_memory.cpp does, and has no memory
// there: whether it is the same device is a matter of its identity. It computes nothing.
#include "plugins/far/twin.hpp"

#include <tenon/tenon.hpp>

namespace {

class Twin final : public tenon::Backend<Twin>, public tenon::WithDevices<Twin> {
 public:
  static constexpr std::string_view id = "Twin";
  struct Delegate {};

  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate();
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args args) {
    TENON_TRY(const tenon::TensorView first, args.tensor(0));
    tenon::test::twin_record().address = first.data();
    return tenon::ok();
  }
  tenon::Result<std::vector<tenon::DeviceInfo>> devices() {
    const auto& record = tenon::test::twin_record();
    if (!record.lists_device) return std::vector<tenon::DeviceInfo>();
    return std::vector{tenon::DeviceInfo{
        {TENON_DL_CUDA, 0}, "twin", "", 0, record.identity, record.shares_addresses}};
  }
};

}  // namespace

TENON_PLUGIN(Twin);
