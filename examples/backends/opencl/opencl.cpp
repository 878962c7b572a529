// SPDX-License-Identifier: MIT
//
// Runs the graphs of GraphBackend on devices of OpenCL, by another vendor's driver: PoCL's for the
// CPU, or a GPU's. docs/backends/opencl.md walks through it.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/backend/event_watcher.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "aot/preprocess.hpp"
#include "common/blob.hpp"
#include "driver/device.hpp"
#include "run/event.hpp"
#include "run/model.hpp"

namespace {

using tenon::Error;
using tenon::Result;
using tenon::Status;

class OpenClBackend final : public tenon::Backend<OpenClBackend>,
                            public tenon::WithOptions<OpenClBackend>,
                            public tenon::WithCheckBlob<OpenClBackend>,
                            public tenon::WithEstimate<OpenClBackend>,
                            public tenon::WithMemoryInfo<OpenClBackend>,
                            public tenon::WithSessions<OpenClBackend>,
                            public tenon::WithDevices<OpenClBackend>,
                            public tenon::WithDeviceMemory<OpenClBackend>,
                            public tenon::WithStreams<OpenClBackend>,
                            public tenon::WithEvents<OpenClBackend>,
                            public tenon::aot::BackendDetails<OpenClBackend> {
 public:
  static constexpr std::string_view id = "OpenClBackend";
  static constexpr std::string_view tags = "example,opencl,gpu,cpu";
  static constexpr std::string_view description =
      "example on a third-party driver: runs GraphBackend's float32 graphs with OpenCL";
  static constexpr tenon::PayloadVersions payload_versions = {graph_backend::first_payload_version,
                                                              graph_backend::payload_version};
  static constexpr std::array options{
      tenon::OptionSpec{"device", std::int64_t{0},
                        "number of the device among all drivers' devices"}
          .at_least(std::int64_t{0}),
      tenon::OptionSpec{"command_buffer", "auto",
                        "record runs with cl_khr_command_buffer: on, off, or auto (where it is)"}
          .one_of("auto", "on", "off"),
      tenon::OptionSpec{"in_place", true,
                        "on a CPU, use arguments in the host's memory where they are"},
      tenon::OptionSpec{"library", "", "file with OpenCL's functions; empty: libOpenCL.so.1",
                        TENON_OPTION_AT_RUNTIME}};

  // Ahead of time: GraphBackend's `preprocess`.

  static Result<tenon::aot::PreprocessResult> preprocess(const tenon::aot::EdgeProgram& program,
                                                         tenon::CompileSpecs specs) {
    return graph_backend::preprocess(program, specs);
  }
  static Result<tenon::aot::PartitionResult> partition(const tenon::aot::EdgeProgram& program,
                                                       tenon::CompileSpecs specs) {
    return graph_backend::partition(program, specs);
  }
  static Result<std::vector<std::string>> ops_to_not_decompose(
      const tenon::aot::EdgeProgram& program) {
    return graph_backend::ops_to_not_decompose(program);
  }

  // At run time.

  using Delegate = opencl_backend::Session;

  Status on_set_option(std::string_view key, const tenon::OptionView& value) {
    if (key != "library") return tenon::ok();
    return devices_.use_library(value.string().value_or(""));
  }

  Status is_available() {
    TENON_TRY(const auto device, option_values().get<std::int64_t>("device"));
    return devices_.open(device).status();
  }

  Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed, tenon::CompileSpecs) {
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto number, values.get<std::int64_t>("device"));
    TENON_TRY(graph_backend::Graph graph, graph_backend::read_graph(processed.bytes()));
    TENON_TRY(auto device, devices_.open(number));
    TENON_TRY(const auto wanted, values.get<std::string>("command_buffer"));
    TENON_TRY(auto replay, opencl_backend::choose_replay(device->command_buffers(), wanted));
    host().log(tenon::LogLevel::Debug, id, ": runs are ", replay.is_used ? "" : "not ",
               "recorded as command buffers: ", replay.reason);
    TENON_TRY(const bool in_place, values.get<bool>("in_place"));
    const bool is_in_place = in_place && device->record().is_cpu;
    const tenon::Prepared prepared(*this, context, device->identity());
    TENON_TRY(auto model,
              opencl_backend::Model::load(std::move(device), std::move(graph), context, prepared));
    model->replay = std::move(replay);
    model->is_in_place = is_in_place;
    processed.release();
    return Delegate::create(std::move(model));
  }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    return delegate.execute(context, args, tenon::CancelFlag(*this, context));
  }

  Result<Delegate> create_session(const Delegate& delegate) {
    TENON_TRY(Delegate out, Delegate::create(delegate.model()));
    out.is_further = true;
    return out;
  }

  Result<tenon::BlobVerdict> check_blob(tenon::InitContext&, tenon::Blob processed,
                                        tenon::CompileSpecs) {
    const auto graph = graph_backend::read_graph(processed.bytes());
    if (graph.ok()) return tenon::BlobVerdict{};
    return tenon::BlobVerdict{tenon::Compatibility::Incompatible, std::string(graph.text())};
  }

  /// A device that is the CPU uses the process's memory. This function does not load the driver.
  /// Until the driver is loaded, the answer is for a device with memory of its own.
  Result<tenon::MemoryUses> estimate(tenon::InitContext& context, tenon::Blob processed,
                                     tenon::CompileSpecs) {
    using opencl_backend::Model;
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto number, values.get<std::int64_t>("device"));
    TENON_TRY(const graph_backend::Graph graph, graph_backend::read_graph(processed.bytes()));
    const std::uint64_t session = Model::session_bytes(graph);
    tenon_dl_device device{opencl_backend::dl_opencl, static_cast<std::int32_t>(number)};
    if (devices_.is_known_cpu(number)) {
      device = {TENON_DL_CPU, 0};
      // PoCL keeps about 1 kB for each call of a kernel in a recorded run.
      const std::uint64_t of_calls = 1024 * graph.nodes.size();
      return tenon::MemoryUses{{Model::constant_bytes(graph), session + of_calls, session, device}};
    }
    // Of a program and its kernels, with NVIDIA's driver 580: 41 kB for an MLP, 102 kB for a layer
    // of a transformer (docs/measurements/h100.md).
    const std::uint64_t of_driver = 24 * 1024 + 3 * 1024 * graph.nodes.size();
    return tenon::MemoryUses{{Model::constant_bytes(graph), session, session, device},
                             {.weights = of_driver, .device = {TENON_DL_CPU, 0}}};
  }

  tenon::MemoryUses memory_info(const Delegate* delegate) {
    using opencl_backend::Model;
    if (!delegate) return {};
    const graph_backend::Graph& graph = *delegate->model()->graph;
    const auto& device = *delegate->model()->device;
    const std::uint64_t bytes = Model::session_bytes(graph);
    tenon::MemoryUse out{.weights = Model::constant_bytes(graph), .workspace = bytes};
    if (delegate->is_further) out = {.session = bytes};
    if (!device.record().is_cpu) out.device = {opencl_backend::dl_opencl, device.number()};
    return {out};
  }

  // Devices, and their memory.

  Result<std::vector<tenon::DeviceInfo>> devices() {
    std::vector<tenon::DeviceInfo> out;
    TENON_TRY(const auto* records, devices_.list());
    for (const auto& record : *records) {
      out.push_back({{opencl_backend::dl_opencl, static_cast<std::int32_t>(out.size())},
                     record.name,
                     tenon::concat(record.platform, ", driver ", record.driver_version),
                     record.memory_bytes,
                     record.identity});
    }
    return out;
  }

  Result<void*> allocate_device(tenon_dl_device device, std::size_t nbytes, std::size_t alignment) {
    TENON_TRY(const auto opened, devices_.open(device));
    return opened->allocate(nbytes, alignment);
  }
  void free_device(tenon_dl_device device, void* block) noexcept {
    if (const auto opened = devices_.find(device.device_id)) opened->free(block);
  }
  Status copy_to_device(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    TENON_TRY(const auto opened, devices_.open(device));
    return opened->copy_to_device(to, from, nbytes);
  }
  Status copy_to_host(tenon_dl_device device, void* to, const void* from, std::size_t nbytes) {
    TENON_TRY(const auto opened, devices_.open(device));
    return opened->copy_to_host(to, from, nbytes);
  }

  // Queues, and events.

  static constexpr const char* stream_kind = TENON_KIND_OPENCL_COMMAND_QUEUE;
  /// `stream` is in the context of the delegate's device.
  Status set_stream(Delegate& delegate, void* stream) {
    return delegate.set_queue(static_cast<opencl_backend::cl_command_queue>(stream));
  }

  using Event = opencl_backend::Event;
  static constexpr const char* event_kind = TENON_KIND_OPENCL_EVENT;

  Result<Event> create_event() { return Event(); }
  Status start(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    return delegate.start(context, args, tenon::CancelFlag(*this, context));
  }
  Status record_event(Delegate& delegate, Event& event) {
    event.record(delegate);
    return tenon::ok();
  }
  Status wait_event(Event& event, std::uint64_t timeout_ns) {
    return tenon::wait_by_query(
        timeout_ns, [&] { return event.query(); }, [&] { return event.wait(); });
  }
  Result<bool> query_event(Event& event) { return event.query(); }
  Status on_event_complete(Event& event, tenon::EventFunction done) {
    return watcher_.add([&event] { return event.query(); }, done);
  }
  Status wait_on_event(Delegate& delegate, Event& event) { return event.hold(delegate); }
  Result<void*> export_event(Event& event) {
    TENON_TRY(const auto number, option_values().get<std::int64_t>("device"));
    return event.handle(devices_, number);
  }
  Result<Event> import_event(void* handle) {
    TENON_TRY(const auto number, option_values().get<std::int64_t>("device"));
    TENON_TRY(auto device, devices_.open(number));
    TENON_TRY(auto mark, device->share(static_cast<opencl_backend::cl_event>(handle)));
    return Event(std::move(device), std::move(mark));
  }

 private:
  opencl_backend::Devices devices_;
  tenon::EventWatcher watcher_;
};

}  // namespace

TENON_PLUGIN(OpenClBackend);
