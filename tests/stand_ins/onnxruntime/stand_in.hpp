// SPDX-License-Identifier: MIT
//
// A stand-in of ONNX Runtime for the bridge's tests: objects of a graph and of a run, and a table
// of functions that answer as the comments of its header say. A slot that it does not fill is null.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/onnxruntime/api/functions.hpp"
#include "tenon/onnxruntime/api/types.hpp"

// The opaque objects, as the stand-in has them.
namespace tenon { inline namespace TENON_RELEASE { namespace ort {

struct StatusObject {
  ErrorCode code;
  std::string text;
};
struct OpAttr {
  std::string name;
  OpAttrType type;
  std::int64_t number = 0;
  std::string text{};
  std::vector<std::string> texts{};
};
struct TensorTypeAndShapeInfo {
  ElementType type;
  std::vector<std::int64_t> sizes;
};
struct TypeInfo {
  TensorTypeAndShapeInfo tensor;
};
struct ValueInfo {
  std::string name;
  TypeInfo type;
};
struct Node {
  std::string name;
  std::string type = "EPContext";
  std::string domain = "com.microsoft";
  std::vector<OpAttr> attributes{};
  std::vector<const ValueInfo*> inputs{};
  std::vector<const ValueInfo*> outputs{};
};
struct Graph {
  std::vector<const Node*> nodes;
  std::basic_string<PathChar> model;
};
struct Value {
  TensorTypeAndShapeInfo info;
  std::vector<float> data;
};
struct KernelContext {
  std::vector<const Value*> inputs;
  std::vector<Value> outputs;
};
struct KeyValuePairs {
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::vector<const char*> key_texts{};
  std::vector<const char*> value_texts{};
};
struct SessionOptions {
  std::vector<std::pair<std::string, std::string>> entries;
};
struct Logger {
  mutable std::vector<std::pair<LoggingLevel, std::string>> lines;
};
struct HardwareDevice {
  HardwareDeviceType type;
};
struct EpDevice {
  EpFactory* factory;
  const HardwareDevice* device;
};
struct EpGraphSupportInfo {
  std::vector<const Node*> claimed;
};
struct ProfilingEvent {
  ProfilingEventCategory category;
  std::string name;
  std::int64_t start_us;
  std::int64_t duration_us;
};
struct ProfilingEventsContainer {
  std::vector<ProfilingEvent> events;
};

}}}  // namespace tenon::TENON_RELEASE::ort

namespace tenon::test {

/// The stand-in. One at a time: ONNX Runtime's functions have no object.
class OnnxRuntimeStandIn {
 public:
  explicit OnnxRuntimeStandIn(const char* version = "1.32.0") {
    version_ = version;
    api_.fill(nullptr);
    ep_api_.fill(nullptr);
    fill_common();
    fill_graph();
    fill_tensors();
    fill_providers();
  }
  ~OnnxRuntimeStandIn() { version_ = nullptr; }
  OnnxRuntimeStandIn(const OnnxRuntimeStandIn&) = delete;
  OnnxRuntimeStandIn& operator=(const OnnxRuntimeStandIn&) = delete;

  [[nodiscard]] const ort::ApiBase* base() const noexcept { return &base_; }

  /// Takes a function out of the table, as in a version that does not have it.
  template <class Signature>
  void remove(const ort::Function<Signature>& function) {
    slot_of(function) = nullptr;
  }

  static void release(ort::StatusPointer status) {
    if (status) --live_statuses_;
    delete status;
  }

  /// Statuses that were made and not released.
  [[nodiscard]] static int live_statuses() noexcept { return live_statuses_; }

 private:
  using Slot = void (*)();

  template <class Signature>
  static void set(const ort::Function<Signature>& function,
                  std::type_identity_t<Signature>* target) {
    slot_of(function) = reinterpret_cast<Slot>(target);
  }

  template <class Signature>
  static Slot& slot_of(const ort::Function<Signature>& function) {
    return function.table == ort::Table::Api ? api_[function.slot] : ep_api_[function.slot];
  }

  static ort::StatusPointer fail(ort::ErrorCode code, const char* text) {
    ++live_statuses_;
    return new ort::StatusObject{code, text};
  }

  template <class List, class Element>
  static ort::StatusPointer copy_list(const List& list, Element* out, std::size_t count) {
    if (count < list.size()) return fail(ort::ErrorCode::InvalidArgument, "array is too small");
    for (std::size_t i = 0; i < list.size(); ++i) out[i] = list[i];
    return nullptr;
  }

  static void fill_common() {
    using namespace ort;
    set(api::CreateStatus, [](ErrorCode code, const char* text) { return fail(code, text); });
    set(api::GetErrorCode, [](const StatusObject* status) { return status->code; });
    set(api::GetErrorMessage, [](const StatusObject* status) { return status->text.c_str(); });
    set(api::ReleaseStatus, &release);
    set(api::Logger_LogMessage,
        [](const Logger* logger, LoggingLevel level, const char* text, const PathChar*, int,
           const char*) -> StatusPointer {
          logger->lines.emplace_back(level, text);
          return nullptr;
        });
    set(api::GetEpApi, []() -> const void* { return ep_api_.data(); });
  }

