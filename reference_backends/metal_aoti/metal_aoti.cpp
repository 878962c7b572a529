// SPDX-License-Identifier: MIT
//
// Runs models that PyTorch's AOTInductor compiled for Apple's GPUs, without libtorch.

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tenon/aoti.hpp>
#include <tenon/backend/event_watcher.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "device/event.hpp"
#include "device/host_memory.hpp"
#include "device/metal_context.hpp"
#include "settings.hpp"
#include "shims/shim_list.hpp"
#if defined(__APPLE__)
#include "shims/flat_shims.hpp"
#endif

namespace {

namespace aoti = tenon::aoti;
namespace metal = tenon::metal_aoti;

// [class]
class MetalBackend final : public tenon::Backend<MetalBackend>,
                           public aoti::AotiBackend<MetalBackend>,
                           public tenon::WithOptions<MetalBackend>,
                           public tenon::WithCheckBlob<MetalBackend>,
                           public tenon::WithEstimate<MetalBackend>,
                           public tenon::WithMemoryInfo<MetalBackend>,
                           public tenon::WithSessions<MetalBackend>,
                           public tenon::WithDevices<MetalBackend>,
                           public tenon::WithDeviceMemory<MetalBackend>,
                           public tenon::WithStreams<MetalBackend>,
                           public tenon::WithEvents<MetalBackend>,
                           public tenon::WithExternalMemory<MetalBackend> {
  // [class]
  using Model = aoti::AotiBackend<MetalBackend>::Delegate;

 public:
  // [facts]
  static constexpr std::string_view id = "MetalBackend";
  static constexpr std::string_view tags = "aoti,experimental,metal";
  static constexpr std::string_view description =
      "models compiled by PyTorch's AOTInductor for Apple's GPUs";
  static constexpr tenon::PayloadVersions payload_versions = {1, 2};
  static constexpr bool runs_embedded_code = true;
  // [facts]
  // [exporter]
  static constexpr const char* device_name = "metal";
  static constexpr std::array fallback_kernels{TENON_METAL_AOTI_KERNELS(TENON_AOTI_NAME)};
  static constexpr const char* decompositions = R"({"aten.linear.default": ""})";
  static constexpr const char* compile_options = R"({
    "aot_inductor.link_libtorch": false,
    "aot_inductor.package": true,
    "aot_inductor.package_constants_in_so": false,
    "aot_inductor.package_constants_on_disk_format": "binary_blob",
    "max_autotune": true
  })";
  // [exporter]
  // [options]
  static constexpr std::array options{
      tenon::OptionSpec{"buffer_pool_size_mb", metal::not_set,
                        "free memory that a delegate keeps, 1 to 16384; -1 for "
                        "ET_METAL_BUFFER_POOL_SIZE_MB, or 256"},
      tenon::OptionSpec{"flush_interval", metal::not_set,
                        "kernels after which work is handed to the device, 0 for the end of a run; "
                        "-1 for ET_METAL_FLUSH_INTERVAL, or what suits the device"},
      tenon::OptionSpec{"attention_weights", false,
                        "whether attention also gives its weights, for programs that use them"},
      tenon::OptionSpec{"weights_in_place", true,
                        "whether the device reads weights where the program has them, without a "
                        "copy, where it shares the host's memory"},
      aoti::share_weights_option("keep weights once for all delegates that have them"),
      aoti::model_copies_option};
  // [options]

  using Delegate = Model;

  // [device]
  static tenon::Result<aoti::DeviceMemoryApi> open_device(const aoti::LoadOptions& load_options) {
    TENON_TRY(auto device, metal::system_device());
    const auto* settings =
        static_cast<const metal::ContextSettings*>(load_options.device_settings.get());
    TENON_TRY(auto context, metal::MetalContext::open(std::move(device), *settings));
    return metal::metal_memory(std::move(context));
  }

  static const void* find_shim(std::string_view name) { return metal::find_metal_shim(name); }
  // [device]

  static aoti::DecodeX86 instruction_decoder() { return tenon::aoti_common::instruction_decoder(); }

  // [init]
  tenon::Status is_available() const { return metal::system_device().status(); }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    TENON_TRY(const auto device, metal::system_device());
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto pool_size, values.get<std::int64_t>("buffer_pool_size_mb"));
    TENON_TRY(const auto interval, values.get<std::int64_t>("flush_interval"));
    TENON_TRY(aoti::LoadOptions load_options, aoti::read_load_options(values));
    TENON_TRY(metal::ContextSettings settings,
              metal::read_settings(pool_size, interval, device->device().architecture()));
    TENON_TRY(settings.attention_weights, values.get<bool>("attention_weights"));
    TENON_TRY(settings.weights_in_place, values.get<bool>("weights_in_place"));
#if defined(__APPLE__)
    TENON_RETURN_IF_ERROR(metal::publish_flat_shims());
