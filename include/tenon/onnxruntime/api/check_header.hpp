// SPDX-License-Identifier: MIT
//
// Compares the facts of this directory with ONNX Runtime's own header, which the source that
// includes this header includes before it. Its wheel has no headers; an archive of a release does.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>

#include "tenon/onnxruntime/api/functions.hpp"
#include "tenon/onnxruntime/api/types.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
// Attributes of the header's functions, which say nothing about how they are called.
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

namespace tenon { inline namespace TENON_RELEASE { namespace ort { namespace detail {

/// Whether the values of both types are passed alike: both are pointers, or both are numbers of one
/// size.
template <class Real, class Ours>
constexpr bool passes_alike =
    std::is_void_v<Real> == std::is_void_v<Ours> &&
    std::is_pointer_v<Real> == std::is_pointer_v<Ours> &&
    std::is_same_v<std::conditional_t<std::is_void_v<Real>, int, Real>, bool> ==
        std::is_same_v<std::conditional_t<std::is_void_v<Ours>, int, Ours>, bool> &&
    sizeof(std::conditional_t<std::is_void_v<Real>, int, Real>) ==
        sizeof(std::conditional_t<std::is_void_v<Ours>, int, Ours>);

template <class Real, class Ours>
constexpr bool is_called_alike = false;
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
constexpr bool is_called_alike<R(A...), S(B...)> =
    passes_alike<R, S> && (passes_alike<A, B> && ...);

/// The type of a function, of a pointer to it, without `noexcept`.
template <class F>
struct FunctionOf {
  using type = F;
};
template <class R, class... A>
struct FunctionOf<R (*)(A...)> {
  using type = R(A...);
};
template <class R, class... A>
struct FunctionOf<R (*)(A...) noexcept> {
  using type = R(A...);
};

static_assert(ORT_API_VERSION >= 25, "the check needs the header of ONNX Runtime 1.25 or later");

#define TENON_ORT_CHECK(Table, slot, name, ...)                            \
  static_assert(offsetof(::Table, name) == (slot) * sizeof(void*), #name); \
  static_assert(is_called_alike<FunctionOf<decltype(::Table::name)>::type, __VA_ARGS__>, #name);
#define TENON_ORT_CHECK_API(slot, since, name, ...) TENON_ORT_CHECK(OrtApi, slot, name, __VA_ARGS__)
#define TENON_ORT_CHECK_EP_API(slot, since, name, ...) \
  TENON_ORT_CHECK(OrtEpApi, slot, name, __VA_ARGS__)
TENON_ORT_API(TENON_ORT_CHECK_API)
TENON_ORT_EP_API(TENON_ORT_CHECK_EP_API)
#undef TENON_ORT_CHECK_EP_API
#undef TENON_ORT_CHECK_API
#undef TENON_ORT_CHECK

#define TENON_ORT_MEMBER(Real, real, Ours, ours)                          \
  static_assert(offsetof(::Real, real) == offsetof(Ours, ours), #real);   \
  static_assert(is_called_alike<FunctionOf<decltype(::Real::real)>::type, \
                                FunctionOf<decltype(Ours::ours)>::type>,  \
                #real);

static_assert(offsetof(::OrtApiBase, GetVersionString) == offsetof(ApiBase, get_version_string));
TENON_ORT_MEMBER(OrtNodeComputeInfo, CreateState, NodeComputeInfo, create_state)
TENON_ORT_MEMBER(OrtNodeComputeInfo, Compute, NodeComputeInfo, compute)
TENON_ORT_MEMBER(OrtNodeComputeInfo, ReleaseState, NodeComputeInfo, release_state)
static_assert(offsetof(::OrtNodeFusionOptions, drop_constant_initializers) ==
              offsetof(NodeFusionOptions, drop_constant_initializers));
TENON_ORT_MEMBER(OrtEp, GetName, Ep, get_name)
TENON_ORT_MEMBER(OrtEp, GetCapability, Ep, get_capability)
TENON_ORT_MEMBER(OrtEp, Compile, Ep, compile)
TENON_ORT_MEMBER(OrtEp, ReleaseNodeComputeInfos, Ep, release_node_compute_infos)
TENON_ORT_MEMBER(OrtEp, GetPreferredDataLayout, Ep, get_preferred_data_layout)
TENON_ORT_MEMBER(OrtEp, ShouldConvertDataLayoutForOp, Ep, should_convert_data_layout_for_op)
TENON_ORT_MEMBER(OrtEp, SetDynamicOptions, Ep, set_dynamic_options)
TENON_ORT_MEMBER(OrtEp, OnRunStart, Ep, on_run_start)
TENON_ORT_MEMBER(OrtEp, OnRunEnd, Ep, on_run_end)
TENON_ORT_MEMBER(OrtEp, CreateAllocator, Ep, create_allocator)
TENON_ORT_MEMBER(OrtEp, CreateSyncStreamForDevice, Ep, create_sync_stream_for_device)
TENON_ORT_MEMBER(OrtEp, GetCompiledModelCompatibilityInfo, Ep,
                 get_compiled_model_compatibility_info)
TENON_ORT_MEMBER(OrtEp, GetKernelRegistry, Ep, get_kernel_registry)
TENON_ORT_MEMBER(OrtEp, IsConcurrentRunSupported, Ep, is_concurrent_run_supported)
TENON_ORT_MEMBER(OrtEp, Sync, Ep, sync)
TENON_ORT_MEMBER(OrtEp, CreateProfiler, Ep, create_profiler)
TENON_ORT_MEMBER(OrtEpProfilerImpl, Release, EpProfiler, release)
TENON_ORT_MEMBER(OrtEpProfilerImpl, StartProfiling, EpProfiler, start_profiling)
TENON_ORT_MEMBER(OrtEpProfilerImpl, StartEvent, EpProfiler, start_event)
TENON_ORT_MEMBER(OrtEpProfilerImpl, StopEvent, EpProfiler, stop_event)
TENON_ORT_MEMBER(OrtEpProfilerImpl, EndProfiling, EpProfiler, end_profiling)
TENON_ORT_MEMBER(OrtEpFactory, GetName, EpFactory, get_name)
TENON_ORT_MEMBER(OrtEpFactory, GetVendor, EpFactory, get_vendor)
TENON_ORT_MEMBER(OrtEpFactory, GetSupportedDevices, EpFactory, get_supported_devices)
TENON_ORT_MEMBER(OrtEpFactory, CreateEp, EpFactory, create_ep)
TENON_ORT_MEMBER(OrtEpFactory, ReleaseEp, EpFactory, release_ep)
TENON_ORT_MEMBER(OrtEpFactory, GetVendorId, EpFactory, get_vendor_id)
TENON_ORT_MEMBER(OrtEpFactory, GetVersion, EpFactory, get_version)
TENON_ORT_MEMBER(OrtEpFactory, ValidateCompiledModelCompatibilityInfo, EpFactory,
                 validate_compiled_model_compatibility_info)
TENON_ORT_MEMBER(OrtEpFactory, CreateAllocator, EpFactory, create_allocator)
TENON_ORT_MEMBER(OrtEpFactory, ReleaseAllocator, EpFactory, release_allocator)
TENON_ORT_MEMBER(OrtEpFactory, CreateDataTransfer, EpFactory, create_data_transfer)
TENON_ORT_MEMBER(OrtEpFactory, IsStreamAware, EpFactory, is_stream_aware)
TENON_ORT_MEMBER(OrtEpFactory, CreateSyncStreamForDevice, EpFactory, create_sync_stream_for_device)
#undef TENON_ORT_MEMBER

#define TENON_ORT_NUMBER(real, ours) \
  static_assert(static_cast<int>(::real) == static_cast<int>(ours));
TENON_ORT_NUMBER(ORT_OK, ErrorCode::Ok)
TENON_ORT_NUMBER(ORT_FAIL, ErrorCode::Fail)
TENON_ORT_NUMBER(ORT_INVALID_ARGUMENT, ErrorCode::InvalidArgument)
TENON_ORT_NUMBER(ORT_NO_SUCHFILE, ErrorCode::NoSuchFile)
TENON_ORT_NUMBER(ORT_ENGINE_ERROR, ErrorCode::EngineError)
TENON_ORT_NUMBER(ORT_RUNTIME_EXCEPTION, ErrorCode::RuntimeException)
TENON_ORT_NUMBER(ORT_NOT_IMPLEMENTED, ErrorCode::NotImplemented)
TENON_ORT_NUMBER(ORT_INVALID_GRAPH, ErrorCode::InvalidGraph)
TENON_ORT_NUMBER(ORT_LOGGING_LEVEL_VERBOSE, LoggingLevel::Verbose)
TENON_ORT_NUMBER(ORT_LOGGING_LEVEL_FATAL, LoggingLevel::Fatal)
TENON_ORT_NUMBER(ORT_OP_ATTR_INT, OpAttrType::Int)
TENON_ORT_NUMBER(ORT_OP_ATTR_STRING, OpAttrType::String)
TENON_ORT_NUMBER(ORT_OP_ATTR_STRINGS, OpAttrType::Strings)
TENON_ORT_NUMBER(OrtHardwareDeviceType_CPU, HardwareDeviceType::Cpu)
TENON_ORT_NUMBER(OrtHardwareDeviceType_GPU, HardwareDeviceType::Gpu)
TENON_ORT_NUMBER(OrtHardwareDeviceType_NPU, HardwareDeviceType::Npu)
TENON_ORT_NUMBER(OrtProfilingEventCategory_KERNEL, ProfilingEventCategory::Kernel)
TENON_ORT_NUMBER(OrtProfilingEventCategory_API, ProfilingEventCategory::Api)
TENON_ORT_NUMBER(OrtCompiledModelCompatibility_EP_UNSUPPORTED, Compatibility::Unsupported)
TENON_ORT_NUMBER(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, ElementType::Float)
TENON_ORT_NUMBER(ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, ElementType::String)
TENON_ORT_NUMBER(ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, ElementType::UInt64)
TENON_ORT_NUMBER(ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, ElementType::BFloat16)
TENON_ORT_NUMBER(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, ElementType::Float8E5M2FNUZ)
#undef TENON_ORT_NUMBER

}}}}  // namespace tenon::TENON_RELEASE::ort::detail

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
