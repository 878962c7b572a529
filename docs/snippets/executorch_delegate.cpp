// SPDX-License-Identifier: MIT
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstring>

namespace et = executorch::runtime;

namespace {

class ScaleBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec>) const override {
    if (processed->size() != sizeof(float)) return et::Error::DelegateInvalidCompatibility;
    auto* factor = context.get_runtime_allocator()->allocateInstance<float>();
    if (!factor) return et::Error::MemoryAllocationFailed;
    std::memcpy(factor, processed->data(), sizeof(float));
    processed->Free();
    return factor;
  }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    const float factor = *static_cast<const float*>(handle);
    if (args.size() != 2 || !args[0]->isTensor() || !args[1]->isTensor()) {
      return et::Error::InvalidArgument;
    }
    const auto& in = args[0]->toTensor();
    auto& out = args[1]->toTensor();
    if (et::resize_tensor(out, in.sizes()) != et::Error::Ok) return et::Error::InvalidArgument;
    const float* from = in.const_data_ptr<float>();
    float* to = out.mutable_data_ptr<float>();
    for (ssize_t i = 0; i < in.numel(); ++i) to[i] = factor * from[i];
    return et::Error::Ok;
  }

  void destroy(et::DelegateHandle*) const override {}  // the allocator frees its memory
};

ScaleBackend backend;
const auto registered = et::register_backend({"ScaleBackend", &backend});

}  // namespace
