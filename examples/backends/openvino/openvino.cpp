// SPDX-License-Identifier: MIT
//
// Intel's OpenVINO runtime as a plugin, for programs of ExecuTorch's own exporter and of the
// ahead-of-time half here. docs/backends/openvino.md walks through it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/aot.hpp>
#include <tenon/backend/threads.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "aot/preprocess.hpp"
#include "common/blob.hpp"
#include "common/ir_memory.hpp"
#include "runtime/core.hpp"
#include "runtime/model.hpp"
#include "runtime/request.hpp"
#include "runtime/settings.hpp"

namespace {

using openvino_backend::most_threads;
using openvino_backend::Request;
using openvino_backend::Settings;

/// The common part of both backends: all but their ids.
template <class Derived>
class Openvino {
 public:
  static constexpr std::string_view tags = "example,cpu,gpu,npu";
  static constexpr std::array options{
      tenon::OptionSpec{"device", "", "OpenVINO's name of a device; empty: the program's, or CPU"},
      tenon::OptionSpec{"num_streams", std::int64_t{0},
                        "runs that the device works on at the same time; 0: OpenVINO chooses"},
      tenon::OptionSpec{"inference_num_threads", std::int64_t{0},
                        "threads for one run; 0: as many as the application's pool, or OpenVINO "
                        "chooses"},
      tenon::OptionSpec{"performance_hint", "",
                        "LATENCY, THROUGHPUT or CUMULATIVE_THROUGHPUT; empty: OpenVINO chooses"},
      tenon::OptionSpec{"inference_precision", "",
                        "f32, bf16, f16 or dynamic; empty: the program's, or f32"}};

  static constexpr tenon::SchedulingUse scheduling_use{
      .priority = "MODEL_PRIORITY of devices other than the CPU",
      .goal = "PERFORMANCE_HINT, where the option performance_hint is empty"};

  using Delegate = Request;