  static void fill_graph() {
    using namespace ort;
    set(api::Graph_GetModelPath, [](const Graph* graph, const PathChar** out) -> StatusPointer {
      *out = graph->model.c_str();
      return nullptr;
    });
    set(api::Graph_GetNumNodes, [](const Graph* graph, std::size_t* out) -> StatusPointer {
      *out = graph->nodes.size();
      return nullptr;
    });
    set(api::Graph_GetNodes, [](const Graph* graph, const Node** out, std::size_t count) {
      return copy_list(graph->nodes, out, count);
    });
    set(api::Node_GetName, [](const Node* node, const char** out) -> StatusPointer {
      *out = node->name.c_str();
      return nullptr;
    });
    set(api::Node_GetOperatorType, [](const Node* node, const char** out) -> StatusPointer {
      *out = node->type.c_str();
      return nullptr;
    });
    set(api::Node_GetDomain, [](const Node* node, const char** out) -> StatusPointer {
      *out = node->domain.c_str();
      return nullptr;
    });
    set(api::Node_GetNumInputs, [](const Node* node, std::size_t* out) -> StatusPointer {
      *out = node->inputs.size();
      return nullptr;
    });
    set(api::Node_GetInputs, [](const Node* node, const ValueInfo** out, std::size_t count) {
      return copy_list(node->inputs, out, count);
    });
    set(api::Node_GetNumOutputs, [](const Node* node, std::size_t* out) -> StatusPointer {
      *out = node->outputs.size();
      return nullptr;
    });
    set(api::Node_GetOutputs, [](const Node* node, const ValueInfo** out, std::size_t count) {
      return copy_list(node->outputs, out, count);
    });
    fill_attributes();
  }

  static void fill_attributes() {
    using namespace ort;
    set(api::Node_GetNumAttributes, [](const Node* node, std::size_t* out) -> StatusPointer {
      *out = node->attributes.size();
      return nullptr;
    });
    set(api::Node_GetAttributes, [](const Node* node, const OpAttr** out, std::size_t count) {
      std::vector<const OpAttr*> list;
      for (const OpAttr& each : node->attributes) list.push_back(&each);
      return copy_list(list, out, count);
    });
    set(api::Node_GetAttributeByName,
        [](const Node* node, const char* name, const OpAttr** out) -> StatusPointer {
          *out = nullptr;  // "Null where the node has no such attribute".
          for (const OpAttr& each : node->attributes) {
            if (each.name == name) *out = &each;
          }
          return nullptr;
        });
    set(api::OpAttr_GetType, [](const OpAttr* attribute, OpAttrType* out) -> StatusPointer {
      *out = attribute->type;
      return nullptr;
    });
    set(api::OpAttr_GetName, [](const OpAttr* attribute, const char** out) -> StatusPointer {
      *out = attribute->name.c_str();
      return nullptr;
    });
    set(api::ReadOpAttr, &read_attribute);
  }

  /// "Number of bytes required to save the data when the call failed, or the real number of bytes
  /// saved to data on success." Each text of a list has a NUL behind it.
  static ort::StatusPointer read_attribute(const ort::OpAttr* attribute, ort::OpAttrType type,
                                           void* data, std::size_t size, std::size_t* needed) {
    std::string bytes;
    if (type == ort::OpAttrType::Int) {
      bytes.assign(reinterpret_cast<const char*>(&attribute->number), sizeof attribute->number);
    } else if (type == ort::OpAttrType::String) {
      bytes = attribute->text;
    } else {
      for (const std::string& each : attribute->texts) bytes.append(each.c_str(), each.size() + 1);
    }
    *needed = bytes.size();
    if (attribute->type != type) return fail(ort::ErrorCode::Fail, "another type");
    if (size < bytes.size()) return fail(ort::ErrorCode::InvalidArgument, "size is too small");
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
    return nullptr;
  }

