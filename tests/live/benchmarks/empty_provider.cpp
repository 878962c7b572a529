// SPDX-License-Identifier: MIT
//
// An execution provider library of ONNX Runtime that does nothing: it claims EPContext nodes of the
// source "Empty", and its call allocates the output. What every provider costs, for
// bench_onnxruntime.py. Has no host of Tenon's; the facts of ONNX Runtime's interface are.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/onnxruntime/read_node.hpp"

namespace ort = tenon::ort;
using ort::StatusPointer;

namespace {

struct Factory : ort::EpFactory {
  explicit Factory(ort::Runtime loaded) : runtime(loaded) {}
  ort::Runtime runtime;
};
struct Provider : ort::Ep {
  explicit Provider(const Factory& made_by) : factory(&made_by) {}
  const Factory* factory;
};
struct Call : ort::NodeComputeInfo {
  explicit Call(const Factory& made_by) : factory(&made_by) {}
  const Factory* factory;
};

StatusPointer compute(ort::NodeComputeInfo* self, void*, ort::KernelContext* context) {
  const std::int64_t sizes[] = {1};
  ort::Value* out = nullptr;
  return static_cast<Call*>(self)->factory->runtime.call(ort::api::KernelContext_GetOutput, context,
                                                         0, sizes, 1, &out);
}

tenon::Status claim(const ort::Runtime& runtime, const ort::Graph& graph,
                    ort::EpGraphSupportInfo& info) {
  TENON_TRY(const auto nodes, ort::read_nodes(runtime, graph));
  for (const ort::Node* const node : nodes) {
    TENON_TRY(const auto source, ort::read_text_attribute(runtime, *node, "source"));
    if (source != "Empty") continue;
    const ort::NodeFusionOptions options;
    TENON_RETURN_IF_ERROR(runtime.check(ort::ep_api::EpGraphSupportInfo_AddNodesToFuse, &info,
                                        &node, std::size_t{1}, &options));
  }
  return tenon::ok();
}

StatusPointer make_provider(ort::EpFactory* self, const ort::HardwareDevice* const*,
                            const ort::KeyValuePairs* const*, std::size_t,
                            const ort::SessionOptions*, const ort::Logger*, ort::Ep** out) {
  auto* const made = new Provider(*static_cast<Factory*>(self));
  made->get_name = [](const ort::Ep*) { return "Empty"; };
  made->get_capability = [](ort::Ep* ep, const ort::Graph* graph, ort::EpGraphSupportInfo* info) {
    const ort::Runtime& runtime = static_cast<Provider*>(ep)->factory->runtime;
    return runtime.guarded([&] { return claim(runtime, *graph, *info); });
  };
  made->compile = [](ort::Ep* ep, const ort::Graph**, const ort::Node**, std::size_t count,
                     ort::NodeComputeInfo** infos, ort::Node**) -> StatusPointer {
    for (std::size_t i = 0; i < count; ++i) {
      auto* const call = new Call(*static_cast<Provider*>(ep)->factory);
      call->create_state = [](ort::NodeComputeInfo*, ort::NodeComputeContext*,
                              void** state) -> StatusPointer {
        *state = nullptr;
        return nullptr;
      };
      call->compute = &compute;
      call->release_state = [](ort::NodeComputeInfo*, void*) {};
      infos[i] = call;
    }
    return nullptr;
  };
  made->release_node_compute_infos = [](ort::Ep*, ort::NodeComputeInfo** infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<Call*>(infos[i]);
  };
  *out = made;
  return nullptr;
}

StatusPointer find_devices(ort::EpFactory* self, const ort::HardwareDevice* const* devices,
                           std::size_t count, ort::EpDevice** out, std::size_t, std::size_t* made) {
  const ort::Runtime& runtime = static_cast<Factory*>(self)->runtime;
  *made = 0;
  for (std::size_t i = 0; i < count && *made == 0; ++i) {
    if (runtime.call(ort::api::HardwareDevice_Type, devices[i]) != ort::HardwareDeviceType::Cpu) {
      continue;
    }
    *made = 1;
    return runtime.guarded([&] {
      return runtime.check(ort::ep_api::CreateEpDevice, self, devices[i], nullptr, nullptr, out);
    });
  }
  return nullptr;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) StatusPointer
CreateEpFactories(const char*, const ort::ApiBase* base, const ort::Logger*,
                  ort::EpFactory** factories, std::size_t, std::size_t* made) {
  auto runtime = ort::Runtime::open(base);
  if (!runtime.ok()) return ort::Runtime::refuse(base, std::move(runtime).status());
  auto* const factory = new Factory(*runtime);
  factory->get_name = [](const ort::EpFactory*) { return "Empty"; };
  factory->get_vendor = [](const ort::EpFactory*) { return "Tenon"; };
  factory->get_version = [](const ort::EpFactory*) { return "0.1.0"; };
  factory->get_vendor_id = [](const ort::EpFactory*) -> std::uint32_t { return 0; };
  factory->is_stream_aware = [](const ort::EpFactory*) { return false; };
  factory->get_supported_devices = &find_devices;
  factory->create_ep = &make_provider;
  factory->release_ep = [](ort::EpFactory*, ort::Ep* ep) { delete static_cast<Provider*>(ep); };
  factory->create_data_transfer = [](ort::EpFactory*, ort::DataTransferImpl** out) {
    *out = nullptr;
    return StatusPointer();
  };
  factories[0] = factory;
  *made = 1;
  return nullptr;
}

__attribute__((visibility("default"))) StatusPointer ReleaseEpFactory(ort::EpFactory* factory) {
  delete static_cast<Factory*>(factory);
  return nullptr;
}
}
