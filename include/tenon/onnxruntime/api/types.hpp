// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/abi/version.h"

/// Facts of ONNX Runtime's C interface that plugin execution providers use: opaque objects, numbers
/// of enumerations, and the layouts of the structs that a provider fills in. The names are ONNX
/// Runtime's without "Ort"; its header declares the same in the global namespace.
///
/// ONNX Runtime appends to its structs and tables, and never changes what is there. The first
/// member of a struct says in which version it ended where it ends here, so a later runtime reads
/// no further. `check_header.hpp` compares all of it with the real header.
namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// The version whose structs are declared here: the oldest that compiles nodes by plugins.
inline constexpr std::uint32_t api_version = 23;
/// The version that added profilers.
inline constexpr std::uint32_t profiler_version = 25;

// Objects of ONNX Runtime.
struct Allocator;
struct DataTransferImpl;
struct EpDevice;
struct EpGraphSupportInfo;
struct Graph;
struct HardwareDevice;
struct KernelContext;
struct KernelRegistry;
struct KeyValuePairs;
struct Logger;
struct MemoryDevice;
struct MemoryInfo;
struct Node;
struct NodeComputeContext;
struct OpAttr;
struct ProfilingEvent;
struct ProfilingEventsContainer;
struct RunOptions;
struct SessionOptions;
struct StatusObject;
struct SyncStreamImpl;
struct TensorTypeAndShapeInfo;
struct TypeInfo;
struct Value;
struct ValueInfo;
struct Ep;

/// OrtStatus*: null is success.
using StatusPointer = StatusObject*;

/// OrtErrorCode.
enum class ErrorCode : int {
  Ok = 0,
  Fail = 1,
  InvalidArgument = 2,
  NoSuchFile = 3,
  EngineError = 5,
  RuntimeException = 6,
  NotImplemented = 9,
  InvalidGraph = 10,
};

/// OrtLoggingLevel.
enum class LoggingLevel : int { Verbose = 0, Info = 1, Warning = 2, Error = 3, Fatal = 4 };

/// OrtOpAttrType.
enum class OpAttrType : int { Int = 1, String = 5, Strings = 6 };

/// OrtHardwareDeviceType.
enum class HardwareDeviceType : int { Cpu = 0, Gpu = 1, Npu = 2 };

/// OrtProfilingEventCategory.
enum class ProfilingEventCategory : int { Session = 0, Node = 1, Kernel = 2, Api = 3 };

/// OrtCompiledModelCompatibility.
enum class Compatibility : int {
  NotApplicable = 0,
  Optimal = 1,
  PreferRecompilation = 2,
  Unsupported = 3,
};

/// ONNXTensorElementDataType.
enum class ElementType : int {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
};

/// OrtApiBase.
struct ApiBase {
  const void* (*get_api)(std::uint32_t version);
  const char* (*get_version_string)();
};

/// OrtNodeFusionOptions, 1.23.
struct NodeFusionOptions {
  std::uint32_t version = api_version;
  bool drop_constant_initializers = false;
};

/// OrtNodeComputeInfo, 1.23.
struct NodeComputeInfo {
  std::uint32_t version = api_version;
  StatusPointer (*create_state)(NodeComputeInfo*, NodeComputeContext*, void** state) = nullptr;
  StatusPointer (*compute)(NodeComputeInfo*, void* state, KernelContext*) = nullptr;
  void (*release_state)(NodeComputeInfo*, void* state) = nullptr;
};

/// OrtEpProfilerImpl, 1.25.
struct EpProfiler {
  std::uint32_t version = profiler_version;
  void (*release)(EpProfiler*) = nullptr;
  StatusPointer (*start_profiling)(EpProfiler*, std::int64_t offset_ns) = nullptr;
  StatusPointer (*start_event)(EpProfiler*, std::uint64_t correlation_id) = nullptr;
  StatusPointer (*stop_event)(EpProfiler*, std::uint64_t correlation_id,
                              const ProfilingEvent*) = nullptr;
  StatusPointer (*end_profiling)(EpProfiler*, ProfilingEventsContainer*) = nullptr;
};