  tenon::Status is_available() {
    Settings settings;
    TENON_TRY(settings.device, derived().option_values().template get<std::string>("device"));
    if (settings.device.empty()) settings.device = default_device;
    TENON_TRY(const auto core, cores_.find(settings));
    const auto& api = core->api();
    char* name = nullptr;
    TENON_RETURN_IF_ERROR(check(
        api,
        api.core_get_property(core->object.get(), core->device.c_str(), "FULL_DEVICE_NAME", &name),
        tenon::concat("use device ", core->device), tenon::Error::NotFound));
    api.free(name);
    return tenon::ok();
  }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs specs) {
    TENON_TRY(const Settings settings, settings_of(context, specs));
    TENON_TRY(const auto core, cores_.find(settings));
    auto model =
        openvino_backend::Model::load(core, settings, context, derived().host(), processed);
    if (!model.ok()) {
      // OpenVINO's answer is the same for damage and for a model of another machine.
      if (model.error() == tenon::Error::InvalidProgram) {
        tenon::Status origin = check_origin(*core, processed.bytes());
        if (origin.error() == tenon::Error::DelegateInvalidCompatibility) return origin;
      }
      return std::move(model).status();
    }
    return Request::create(*std::move(model));
  }

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    return delegate.execute(context, args, tenon::CancelFlag(derived(), context));
  }

  void cancel(Delegate& delegate) noexcept { delegate.cancel(); }

  tenon::Result<Delegate> create_session(const Delegate& delegate) { return delegate.another(); }

  /// Loads OpenVINO for exported models alone: it knows for which processor they must be.
  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext& context, tenon::Blob processed,
                                               tenon::CompileSpecs specs) {
    using tenon::BlobVerdict;
    using tenon::Compatibility;
    const tenon::Bytes payload = processed.bytes();
    if (openvino_backend::is_ir_blob(payload)) {
      const auto blob = openvino_backend::read_ir_blob(payload);
      if (blob.ok()) return BlobVerdict{};
      return BlobVerdict{Compatibility::Incompatible, std::string(blob.text())};
    }
    const auto blob = openvino_backend::read_exported_blob(payload);
    if (!blob.ok()) return BlobVerdict{Compatibility::Incompatible, std::string(blob.text())};
    TENON_TRY(const Settings settings, settings_of(context, specs));
    const auto core = cores_.find(settings);
    if (!core.ok()) return BlobVerdict{Compatibility::Usable, std::string(core.text())};
    const tenon::Status origin = check_origin(**core, payload);
    if (origin.error() == tenon::Error::DelegateInvalidCompatibility) {
      return BlobVerdict{Compatibility::Incompatible, std::string(origin.text())};
    }
    // What this machine requires could not be read. `init` asks only when an import fails.
    if (!origin.ok()) return BlobVerdict{Compatibility::Usable, std::string(origin.text())};
    if (!blob->requirements.empty()) return BlobVerdict{};
    return BlobVerdict{Compatibility::Usable,
                       "only the device knows whether it can import the exported model"};
  }

  /// From the payload alone: OpenVINO is not loaded. A compiled model has its weights in a form of
  /// its own, and a graph with kernels that are compiled for it, which grow with the text of the
  /// layers; each request has the tensors of a run.
  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext&, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    const tenon::Bytes payload = processed.bytes();
    tenon::MemoryUse need;
    if (openvino_backend::is_ir_blob(payload)) {
      TENON_TRY(const auto blob, openvino_backend::read_ir_blob(payload));
      need.weights =
          blob.weights_size + bytes_of_compiling + blob.xml.size() * graph_bytes_of_ir_byte;
      need.workspace = openvino_backend::peak_bytes(blob.xml).value_or(tenon::MemoryUse::unknown);
    } else {
      TENON_TRY(const auto blob, openvino_backend::read_exported_blob(payload));
      need.weights = payload.size() + blob.graph_size * graph_bytes_of_exported_byte;
      need.workspace = tenon::MemoryUse::unknown;
    }
    need.session = need.workspace;
    return tenon::MemoryUses{need};
  }

  tenon::Status on_set_option(std::string_view key, const tenon::OptionView& value) {
    if (const auto number = value.integer()) return openvino_backend::check_option(key, *number);
    return openvino_backend::check_option(key, *value.string());
  }

 private:
  friend Derived;
  Openvino() = default;

  static constexpr std::string_view default_device = "CPU";
  // Measured on x86-64 with OpenVINO 2026.4: chains of 2 to 64 products, convolutions and functions
  // of elements, with up to 19 MB of weights.
  /// Bytes of the compiled graph and kernels for each byte of IR: 49 to 162 were measured.
  static constexpr std::uint64_t graph_bytes_of_ir_byte = 100;
  /// Bytes of the imported graph and kernels for each byte of an exported graph, which is longer
  /// than IR: 31 to 75 were measured.
  static constexpr std::uint64_t graph_bytes_of_exported_byte = 48;
  /// Bytes of pages that compiling leaves partly used, up to 0.6 MB. An import leaves none.
  static constexpr std::uint64_t bytes_of_compiling = 320 << 10;

  Derived& derived() noexcept { return static_cast<Derived&>(*this); }

  /// DelegateInvalidCompatibility for an exported model that another OpenVINO or another processor
  /// made. Success for IR, and where only the device knows.
  tenon::Status check_origin(const openvino_backend::Core& core, tenon::Bytes payload) {
    if (openvino_backend::is_ir_blob(payload)) return tenon::ok();
    TENON_TRY(const auto blob, openvino_backend::read_exported_blob(payload));
    TENON_TRY(const std::string required, cores_.requirements(core));
    return openvino_backend::check_origin(blob, core.library->version(), required);
  }

  /// The options, and the compile specs for what they leave open.
  tenon::Result<Settings> settings_of(const tenon::InitContext& context,
                                      tenon::CompileSpecs specs) {
    TENON_TRY(const auto values, derived().option_values(context));
    Settings out;
    const auto read = [&]<class T>(const char* key, T& to) -> tenon::Status {
      TENON_TRY(to, values.template get<T>(key));
      return openvino_backend::check_option(key, to);
    };
    TENON_RETURN_IF_ERROR(read("device", out.device));
    TENON_RETURN_IF_ERROR(read("num_streams", out.num_streams));
    TENON_RETURN_IF_ERROR(read("inference_num_threads", out.inference_num_threads));
    TENON_RETURN_IF_ERROR(read("performance_hint", out.performance_hint));
    TENON_RETURN_IF_ERROR(read("inference_precision", out.inference_precision));
    TENON_RETURN_IF_ERROR(openvino_backend::apply_specs(specs, out));
    if (out.device.empty()) out.device = default_device;
    // OpenVINO computes on no threads but its own: no more of them than the application has.
    const tenon::ThreadPool pool = tenon::threads_of(derived(), context);
    if (pool.exists() && out.inference_num_threads == 0 && out.device.starts_with("CPU")) {
      out.inference_num_threads = std::min<std::int64_t>(pool.num_threads(), most_threads);
    }
    follow(context.scheduling(), out);
    out.profiling = context.tracer().enabled();
    return out;
  }

  /// The hints of the application, for what the options leave open.
  static void follow(const tenon::Scheduling& scheduling, Settings& out) {
    using tenon::Goal;
    using tenon::Priority;
    if (out.performance_hint.empty() && scheduling.goal != Goal::Any) {
      out.performance_hint = scheduling.goal == Goal::Latency ? "LATENCY" : "THROUGHPUT";
    }
    // A hint of OpenVINO for its devices, of which the CPU knows none.
    if (scheduling.priority == Priority::Any || out.device.starts_with("CPU")) return;
    out.model_priority = scheduling.priority == Priority::Low      ? "LOW"
                         : scheduling.priority == Priority::Normal ? "MEDIUM"
                                                                   : "HIGH";
  }

  openvino_backend::Cores cores_;
};

