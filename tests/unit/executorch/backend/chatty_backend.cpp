// SPDX-License-Identifier: MIT
//
// A backend for ExecuTorch that refuses every blob and says so in ExecuTorch's log. CHATTY_ID is
// its id.
#include <executorch/runtime/backend/interface.h>

#include "tenon/executorch/plugin.hpp"

namespace {

namespace et = ::executorch::runtime;

class ChattyBackend final : public et::BackendInterface {
 public:
  ChattyBackend() { ET_LOG(Info, CHATTY_ID " is made"); }

  bool is_available() const override { return true; }
  et::Result<et::DelegateHandle*> init(et::BackendInitContext&, et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec>) const override {
    ET_CHECK_MSG(processed->size() != 5, CHATTY_ID " checks");
    ET_LOG(Error, CHATTY_ID " says no");
    return et::Error::NotSupported;
  }
  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle*,
                    et::Span<et::EValue*>) const override {
    return et::Error::NotSupported;
  }
};

}  // namespace

TENON_EXECUTORCH_PLUGIN(ChattyBackend, CHATTY_ID);
