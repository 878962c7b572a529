// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/onnxruntime/api/types.hpp"

// The functions of OrtApi that the bridge calls: number in the table, minor version of ONNX Runtime
// that added it, name, type. Numbers never change.
#define TENON_ORT_API(X)                                                                           \
  X(0, 0, CreateStatus, StatusPointer(ErrorCode, const char* text))                                \
  X(1, 0, GetErrorCode, ErrorCode(const StatusObject*))                                            \
  X(2, 0, GetErrorMessage, const char*(const StatusObject*))                                       \
  X(51, 0, GetTensorMutableData, StatusPointer(Value*, void** data))                               \
  X(55, 0, CastTypeInfoToTensorInfo,                                                               \
    StatusPointer(const TypeInfo*, const TensorTypeAndShapeInfo** out))                            \
  X(60, 0, GetTensorElementType, StatusPointer(const TensorTypeAndShapeInfo*, ElementType*))       \
  X(61, 0, GetDimensionsCount, StatusPointer(const TensorTypeAndShapeInfo*, std::size_t*))         \
  X(62, 0, GetDimensions,                                                                          \
    StatusPointer(const TensorTypeAndShapeInfo*, std::int64_t* sizes, std::size_t count))          \
  X(65, 0, GetTensorTypeAndShape, StatusPointer(const Value*, TensorTypeAndShapeInfo** out))       \
  X(90, 0, KernelContext_GetInput,                                                                 \
    StatusPointer(const KernelContext*, std::size_t index, const Value** out))                     \
  X(91, 0, KernelContext_GetOutput,                                                                \
    StatusPointer(KernelContext*, std::size_t index, const std::int64_t* sizes, std::size_t count, \
                  Value** out))                                                                    \
  X(93, 0, ReleaseStatus, void(StatusObject*))                                                     \
  X(99, 0, ReleaseTensorTypeAndShapeInfo, void(TensorTypeAndShapeInfo*))                           \
  X(247, 15, Logger_LogMessage,                                                                    \
    StatusPointer(const Logger*, LoggingLevel, const char* text, const PathChar* file, int line,   \
                  const char* function))                                                           \
  X(272, 17, ReadOpAttr,                                                                           \
    StatusPointer(const OpAttr*, OpAttrType, void* data, std::size_t size, std::size_t* needed))   \
  X(289, 22, GetValueInfoName, StatusPointer(const ValueInfo*, const char** name))                 \
  X(290, 22, GetValueInfoTypeInfo, StatusPointer(const ValueInfo*, const TypeInfo** out))          \
  X(295, 22, CreateKeyValuePairs, void(KeyValuePairs * *out))                                      \
  X(296, 22, AddKeyValuePair, void(KeyValuePairs*, const char* key, const char* value))            \
  X(298, 22, GetKeyValuePairs,                                                                     \
    void(const KeyValuePairs*, const char* const** keys, const char* const** values,               \
         std::size_t* count))                                                                      \
  X(300, 22, ReleaseKeyValuePairs, void(KeyValuePairs*))                                           \
  X(307, 22, HardwareDevice_Type, HardwareDeviceType(const HardwareDevice*))                       \
  X(317, 22, GetEpApi, const void*())                                                              \
  X(334, 23, Graph_GetModelPath, StatusPointer(const Graph*, const PathChar** path))               \
  X(344, 23, Graph_GetNumNodes, StatusPointer(const Graph*, std::size_t*))                         \
  X(345, 23, Graph_GetNodes, StatusPointer(const Graph*, const Node** nodes, std::size_t count))   \
  X(349, 23, Node_GetName, StatusPointer(const Node*, const char** name))                          \
  X(350, 23, Node_GetOperatorType, StatusPointer(const Node*, const char** type))                  \
  X(351, 23, Node_GetDomain, StatusPointer(const Node*, const char** domain))                      \
  X(353, 23, Node_GetNumInputs, StatusPointer(const Node*, std::size_t*))                          \
  X(354, 23, Node_GetInputs,                                                                       \
    StatusPointer(const Node*, const ValueInfo** inputs, std::size_t count))                       \
  X(355, 23, Node_GetNumOutputs, StatusPointer(const Node*, std::size_t*))                         \
  X(356, 23, Node_GetOutputs,                                                                      \
    StatusPointer(const Node*, const ValueInfo** outputs, std::size_t count))                      \
  X(359, 23, Node_GetNumAttributes, StatusPointer(const Node*, std::size_t*))                      \
  X(360, 23, Node_GetAttributes,                                                                   \
    StatusPointer(const Node*, const OpAttr** attributes, std::size_t count))                      \
  X(361, 23, Node_GetAttributeByName,                                                              \
    StatusPointer(const Node*, const char* name, const OpAttr** attribute))                        \
  X(363, 23, OpAttr_GetType, StatusPointer(const OpAttr*, OpAttrType*))                            \
  X(364, 23, OpAttr_GetName, StatusPointer(const OpAttr*, const char** name))                      \
  X(378, 23, GetTensorData, StatusPointer(const Value*, const void** data))                        \
  X(379, 23, GetSessionOptionsConfigEntries,                                                       \
    StatusPointer(const SessionOptions*, KeyValuePairs** out))                                     \
  X(414, 24, GetTensorElementTypeAndShapeDataReference,                                            \
    StatusPointer(const Value*, ElementType*, const std::int64_t** sizes, std::size_t* count))

