// SPDX-License-Identifier: MIT
//
// Runs models that PyTorch's AOTInductor compiled for CUDA, without libtorch.

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/aoti.hpp>
#include <tenon/backend/event_watcher.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "device_list.hpp"
#include "driver/device.hpp"
#include "driver/kernel_images.hpp"
#include "driver/of_application.hpp"
#include "graph.hpp"
#include "planned_memory.hpp"
#include "products.hpp"
#include "shims/kernel_shims.hpp"
#include "shims/shim_list.hpp"
#include "verdict.hpp"

#include "tenon/core/lists.hpp"

namespace {

namespace aoti = tenon::aoti;
namespace cuda = tenon::cuda_aoti;

/// True when `name` is in a comma-separated list.
bool is_listed(std::string_view list, std::string_view name) {
  for (std::string_view item : tenon::split(list, ',')) {
    const std::size_t first = item.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    item = item.substr(first, item.find_last_not_of(" \t") - first + 1);
    if (item == name) return true;
  }
  return false;
}

/// Settings of the backend for `open_device`.
struct DeviceSettings {
  bool as_graph = false;
  tenon::Priority priority = tenon::Priority::Any;
  std::shared_ptr<const cuda::kernels::CublasLtHandle> cublaslt{};  ///< May be null.
  std::optional<std::uint64_t> seed{};
  /// Of the delegate and its sessions.
  std::shared_ptr<cuda::LoadedModules> modules = std::make_shared<cuda::LoadedModules>();
};

class CudaBackend final : public tenon::Backend<CudaBackend>,
                          public aoti::AotiBackend<CudaBackend>,
                          public tenon::WithOptions<CudaBackend>,
                          public tenon::WithCheckBlob<CudaBackend>,
                          public tenon::WithEstimate<CudaBackend>,
                          public tenon::WithMemoryInfo<CudaBackend>,
                          public tenon::WithSessions<CudaBackend>,
                          public tenon::WithDevices<CudaBackend>,
                          public tenon::WithDeviceMemory<CudaBackend>,
                          public tenon::WithStreams<CudaBackend>,
                          public tenon::WithExternalMemory<CudaBackend>,
                          public tenon::WithEvents<CudaBackend>,
                          public tenon::WithScheduling<CudaBackend> {
  using Model = aoti::AotiBackend<CudaBackend>::Delegate;

 public:
  static constexpr std::string_view id = "CudaBackend";
  static constexpr std::string_view tags = "aoti,cuda,experimental";
  static constexpr std::string_view description =
      "models compiled by PyTorch's AOTInductor for NVIDIA GPUs";
  static constexpr tenon::PayloadVersions payload_versions = {1, 4};
  static constexpr bool runs_embedded_code = true;
  static constexpr bool takes_named_weights = true;
  static constexpr const char* device_name = "cuda";
#if TENON_CUDA_KERNELS
  static constexpr std::array fallback_kernels{TENON_CUDA_KERNEL_SHIMS(TENON_AOTI_NAME)};
#else
  static constexpr std::array<const char*, 0> fallback_kernels{};
#endif
  static constexpr const char* decompositions = R"({"aten.conv1d.default": "aten.conv2d.default"})";
  static constexpr const char* compile_options = R"({
    "aot_inductor.embed_kernel_binary": true,
    "aot_inductor.link_libtorch": false,
    "aot_inductor.package": true,
    "aot_inductor.package_constants_in_so": false,
    "aot_inductor.package_constants_on_disk_format": "binary_blob",
    "emulate_precision_casts": true,
    "loop_ordering_after_fusion": false,
    "max_autotune": true,
    "max_autotune_conv_backends": "TRITON",
    "max_autotune_gemm_backends": "TRITON"
  })";
  static constexpr std::array<std::string_view, 2> served_libraries = {"libcuda.so",
                                                                       "libcudart.so"};
  static constexpr std::array options{
      tenon::OptionSpec{"use_shared_cuda_stream", false,
                        "enqueue on one stream of the device with all delegates that say so"},
      tenon::OptionSpec{"weight_sharing_across_methods", false,
                        "share weights of the same bytes with other delegates"},
      tenon::OptionSpec{"enable_cuda_graph_for_method", "",
                        "methods, with commas between them, that run as CUDA graphs"},
      tenon::OptionSpec{"skip_copy_output_to_cpu_for_method", "",
                        "without effect: a program says where its outputs are"}
          .deprecated(),
      tenon::OptionSpec{"memory_pool_release_threshold", std::int64_t{0},
                        "free device memory that is kept for later runs"}
          .at_least(0)
          .in("bytes"),
      tenon::OptionSpec{"seed", std::int64_t{-1},
                        "of random numbers; -1 for another one in each load and session"}
          .at_least(-1),
      tenon::OptionSpec{"cublaslt", "auto",
                        "library for large products: auto (if there is one), off, or its file"}};

  static constexpr tenon::SchedulingUse scheduling_use{
      .priority = "the delegate's CUDA stream has it, unless it shares one"};

  /// Writes to the host's log how much memory a delegate had, when it is destroyed.
  struct MemoryReport {
    MemoryReport(const tenon::HostServices& services, const aoti::Instance& of, std::string method,
                 std::size_t num_weights)
        : host(services), instance(of), method_name(std::move(method)), weights(num_weights) {}
    MemoryReport(const MemoryReport&) = delete;
    MemoryReport& operator=(const MemoryReport&) = delete;
    ~MemoryReport() {
      try {
        host.log(tenon::LogLevel::Debug, "method '", std::string_view(method_name),
                 "' had at most ", instance.peak_scratch(), " bytes of working memory and ",
                 weights, " bytes of weights on CUDA device ",
                 instance.pool().memory().device_index);
      } catch (...) {
        // No memory for a line.
      }
    }

    tenon::HostServices host;
    const aoti::Instance& instance;
    std::string method_name;
    std::size_t weights;
  };

  struct Delegate {
    Model model;
    std::shared_ptr<cuda::CudaDevice> device;
    std::unique_ptr<cuda::CudaGraph>
        graph;  ///< Null for ordinary runs. Destroyed before the model.
    std::unique_ptr<MemoryReport> report;
    cuda::CallerStream caller_stream;
    std::optional<cuda::CallerStream>
        started_stream;  ///< Its own one, from the first `start` there.
    bool is_graph_failure_logged = false;
    bool has_run = false;
  };

  static tenon::Result<aoti::DeviceMemoryApi> open_device(const aoti::LoadOptions& load_options) {
    using Kind = cuda::Stream::Kind;
    TENON_TRY(auto device, cuda::CudaDevice::open(load_options.device_index.value_or(0)));
    const auto* const settings =
        static_cast<const DeviceSettings*>(load_options.device_settings.get());
    const Kind kind = settings && settings->as_graph ? Kind::for_graphs : Kind::ordinary;
    const auto priority = settings ? settings->priority : tenon::Priority::Any;
    TENON_TRY(auto stream, load_options.share_stream
                               ? cuda::CudaDevice::shared_stream(device)
                               : cuda::Stream::create(device, kind, priority));
    return cuda::device_memory(
        std::move(device), std::move(stream), settings ? settings->cublaslt : nullptr,
        settings ? settings->modules : nullptr, settings ? settings->seed : std::nullopt);
  }

  static const void* find_shim(std::string_view name) {
    if (const void* found = cuda::shim_table().find(name)) return found;
    return is_of_cuda(name) ? cuda::find_in_cuda_libraries(name) : nullptr;
  }

  static tenon::Result<std::size_t> choose_library(std::span<const aoti::LibraryVariant> variants,
                                                   const aoti::LoadOptions& load_options) {
    const std::int32_t index = load_options.device_index.value_or(0);
    TENON_TRY(const cuda::Driver* const driver, cuda::load_driver());
    TENON_RETURN_IF_ERROR(cuda::check_device_index(*driver, index));
    TENON_TRY(const unsigned sm, cuda::capability_of(*driver, index));
    return aoti::choose_for_sm(variants, sm);
  }

  static aoti::DecodeX86 instruction_decoder() { return tenon::aoti_common::instruction_decoder(); }

  tenon::Status is_available() const { return cuda::check_available(); }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs specs) {
    TENON_RETURN_IF_ERROR(is_available());
    TENON_RETURN_IF_ERROR(check_specs(specs));
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto graph_methods, values.get<std::string>("enable_cuda_graph_for_method"));
    const bool as_graph = is_listed(graph_methods, context.method_name());
    aoti::LoadOptions load_options;
    TENON_TRY(load_options.device_index, device_of(specs));
    TENON_TRY(load_options.share_weights, values.get<bool>("weight_sharing_across_methods"));
    TENON_TRY(const bool share_stream, values.get<bool>("use_shared_cuda_stream"));
    // Work of other delegates must not become part of a captured graph.
    load_options.share_stream = share_stream && !as_graph;
    TENON_TRY(const auto threshold, values.get<std::int64_t>("memory_pool_release_threshold"));
    TENON_TRY(const auto seed, values.get<std::int64_t>("seed"));
    TENON_TRY(const auto cublaslt, values.get<std::string>("cublaslt"));
    TENON_TRY(const aoti::Payload payload, parse(context, processed.text(), load_options));
    const auto library = library_of(context, payload.library_key);
    if (library.ok()) {
      TENON_RETURN_IF_ERROR(check_device(library->bytes(), *load_options.device_index).status());
    }
    TENON_TRY(auto device, keep_device(*load_options.device_index));
    DeviceSettings settings{as_graph, context.scheduling().priority};
    if (seed >= 0) settings.seed = static_cast<std::uint64_t>(seed);
    if (library.ok()) {
      TENON_TRY(settings.cublaslt,
                product_libraries_.find(library->bytes(), cublaslt, device, host()));
    }
    load_options.device_settings = std::make_shared<const DeviceSettings>(std::move(settings));
    TENON_RETURN_IF_ERROR(device->raise_release_threshold(static_cast<std::uint64_t>(threshold)));
    TENON_TRY(Model model, load(context, processed, load_options));
    return make_delegate(std::move(model), std::move(device), as_graph, context.method_name());
  }

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    TENON_TRY(const bool captured, delegate.caller_stream.is_captured());
    tenon::Status status = execute_with(context, delegate.model, [&](aoti::Instance& instance) {
      if (captured) return run_captured(delegate, instance, args);
      tenon::Status ran = delegate.graph ? delegate.graph->run(args) : instance.run(args);
      delegate.has_run = delegate.has_run || ran.ok();
      if (!delegate.caller_stream.is_of_thread()) return ran;
      tenon::Status done = instance.pool().synchronize();
      return ran.ok() ? std::move(done) : std::move(ran);
    });
    if (delegate.graph && !delegate.is_graph_failure_logged && !delegate.graph->failure().empty()) {
      delegate.is_graph_failure_logged = true;
      host().log(tenon::LogLevel::Info, "method '", context.method_name(),
                 "' runs without a CUDA graph: ", delegate.graph->failure());
    }
    return status;
  }

  tenon::Result<Delegate> create_session(const Delegate& delegate) {
    TENON_TRY(Model model, AotiBackend::create_session(delegate.model));
    return make_delegate(std::move(model), delegate.device, delegate.graph != nullptr,
                         delegate.report->method_name);
  }

  static constexpr const char* stream_kind = TENON_KIND_CUDA_STREAM;
  /// Null is the delegate's own stream, not CUDA's default one, whose handles are cudaStreamLegacy
  /// (1) and cudaStreamPerThread (2). On the latter, which is another stream in each thread, runs
  /// wait.
  tenon::Status set_stream(Delegate& delegate, void* stream) {
    if (stream && delegate.graph) {
      return tenon::error(tenon::Error::NotSupported,
                          "a method that runs as a CUDA graph has a stream of its own; it cannot "
                          "be captured on the caller's");
    }
    for (const auto& instance : delegate.model.instances()) {
      TENON_RETURN_IF_ERROR(instance->set_stream(stream));
    }
    delegate.caller_stream =
        stream ? cuda::CallerStream(delegate.device, static_cast<cuda::CUstream>(stream))
               : cuda::CallerStream();
    return tenon::ok();
  }

  using Event = cuda::Event;
  static constexpr const char* event_kind = TENON_KIND_CUDA_EVENT;

  /// A run is enqueued, with the copies of arguments in the host's memory, whose bytes stay until
  /// it is complete (TN-EVT-7). The driver itself waits in copies to memory that is not
  /// page-locked.
  tenon::Status start(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    aoti::Instance& instance = *delegate.model.instances().front();
    if (!instance.has_caller_stream() && !delegate.started_stream) {
      // The plugin's own copies come after what is started.
      delegate.started_stream.emplace(delegate.device, stream_of(delegate));
    }
    instance.leave_unfinished(true);
    tenon::Status status = execute(context, delegate, args);
    instance.leave_unfinished(false);
    if (!status.ok()) static_cast<void>(instance.pool().synchronize());
    return status;
  }
  tenon::Result<Event> create_event() { return Event(); }
  tenon::Status record_event(Delegate& delegate, Event& event) {
    tenon::Status status = event.record(delegate.device, stream_of(delegate));
    if (!status.ok()) {
      static_cast<void>(delegate.model.instances().front()->pool().synchronize());
    }
    return status;
  }
  tenon::Status wait_event(Event& event, std::uint64_t timeout_ns) {
    return tenon::wait_by_query(
        timeout_ns, [&] { return event.query(); }, [&] { return event.wait(); });
  }
  tenon::Result<bool> query_event(Event& event) { return event.query(); }
  /// `cuLaunchHostFunc` would not do: its function is not called after an error of the context.
  tenon::Status on_event_complete(Event& event, tenon::EventFunction done) {
    return watcher_.add([&event] { return event.query(); }, done);
  }
  tenon::Status wait_on_event(Delegate& delegate, Event& event) {
    return event.hold(*delegate.device, stream_of(delegate));
  }
  tenon::Result<void*> export_event(Event& event) {
    if (event.handle()) return static_cast<void*>(event.handle());
    return tenon::error(tenon::Error::InvalidState,
                        "the event has no handle before it is recorded");
  }
  /// An event can be asked in any context. An open device's or the caller's is taken, as opening
  /// another one would take memory there.
  tenon::Result<Event> import_event(void* handle) {
    TENON_TRY(const std::int32_t index, device_for_events());
    TENON_TRY(auto device, keep_device(index));
    return Event(std::move(device), static_cast<cuda::CUevent>(handle));
  }

  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext& context, tenon::Blob processed,
                                               tenon::CompileSpecs specs) {
    const auto verdict = judge(context, processed, specs);
    if (verdict.ok()) return *verdict;
    return tenon::BlobVerdict{tenon::Compatibility::Incompatible, std::string(verdict.text())};
  }

  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext& context, tenon::Blob processed,
                                            tenon::CompileSpecs specs) {
    aoti::LoadOptions load_options;
    TENON_TRY(load_options.device_index, device_of(specs));
    return estimate_load(context, processed.text(), load_options);
  }

  /// Opens the device, which stays open.
  tenon::Result<std::uint64_t> free_memory(tenon_dl_device device) {
    if (device.device_type != TENON_DL_CUDA) {
      return tenon::error(tenon::Error::NotSupported,
                          "expected a CUDA device, found DLPack device type ", device.device_type);
    }
    TENON_TRY(const auto opened, keep_device(device.device_id));
    const cuda::ContextScope scope(*opened);
    TENON_RETURN_IF_ERROR(scope.status());
    std::size_t free = 0, total = 0;
    TENON_RETURN_IF_ERROR(TENON_CUDA(opened->driver(), cuMemGetInfo, &free, &total));
    return std::uint64_t{free};
  }

  tenon::MemoryUses memory_info(const Delegate* delegate) const {
    return AotiBackend::memory_info(delegate ? &delegate->model : nullptr);
  }

  tenon::Result<std::vector<tenon::DeviceInfo>> devices() const { return cuda::list_devices(); }

  tenon::Result<void*> allocate_device(tenon_dl_device device, std::size_t nbytes,
                                       std::size_t alignment) {
    return planned_.allocate(device, nbytes, alignment);
  }
  void free_device(tenon_dl_device device, void* block) noexcept { planned_.free(device, block); }
  tenon::Status copy_to_device(tenon_dl_device device, void* to, const void* from,
                               std::size_t nbytes) {
    return planned_.copy(device, aoti::CopyKind::to_device, to, from, nbytes);
  }
  tenon::Status copy_to_host(tenon_dl_device device, void* to, const void* from,
                             std::size_t nbytes) {
    return planned_.copy(device, aoti::CopyKind::to_host, to, from, nbytes);
  }
  tenon::Status copy_on(void* stream, tenon_dl_device to_device, void* to,
                        tenon_dl_device from_device, const void* from, std::size_t nbytes) {
    return planned_.copy_on(stream, to_device, to, from_device, from, nbytes);
  }

  using ImportedMemory = cuda::ImportedMemory;
  static constexpr std::array memory_kinds{tenon::MemoryKind::OpaqueFd};
  tenon::Result<ImportedMemory> import_memory(const tenon::ExternalMemory& memory) {
    if (memory.device.device_type != TENON_DL_CUDA) {
      return tenon::error(tenon::Error::InvalidArgument,
                          "expected memory for a device of CUDA, found DLPack device type ",
                          memory.device.device_type);
    }
    TENON_TRY(auto device, keep_device(memory.device.device_id));
    return ImportedMemory::import(std::move(device), memory);
  }

 private:
  /// A run that the application captures on its stream, for a graph that it launches later. Nothing
  /// is recorded of a run that cannot be captured. From here on the delegate keeps its working
  /// memory, which the graph uses.
  static tenon::Status run_captured(const Delegate& delegate, aoti::Instance& instance,
                                    const tenon::Args& args) {
    constexpr std::string_view what = "the application captures its stream: ";
    if (!delegate.has_run) {
      return tenon::error(tenon::Error::NotSupported, what,
                          "the model's first run loads its kernels and constants, which is no part "
                          "of a graph; run it once before cuStreamBeginCapture");
    }
    const std::size_t count = instance.num_inputs() + instance.num_outputs();
    TENON_RETURN_IF_ERROR(args.expect(count));
    for (std::size_t i = 0; i < count; ++i) {
      TENON_TRY(const tenon::TensorView tensor, args.tensor(i));
      TENON_RETURN_IF_ERROR(instance.check_place(i, tensor));
      if (instance.is_on_device(tensor)) continue;
      return tenon::error(tenon::Error::NotSupported, what, "argument ", i,
                          " is in the host's memory, which a run waits for; give inputs and "
                          "outputs on the device, or run after cuStreamEndCapture");
    }
    instance.pool().hold_blocks(true);
    return instance.run(args);
  }

  static bool is_of_cuda(std::string_view name) noexcept {
    const std::size_t prefix = name.starts_with("cuda") ? 4 : name.starts_with("cu") ? 2 : 0;
    return prefix != 0 && name.size() > prefix &&
           std::isupper(static_cast<unsigned char>(name[prefix])) != 0;
  }

  using KernelFit = cuda::KernelImages::Fit;

  /// The stream that its runs are enqueued on. A delegate here has one instance.
  static cuda::CUstream stream_of(const Delegate& delegate) noexcept {
    return static_cast<cuda::CUstream>(delegate.model.instances().front()->pool().stream());
  }

  static tenon::Result<std::int32_t> device_of(tenon::CompileSpecs specs) {
    const auto target = specs.find("target_device");
    if (!target) return 0;
    return cuda::parse_target_device(tenon::as_text(*target));
  }

  /// Fails for a program that needs what this backend does not have.
  static tenon::Status check_specs(tenon::CompileSpecs specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (!aoti::is_off_graph_cache_spec(specs[i].key)) continue;
      return aoti::off_graph_cache_refused(tenon::concat("compile spec '", specs[i].key, "'"));
    }
    return tenon::ok();
  }

  static tenon::Result<tenon::NamedData> library_of(const tenon::InitContext& context,
                                                    const std::string& key) {
    const auto data = context.named_data_map();
    if (data) return data->get_data(key);
    return tenon::error(tenon::Error::NotFound, "the program has no named data");
  }

  /// How a library's kernels run on a device. Fails where the plugin's own kernels, which the
  /// library needs, do not run.
  static tenon::Result<KernelFit> check_device(tenon::Bytes library, std::int32_t index) {
    TENON_TRY(const cuda::Driver* const driver, cuda::load_driver());
    TENON_RETURN_IF_ERROR(cuda::check_device_index(*driver, index));
    TENON_RETURN_IF_ERROR(cuda::check_own_kernels(library, *driver, index));
    TENON_RETURN_IF_ERROR(cuda::check_shared_memory(library, *driver, index));
    return cuda::check_kernels(cuda::KernelImages::find(library), *driver, index);
  }

  /// An open device, else the device of this thread's current context, else the first.
  tenon::Result<std::int32_t> device_for_events() {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [index, device] : devices_) {
        if (device) return index;
      }
    }
    TENON_TRY(const cuda::Driver* const driver, cuda::load_driver());
    cuda::CUcontext context = nullptr;
    TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuCtxGetCurrent, &context));
    if (!context) return 0;
    cuda::CUdevice current = 0;
    TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuCtxGetDevice, &current));
    int count = 0;
    TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuDeviceGetCount, &count));
    for (std::int32_t index = 0; index < count; ++index) {
      cuda::CUdevice device = 0;
      TENON_RETURN_IF_ERROR(TENON_CUDA(*driver, cuDeviceGet, &device, index));
      if (device == current) return index;
    }
    return 0;
  }

  /// A device, which stays open for the life of the backend: closing one destroys its context.
  tenon::Result<std::shared_ptr<cuda::CudaDevice>> keep_device(std::int32_t index) {
    const std::lock_guard lock(mutex_);
    auto& device = devices_[index];
    if (!device) {
      TENON_TRY(device, cuda::CudaDevice::open(index));
    }
    return device;
  }

  /// Checks a blob as `init` would, without a driver all but the device. A failure is the reason
  /// why `init` would refuse it.
  tenon::Result<tenon::BlobVerdict> judge(tenon::InitContext& context, const tenon::Blob& processed,
                                          tenon::CompileSpecs specs) {
    TENON_RETURN_IF_ERROR(check_specs(specs));
    aoti::LoadOptions load_options;
    TENON_TRY(load_options.device_index, device_of(specs));
    const tenon::Status available = is_available();
    if (!available.ok()) return judge_without_device(context, processed, available);
    TENON_TRY(const aoti::Payload payload, parse(context, processed.text(), load_options));
    TENON_TRY(tenon::BlobVerdict verdict, judge_library(context, payload, &find_shim));
    TENON_TRY(const tenon::NamedData library, library_of(context, payload.library_key));
    const auto kernels = cuda::KernelImages::find(library.bytes());
    TENON_TRY(const KernelFit fit, check_device(library.bytes(), *load_options.device_index));
    if (fit == KernelFit::binary) return verdict;
    return usable(
        std::move(verdict),
        tenon::concat("the driver compiles the model's kernels when they are loaded: they are for ",
                      kernels.text()));
  }

  /// A verdict that is Usable also for another reason.
  static tenon::BlobVerdict usable(tenon::BlobVerdict verdict, std::string_view reason) {
    verdict.compatibility = tenon::Compatibility::Usable;
    verdict.reason += tenon::concat(verdict.reason.empty() ? "" : "; ", reason);
    return verdict;
  }

  /// Judges a blob without a driver: of several libraries, one usable library is enough.
  tenon::Result<tenon::BlobVerdict> judge_without_device(tenon::InitContext& context,
                                                         const tenon::Blob& processed,
                                                         const tenon::Status& available) {
    TENON_TRY(aoti::Payload payload,
              aoti::parse_payload(processed.text(), context.method_name(), true));
    if (!payload.library_key.empty()) {
      TENON_TRY(tenon::BlobVerdict verdict, judge_library(context, payload, &may_be_found));
      TENON_TRY(const tenon::NamedData library, library_of(context, payload.library_key));
      const auto kernels = cuda::KernelImages::find(library.bytes());
      return usable(std::move(verdict),
                    not_looked_at(available, kernels.empty() ? "unknown devices" : kernels.text()));
    }
    tenon::Status refused = tenon::ok();
    for (std::size_t i = 0; i < payload.variants.size(); ++i) {
      payload.choose(i);
      auto verdict = judge_library(context, payload, &may_be_found);
      if (verdict.ok()) {
        return usable(*std::move(verdict),
                      not_looked_at(available, aoti::text_of(payload.variants)));
      }
      if (refused.ok()) refused = std::move(verdict).status();
    }
    return refused;
  }

  static std::string not_looked_at(const tenon::Status& available, std::string_view devices) {
    return tenon::concat("the device was not looked at (", available.text(),
                         "); this machine has all else that the model needs, and its kernels are "
                         "for ",
                         devices);
  }

  /// Like `find_shim`, on a machine without CUDA's own libraries.
  static const void* may_be_found(std::string_view name) {
    static constexpr char something = 0;
    if (const void* found = cuda::shim_table().find(name)) return found;
    return is_of_cuda(name) ? &something : nullptr;
  }

  tenon::Result<Delegate> make_delegate(Model model, std::shared_ptr<cuda::CudaDevice> device,
                                        bool as_graph, std::string_view method_name) const {
    auto report = std::make_unique<MemoryReport>(host(), *model.instances().front(),
                                                 std::string(method_name), model.own_weights());
    Delegate out{
        std::move(model), std::move(device), nullptr, std::move(report), {}, {}, false, false};
    if (as_graph) {
      out.graph = std::make_unique<cuda::CudaGraph>(*out.model.instances().front(), *out.device);
    }
    return out;
  }

  static tenon::Result<aoti::DeviceMemoryApi> open_planned(std::int32_t index) {
    aoti::LoadOptions load_options;
    load_options.device_index = index;
    return open_device(load_options);
  }

  std::mutex mutex_;
  std::map<std::int32_t, std::shared_ptr<cuda::CudaDevice>> devices_;
  cuda::ProductLibraries product_libraries_;
  cuda::PlannedMemory planned_{&open_planned};
  tenon::EventWatcher watcher_;
};

}  // namespace

TENON_PLUGIN(CudaBackend);