  static void fill_tensors() {
    using namespace ort;
    set(api::GetValueInfoName, [](const ValueInfo* value, const char** out) -> StatusPointer {
      *out = value->name.c_str();
      return nullptr;
    });
    set(api::GetValueInfoTypeInfo,
        [](const ValueInfo* value, const TypeInfo** out) -> StatusPointer {
          *out = &value->type;
          return nullptr;
        });
    set(api::CastTypeInfoToTensorInfo,
        [](const TypeInfo* type, const TensorTypeAndShapeInfo** out) -> StatusPointer {
          *out = &type->tensor;
          return nullptr;
        });
    set(api::GetTensorElementType,
        [](const TensorTypeAndShapeInfo* info, ElementType* out) -> StatusPointer {
          *out = info->type;
          return nullptr;
        });
    set(api::GetDimensionsCount,
        [](const TensorTypeAndShapeInfo* info, std::size_t* out) -> StatusPointer {
          *out = info->sizes.size();
          return nullptr;
        });
    set(api::GetDimensions, [](const TensorTypeAndShapeInfo* info, std::int64_t* out,
                               std::size_t count) { return copy_list(info->sizes, out, count); });
    set(api::GetTensorTypeAndShape,
        [](const Value* value, TensorTypeAndShapeInfo** out) -> StatusPointer {
          *out = new TensorTypeAndShapeInfo(value->info);
          return nullptr;
        });
    set(api::ReleaseTensorTypeAndShapeInfo, [](TensorTypeAndShapeInfo* info) { delete info; });
    set(api::GetTensorElementTypeAndShapeDataReference,
        [](const Value* value, ElementType* type, const std::int64_t** sizes,
           std::size_t* count) -> StatusPointer {
          *type = value->info.type;
          *sizes = value->info.sizes.empty() ? nullptr : value->info.sizes.data();
          *count = value->info.sizes.size();
          return nullptr;
        });
    set(api::GetTensorData, [](const Value* value, const void** out) -> StatusPointer {
      *out = value->data.data();
      return nullptr;
    });
    set(api::GetTensorMutableData, [](Value* value, void** out) -> StatusPointer {
      *out = value->data.data();
      return nullptr;
    });
    set(api::KernelContext_GetInput,
        [](const KernelContext* context, std::size_t index, const Value** out) -> StatusPointer {
          *out = nullptr;
          if (index >= context->inputs.size()) return fail(ErrorCode::Fail, "no such input");
          *out = context->inputs[index];  // "Null where the input is optional and not present."
          return nullptr;
        });
    set(api::KernelContext_GetOutput,
        [](KernelContext* context, std::size_t index, const std::int64_t* sizes, std::size_t count,
           Value** out) -> StatusPointer {
          if (index >= context->outputs.size()) return fail(ErrorCode::Fail, "no such output");
          Value& value = context->outputs[index];
          value.info = {ElementType::Float, {sizes, sizes + count}};
          std::size_t numel = 1;
          for (const std::int64_t size : value.info.sizes) numel *= static_cast<std::size_t>(size);
          value.data.assign(numel, 0.0f);
          *out = &value;
          return nullptr;
        });
  }

  static void fill_providers() {
    using namespace ort;
    set(api::HardwareDevice_Type, [](const HardwareDevice* device) { return device->type; });
    set(api::GetSessionOptionsConfigEntries,
        [](const SessionOptions* options, KeyValuePairs** out) -> StatusPointer {
          auto pairs = std::make_unique<KeyValuePairs>();
          for (const auto& [key, value] : options->entries) {
            pairs->keys.push_back(key);
            pairs->values.push_back(value);
          }
          for (const std::string& key : pairs->keys) pairs->key_texts.push_back(key.c_str());
          for (const std::string& value : pairs->values) {
            pairs->value_texts.push_back(value.c_str());
          }
          *out = pairs.release();
          return nullptr;
        });
    set(api::GetKeyValuePairs, [](const KeyValuePairs* pairs, const char* const** keys,
                                  const char* const** values, std::size_t* count) {
      *keys = pairs->key_texts.data();
      *values = pairs->value_texts.data();
      *count = pairs->keys.size();
    });
    set(api::ReleaseKeyValuePairs, [](KeyValuePairs* pairs) { delete pairs; });
    set(ep_api::CreateEpDevice,
        [](EpFactory* factory, const HardwareDevice* device, const KeyValuePairs*,
           const KeyValuePairs*, EpDevice** out) -> StatusPointer {
          *out = new EpDevice{factory, device};
          return nullptr;
        });
    set(ep_api::ReleaseEpDevice, [](EpDevice* device) { delete device; });
    set(ep_api::EpGraphSupportInfo_AddNodesToFuse,
        [](EpGraphSupportInfo* info, const Node* const* nodes, std::size_t count,
           const NodeFusionOptions*) -> StatusPointer {
          info->claimed.insert(info->claimed.end(), nodes, nodes + count);
          return nullptr;
        });
    set(ep_api::CreateProfilingEvent,
        [](ProfilingEventCategory category, std::int32_t, std::int32_t, const char* name,
           std::int64_t start_us, std::int64_t duration_us, const char* const*, const char* const*,
           std::size_t, ProfilingEvent** out) -> StatusPointer {
          *out = new ProfilingEvent{category, name, start_us, duration_us};
          return nullptr;
        });
    set(ep_api::ReleaseProfilingEvent, [](ProfilingEvent* event) { delete event; });
    // "ORT copies the EP event data during this call."
    set(ep_api::ProfilingEventsContainer_AddEvents,
        [](ProfilingEventsContainer* container, const ProfilingEvent* const* events,
           std::size_t count) -> StatusPointer {
          for (std::size_t i = 0; i < count; ++i) container->events.push_back(*events[i]);
          return nullptr;
        });
  }

  /// "Null where the version is not supported."
  static const void* get_api(std::uint32_t version) {
    return version <= 32 ? api_.data() : nullptr;
  }

  static inline const char* version_ = nullptr;
  static inline int live_statuses_ = 0;
  static inline std::array<Slot, 415> api_{};
  static inline std::array<Slot, 73> ep_api_{};
  static constexpr ort::ApiBase base_{&get_api, [] { return version_; }};
};

}  // namespace tenon::test