/// Runs the payloads of ExecuTorch's own exporter (`executorch.backends.openvino`).
class OpenvinoBackend final : public tenon::Backend<OpenvinoBackend>,
                              public Openvino<OpenvinoBackend>,
                              public tenon::WithOptions<OpenvinoBackend>,
                              public tenon::WithSessions<OpenvinoBackend>,
                              public tenon::WithCancel<OpenvinoBackend>,
                              public tenon::WithScheduling<OpenvinoBackend>,
                              public tenon::WithCheckBlob<OpenvinoBackend>,
                              public tenon::WithEstimate<OpenvinoBackend> {
 public:
  static constexpr std::string_view id = "OpenvinoBackend";
  static constexpr std::string_view description =
      "OpenVINO for the programs of ExecuTorch's own exporter";
};

/// Runs OpenVINO IR with its weights as named data, and also what `OpenvinoBackend` does: a process
/// in which another delegate has that id can use this one.
class TenonOpenvino final : public tenon::Backend<TenonOpenvino>,
                            public Openvino<TenonOpenvino>,
                            public tenon::WithOptions<TenonOpenvino>,
                            public tenon::WithSessions<TenonOpenvino>,
                            public tenon::WithCancel<TenonOpenvino>,
                            public tenon::WithScheduling<TenonOpenvino>,
                            public tenon::WithCheckBlob<TenonOpenvino>,
                            public tenon::WithEstimate<TenonOpenvino>,
                            public tenon::aot::BackendDetails<TenonOpenvino> {
 public:
  static constexpr std::string_view id = "TenonOpenvino";
  static constexpr std::string_view description = "OpenVINO for programs that tenon-compile makes";
  static constexpr tenon::PayloadVersions payload_versions = {openvino_backend::payload_version,
                                                              openvino_backend::payload_version};

  // Ahead of time.

  static tenon::Result<tenon::aot::PreprocessResult> preprocess(
      const tenon::aot::EdgeProgram& program, tenon::CompileSpecs specs) {
    return openvino_backend::preprocess(program, specs);
  }

  static tenon::Result<tenon::aot::PartitionResult> partition(
      const tenon::aot::EdgeProgram& program, tenon::CompileSpecs options) {
    return openvino_backend::partition(program, options);
  }

  static tenon::Result<std::vector<std::string>> ops_to_not_decompose(
      const tenon::aot::EdgeProgram& program) {
    return openvino_backend::ops_to_not_decompose(program);
  }
};

}  // namespace

TENON_PLUGIN(OpenvinoBackend, TenonOpenvino);