#endif
    load_options.device_settings = std::make_shared<metal::ContextSettings>(settings);
    return load(context, processed, load_options);
  }
  // [init]

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    return run(context, delegate, args, false);
  }

  // [rest]
  using AotiBackend::create_session;

  tenon::Result<std::vector<tenon::DeviceInfo>> devices() const {
    TENON_TRY(const auto device, metal::system_device());
    return std::vector{tenon::DeviceInfo{{TENON_DL_METAL, 0},
                                         device->device().name(),
                                         device->device().architecture(),
                                         device->device().memory(),
                                         tenon::concat("apple:", device->device().registry_id())}};
  }
  // [rest]

  static tenon::Result<void*> allocate_device(tenon_dl_device device, std::size_t nbytes,
                                              std::size_t alignment) {
    return metal::DeviceBlocks::allocate(device, nbytes, alignment);
  }
  static void free_device(tenon_dl_device, void* block) noexcept {
    metal::DeviceBlocks::free(block);
  }
  static tenon::Status copy_to_device(tenon_dl_device device, void* to, const void* from,
                                      std::size_t nbytes) {
    return metal::DeviceBlocks::copy(device, to, from, nbytes);
  }
  static tenon::Status copy_to_host(tenon_dl_device device, void* to, const void* from,
                                    std::size_t nbytes) {
    return metal::DeviceBlocks::copy(device, to, from, nbytes);
  }
  static tenon::Status copy_on(void* stream, tenon_dl_device to_device, void* to,
                               tenon_dl_device from_device, const void* from, std::size_t nbytes) {
    TENON_RETURN_IF_ERROR(metal::check_device(from_device));
    TENON_RETURN_IF_ERROR(metal::check_device(to_device));
    if (stream) return metal::DeviceBlocks::copy_on(stream, to, from, nbytes);
    return metal::DeviceBlocks::copy(to_device, to, from, nbytes);
  }

  using ImportedMemory = metal::ImportedPages;
  static constexpr std::array memory_kinds{tenon::MemoryKind::HostMemory};
  static tenon::Result<ImportedMemory> import_memory(const tenon::ExternalMemory& memory) {
    return ImportedMemory::import(memory);
  }

  // [stream]
  static constexpr const char* stream_kind = TENON_KIND_METAL_COMMAND_QUEUE;
  static tenon::Status set_stream(Delegate& delegate, void* stream) {
    TENON_TRY(const auto device, metal::system_device());
    std::vector<std::unique_ptr<metal::MetalQueue>> queues(delegate.instances().size());
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (stream) {
        TENON_TRY(queues[i], device->device().use_queue(stream));
      }
      TENON_RETURN_IF_ERROR(delegate.instances()[i]->pool().synchronize());
    }
    for (std::size_t i = 0; i < queues.size(); ++i) {
      aoti::Instance& instance = *delegate.instances()[i];
      TENON_RETURN_IF_ERROR(instance.set_stream(stream));
      metal::context_of(instance).use(std::move(queues[i]));
    }
    return tenon::ok();
  }
  // [stream]

  using Event = metal::Event;
  static constexpr const char* event_kind = TENON_KIND_METAL_EVENT;

  static tenon::Result<Event> create_event() { return Event(); }
  tenon::Status start(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    tenon::Status status = run(context, delegate, args, true);
    if (!status.ok()) static_cast<void>(synchronize(delegate));
    return status;
  }
  static tenon::Status record_event(Delegate& delegate, Event& event) {
    // Only a single instance leaves work that an event marks.
    if (delegate.instances().size() > 1) TENON_RETURN_IF_ERROR(synchronize(delegate));
    tenon::Status status = event.record(metal::context_of(*delegate.instances().front()));
    if (!status.ok()) static_cast<void>(synchronize(delegate));
    return status;
  }
  static tenon::Status wait_event(const Event& event, std::uint64_t timeout_ns) {
    return tenon::wait_by_query(
        timeout_ns, [&] { return event.query(); }, [&] { return event.wait(); });
  }
  static tenon::Result<bool> query_event(const Event& event) { return event.query(); }
  /// MTLSharedEvent's `notifyListener` reports no work that failed, and a command buffer that
  /// was committed takes no more handlers.
  tenon::Status on_event_complete(const Event& event, tenon::EventFunction done) {
    return watcher_.add([&event] { return event.query(); }, done);
  }
  static tenon::Status wait_on_event(Delegate& delegate, const Event& event) {
    for (const auto& instance : delegate.instances()) {
      TENON_RETURN_IF_ERROR(event.hold(metal::context_of(*instance)));
    }
    return tenon::ok();
  }
  static tenon::Result<void*> export_event(Event& event) {
    if (event.handle()) return static_cast<void*>(event.handle());
    return tenon::error(tenon::Error::InvalidState,
                        "the event has no handle before it is recorded");
  }
  static tenon::Result<Event> import_event(void* handle) {
    return Event::import(*static_cast<const tenon_metal_event*>(handle));
  }

 private:
  // [run]
  /// Runs the model. What is started, or on a queue of the application, is left to the device where
  /// no bytes of the host have to be complete.
  tenon::Status run(tenon::ExecutionContext& context, Delegate& delegate, const tenon::Args& args,
                    bool is_started) {
    using Report = metal::UnfinishedWork::Report;
    // With several instances the next run may be one of another, in no order.
    const bool leaves = is_started && delegate.instances().size() == 1;
    return execute_with(context, delegate, [&](aoti::Instance& instance) {
      instance.leave_unfinished(leaves);
      metal::MetalContext& device = metal::context_of(instance);
      tenon::Status status = instance.run(args);
      if (device.learn_layout(status)) {
        status = instance.reset_state();
        if (status.ok()) status = instance.run(args);
      }
      instance.leave_unfinished(false);
      if (!leaves && !instance.has_caller_stream()) return status;
      tenon::Status left = device.leave(leaves ? Report::by_event : Report::by_next_wait);
      return status.ok() ? std::move(left) : std::move(status);
    });
  }
  // [run]

  static tenon::Status synchronize(const Delegate& delegate) {
    tenon::Status first = tenon::ok();
    for (const auto& instance : delegate.instances()) {
      tenon::Status status = instance->pool().synchronize();
      if (first.ok()) first = std::move(status);
    }
    return first;
  }

  tenon::EventWatcher watcher_;
};

}  // namespace

TENON_PLUGIN(MetalBackend);