// The functions of OrtEpApi that the bridge calls.
#define TENON_ORT_EP_API(X)                                                              \
  X(0, 22, CreateEpDevice,                                                               \
    StatusPointer(EpFactory*, const HardwareDevice*, const KeyValuePairs* metadata,      \
                  const KeyValuePairs* options, EpDevice** out))                         \
  X(1, 22, ReleaseEpDevice, void(EpDevice*))                                             \
  X(2, 23, EpGraphSupportInfo_AddNodesToFuse,                                            \
    StatusPointer(EpGraphSupportInfo*, const Node* const* nodes, std::size_t count,      \
                  const NodeFusionOptions*))                                             \
  X(65, 25, CreateProfilingEvent,                                                        \
    StatusPointer(ProfilingEventCategory, std::int32_t process, std::int32_t thread,     \
                  const char* name, std::int64_t start_us, std::int64_t duration_us,     \
                  const char* const* keys, const char* const* values, std::size_t count, \
                  ProfilingEvent** out))                                                 \
  X(66, 25, ReleaseProfilingEvent, void(ProfilingEvent*))                                \
  X(72, 25, ProfilingEventsContainer_AddEvents,                                          \
    StatusPointer(ProfilingEventsContainer*, const ProfilingEvent* const* events,        \
                  std::size_t count))

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// ORTCHAR_T: an element of a path.
#if defined(_WIN32)
using PathChar = wchar_t;
#else
using PathChar = char;
#endif

enum class Table : std::uint8_t { Api, EpApi };

/// A function of a table.
template <class Signature>
struct Function {
  Table table;
  std::size_t slot;     ///< Its number in the table.
  std::uint32_t since;  ///< Minor version of ONNX Runtime that added it; 0: before 1.15.
  const char* name;
};

#define TENON_ORT_FUNCTION(slot, since, name, ...) \
  inline constexpr Function<__VA_ARGS__> name{table, slot, since, #name};

/// Functions of OrtApi.
namespace api {
inline constexpr Table table = Table::Api;
TENON_ORT_API(TENON_ORT_FUNCTION)
}  // namespace api
/// Functions of OrtEpApi.
namespace ep_api {
inline constexpr Table table = Table::EpApi;
TENON_ORT_EP_API(TENON_ORT_FUNCTION)
}  // namespace ep_api

#undef TENON_ORT_FUNCTION

}}}  // namespace tenon::TENON_RELEASE::ort