/// OrtEp up to 1.25. Null functions are optional.
struct Ep {
  std::uint32_t version = api_version;
  const char* (*get_name)(const Ep*) = nullptr;
  StatusPointer (*get_capability)(Ep*, const Graph*, EpGraphSupportInfo*) = nullptr;
  StatusPointer (*compile)(Ep*, const Graph** graphs, const Node** fused_nodes, std::size_t count,
                           NodeComputeInfo** infos, Node** context_nodes) = nullptr;
  void (*release_node_compute_infos)(Ep*, NodeComputeInfo** infos, std::size_t count) = nullptr;
  StatusPointer (*get_preferred_data_layout)(Ep*, int* layout) = nullptr;
  StatusPointer (*should_convert_data_layout_for_op)(Ep*, const char* domain, const char* type,
                                                     int layout, int* should_convert) = nullptr;
  StatusPointer (*set_dynamic_options)(Ep*, const char* const* keys, const char* const* values,
                                       std::size_t count) = nullptr;
  StatusPointer (*on_run_start)(Ep*, const RunOptions*) = nullptr;
  StatusPointer (*on_run_end)(Ep*, const RunOptions*, bool sync_stream) = nullptr;
  StatusPointer (*create_allocator)(Ep*, const MemoryInfo*, Allocator**) = nullptr;
  StatusPointer (*create_sync_stream_for_device)(Ep*, const MemoryDevice*,
                                                 SyncStreamImpl**) = nullptr;
  const char* (*get_compiled_model_compatibility_info)(Ep*, const Graph*) = nullptr;
  StatusPointer (*get_kernel_registry)(Ep*, const KernelRegistry**) = nullptr;
  StatusPointer (*is_concurrent_run_supported)(Ep*, bool*) = nullptr;
  StatusPointer (*sync)(Ep*) = nullptr;
  StatusPointer (*create_profiler)(Ep*, EpProfiler**) = nullptr;
};

/// OrtEpFactory up to 1.23.
struct EpFactory {
  std::uint32_t version = api_version;
  const char* (*get_name)(const EpFactory*) = nullptr;
  const char* (*get_vendor)(const EpFactory*) = nullptr;
  StatusPointer (*get_supported_devices)(EpFactory*, const HardwareDevice* const* devices,
                                         std::size_t device_count, EpDevice** ep_devices,
                                         std::size_t max_ep_devices,
                                         std::size_t* ep_device_count) = nullptr;
  StatusPointer (*create_ep)(EpFactory*, const HardwareDevice* const* devices,
                             const KeyValuePairs* const* metadata, std::size_t device_count,
                             const SessionOptions*, const Logger*, Ep**) = nullptr;
  void (*release_ep)(EpFactory*, Ep*) = nullptr;
  std::uint32_t (*get_vendor_id)(const EpFactory*) = nullptr;
  const char* (*get_version)(const EpFactory*) = nullptr;
  StatusPointer (*validate_compiled_model_compatibility_info)(EpFactory*,
                                                              const HardwareDevice* const* devices,
                                                              std::size_t device_count,
                                                              const char* info,
                                                              Compatibility*) = nullptr;
  StatusPointer (*create_allocator)(EpFactory*, const MemoryInfo*, const KeyValuePairs* options,
                                    Allocator**) = nullptr;
  void (*release_allocator)(EpFactory*, Allocator*) = nullptr;
  StatusPointer (*create_data_transfer)(EpFactory*, DataTransferImpl**) = nullptr;
  bool (*is_stream_aware)(const EpFactory*) = nullptr;
  StatusPointer (*create_sync_stream_for_device)(EpFactory*, const MemoryDevice*,
                                                 const KeyValuePairs* options,
                                                 SyncStreamImpl**) = nullptr;
};

}}}  // namespace tenon::TENON_RELEASE::ort
