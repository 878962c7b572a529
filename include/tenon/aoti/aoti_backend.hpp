// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/aoti/instance.hpp"
#include "tenon/aoti/library/code_features.hpp"
#include "tenon/aoti/library/library_variants.hpp"
#include "tenon/aoti/library/model_checks.hpp"
#include "tenon/aoti/library/model_library.hpp"
#include "tenon/aoti/library/named_features.hpp"
#include "tenon/aoti/load_options.hpp"
#include "tenon/aoti/payload.hpp"
#include "tenon/aoti/plug_points.hpp"
#include "tenon/aoti/weights/device_weights.hpp"
#include "tenon/aoti/weights/weights.hpp"
#include "tenon/backend/backend.hpp"
#include "tenon/backend/cancel_flag.hpp"
#include "tenon/backend/context.hpp"
#include "tenon/backend/host_services.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/backend/mixins/check_blob.hpp"
#include "tenon/backend/mixins/estimate.hpp"
#include "tenon/backend/mixins/memory_info.hpp"
#include "tenon/backend/mixins/sequence.hpp"
#include "tenon/core/aoti_names.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Mixin: the part that all AOTInductor backends have in common, whatever their device. Not itself
/// a backend: a backend derives from this and from `Backend`, names its device, and is final
/// (ExecuTorch: backends/aoti/aoti_backend.py, AotiBackend).
///
/// This class and all that belongs to AOTInductor here is experimental: it may change in any
/// release, and such backends have the tag `experimental`, so that lists leave them out by default
/// (`BackendRegistry::list_backends`). Programs that name them run. ExecuTorch marks its own in the
/// same way.
///
///     class CpuAotiBackend final : public tenon::Backend<CpuAotiBackend>,
///                                  public tenon::aoti::AotiBackend<CpuAotiBackend> {
///      public:
///       static constexpr std::string_view id = "CpuAotiBackend";
///       static constexpr std::string_view tags = "experimental";
///       static constexpr bool runs_embedded_code = true;
///       static constexpr const char* device_name = "cpu";  // public: "metal", not "mps"
///       static constexpr std::array fallback_kernels{MY_KERNELS(TENON_AOTI_NAME)};
///       static constexpr const char* decompositions = "{}";
///       static constexpr const char* compile_options =
///           R"({"aot_inductor.link_libtorch": false})";
///       static tenon::Result<tenon::aoti::DeviceMemoryApi> open_device(
///           const tenon::aoti::LoadOptions&);
///       static const void* find_shim(std::string_view name);
///       tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
///                                    tenon::CompileSpecs specs) {
///         return load(context, processed, {});
///       }
///     };
///
/// All of them are required. `fallback_kernels`, `decompositions` and `compile_options` are for
/// exporters, which read them from the plugin (tenon/abi/draft/aoti_export.h).
///
/// Optional: operators that models call by number, described by `calls` (ProxyExecutor). `init`
/// fails with what `make_proxy` fails with. Its result may hold kernels that were found with
/// `context` (tenon/backend/kernel_lookup.hpp):
///
///       static tenon::Result<std::unique_ptr<const tenon::aoti::ProxyExecutor>> make_proxy(
///           std::string_view calls, const tenon::InitContext& context);
///
/// Optional, with `static constexpr bool takes_named_weights = true`: payloads with a library for
/// each of several devices. Returns the number of the one to load; the others are not looked at.
///
///       static tenon::Result<std::size_t> choose_library(
///           std::span<const tenon::aoti::LibraryVariant> variants,
///           const tenon::aoti::LoadOptions& options);
template <class Derived>
class AotiBackend {
 public:
  /// One loaded model.
  class Delegate {
   public:
    Delegate(Delegate&& other) noexcept
        : model_(std::move(other.model_)),
          instances_(std::move(other.instances_)),
          is_session_(other.is_session_),
          free_(other.free_.load(std::memory_order_relaxed)) {}

    /// Bytes of weights of all instances that are not in the host's memory: copies, and uploads
    /// where the device has memory of its own. A copy that sessions or delegates share counts in
    /// each.
    [[nodiscard]] std::size_t own_weights() const noexcept {
      std::size_t sum = model_->weights_copy ? model_->weights_copy->bytes().size() : 0;
      if (model_->on_device) sum += model_->on_device->nbytes();
      for (const auto& instance : instances_) sum += instance->own_weights();
      return sum;
    }
    /// Bytes of working memory of all instances.
    [[nodiscard]] std::size_t scratch() const noexcept {
      std::size_t sum = 0;
      for (const auto& instance : instances_) sum += instance->scratch();
      return sum;
    }

    /// To be used only while the delegate is not running.
    [[nodiscard]] std::span<const std::unique_ptr<Instance>> instances() const noexcept {
      return instances_;
    }

   private:
    friend class AotiBackend;
    Delegate() = default;

    /// Takes a free instance and returns its number, or `none_free`. Lock-free: one bit for each.
    std::size_t take() noexcept {
      std::uint64_t free = free_.load(std::memory_order_relaxed);
      while (free != 0) {
        const std::uint64_t bit = free & (~free + 1);
        if (free_.compare_exchange_weak(free, free & ~bit, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
          return static_cast<std::size_t>(std::countr_zero(bit));
        }
      }
      return none_free;
    }
    void give_back(std::size_t index) noexcept {
      if (instances_.size() == 1) return free_.store(1, std::memory_order_release);
      free_.fetch_or(std::uint64_t{1} << index, std::memory_order_release);
    }
    static constexpr std::size_t none_free = ~std::size_t{0};

    /// The part that sessions share: the library, its functions, and the weights.
    struct Model {
      std::vector<NamedWeight> named;
      std::vector<NamedData> named_data;
      std::vector<Bytes> named_bytes;
      std::optional<NamedData> weights;
      std::unique_ptr<DeviceWeights> on_device;  // Destroyed before the data.
      std::shared_ptr<const WeightsCopy> weights_copy;
      std::optional<Bytes> blob;  ///< Of one of the two above.
      std::string method_name;    ///< For the texts of failures.
      std::string weights_key;
      std::optional<ModelLibrary> library;
      std::optional<CheckingImage> checks;
      ContainerApi api;
      std::unique_ptr<const ProxyExecutor> proxy;
      LoadOptions options;
      const tenon_cancel_flag_v1* cancel_flags = nullptr;
    };

    std::shared_ptr<const Model> model_;  // Outlives the instances.
    std::vector<std::unique_ptr<Instance>> instances_;
    bool is_session_ = false;
    std::atomic<std::uint64_t> free_ = 0;
  };

  /// Runs the model once.
  [[nodiscard]] Status execute(ExecutionContext& context, Delegate& delegate, Args args) {
    return execute_with(context, delegate, [&](Instance& instance) { return instance.run(args); });
  }

  /// Reports whether `init` would accept the blob, without loading any of it. Usable when nothing
  /// is known of the instructions of the model's library.
  [[nodiscard]] Result<BlobVerdict> check_blob(InitContext& context, Blob processed, CompileSpecs) {
    const auto payload = parse(context, processed.text(), LoadOptions{});
    if (!payload.ok()) {
      return BlobVerdict{Compatibility::Incompatible, std::string(payload.text())};
    }
    auto verdict = judge_library(context, *payload, &shim);
    if (verdict.ok()) return verdict;
    return BlobVerdict{Compatibility::Incompatible, std::string(verdict.text())};
  }

  /// The memory of a delegate as far as it is known without loading its library, for backends with
  /// `WithEstimate`: the images of the library, and the weights that are copied or uploaded. How
  /// much runs work with is in the code of the model alone, so it is unknown.
  [[nodiscard]] Result<MemoryUses> estimate(InitContext& context, Blob processed, CompileSpecs) {
    return estimate_load(context, processed.text(), LoadOptions{});
  }

  /// Weights and working memory, in addition to what the host counts. Weights that models share by
  /// their content are reported for null.
  [[nodiscard]] MemoryUses memory_info(const Delegate* delegate) const {
    if (!delegate) {
      MemoryUses out = device_store_->uses(device_of_models({}).device_type);
      out.push_back({.weights = store_.nbytes()});
      return out;
    }
    const typename Delegate::Model& model = *delegate->model_;
    MemoryUse out;
    if (model.on_device) out.device = device_of_models(model.options);
    for (const auto& instance : delegate->instances_) out.weights += instance->own_weights();
    out.workspace = delegate->scratch();
    if (delegate->is_session_) {
      out.session = std::exchange(out.weights, 0) + std::exchange(out.workspace, 0);
    } else if (model.on_device && !model.options.share_weights) {
      out.weights += model.on_device->nbytes();
    }
    return {out};
  }

 protected:
  AotiBackend() = default;
  ~AotiBackend() = default;

  /// `estimate` for the options that `load` would get. Does not need the device: of several
  /// libraries the largest counts. `packs_weights` says that the backend also makes weights in a
  /// form of its own; how many only a run shows, so all are counted.
  [[nodiscard]] static Result<MemoryUses> estimate_load(const InitContext& context,
                                                        std::string_view processed,
                                                        const LoadOptions& options,
                                                        bool packs_weights = false) {
    constexpr bool named = requires { requires Derived::takes_named_weights; };
    TENON_TRY(Payload payload, parse_payload(processed, context.method_name(), named));
    MemoryUse host;
    if (!payload.library_key.empty()) {
      TENON_TRY(host.weights, image_bytes(context, payload));
    }
    for (std::size_t i = 0; payload.library_key.empty() && i < payload.variants.size(); ++i) {
      Payload chosen = payload;
      chosen.choose(i);
      const auto bytes = image_bytes(context, chosen);
      if (bytes.ok() && *bytes > host.weights) host.weights = *bytes;
    }
    std::uint64_t weights = 0;
    bool in_place = options.share_weights;
    for (const NamedWeight& weight : payload.weights) weights += weight.nbytes;
    if (payload.variants.empty()) {
      // Without weights a model may have none.
      const auto data = context.named_data_map()->get_data(payload.weights_key);
      if (data.ok()) {
        weights = data->bytes().size();
        in_place = in_place && is_aligned(data->bytes());
      }
    }
    const tenon_dl_device device = device_of_models(options);
    if (device.device_type != TENON_DL_CPU) {
      MemoryUse on_device{weights, MemoryUse::unknown, MemoryUse::unknown, device};
      return MemoryUses{host, on_device};
    }
    const auto copies = static_cast<std::uint64_t>(options.model_copies);
    if (!in_place) host.weights += options.share_weights ? weights : copies * weights;
    // A copy of the model's own may be written to and is not packed.
    if (packs_weights && options.share_weights) host.weights += weights;
    host.workspace = host.session = MemoryUse::unknown;
    return MemoryUses{host};
  }

  /// Loads one delegate, for `init` to return.
  ///
  /// errors: AccessFailed when the host does not permit the model's code;
  /// DelegateInvalidCompatibility when the payload is of an unknown generation or has no library
  /// for the device; NotFound when the program lacks a part; InvalidExternalData when the weights
  /// are too short; Internal with the model's own message; otherwise as `ModelLibrary::load`.
  [[nodiscard]] Result<Delegate> load(InitContext& context, Blob processed,
                                      const LoadOptions& options) {
    constexpr std::int64_t max_copies = 64;  // Bits of a word.
    if (options.model_copies < 1 || options.model_copies > max_copies) {
      return error(Error::InvalidArgument, "option 'model_copies': expected 1 to ", max_copies,
                   ", found ", options.model_copies);
    }
    TENON_TRY(Payload payload, parse(context, processed.text(), options));
    processed.release();
    auto model = std::make_shared<typename Delegate::Model>();
    model->options = options;
    model->cancel_flags = HostServices(context.raw().host)
                              .extension<tenon_cancel_flag_v1>(TENON_EXTENSION_CANCEL_FLAG);
    model->method_name = context.method_name();
    model->weights_key = payload.weights_key;
    {
      const TracerScope scope(context.tracer(), "load library");
      // A copy, because another process may write to the program's file, which is mapped: what was
      // permitted is what is loaded.
      TENON_TRY(const std::vector<std::byte> code, copy_library(context, payload));
      TENON_RETURN_IF_ERROR(context.permit_code(code));
      TENON_TRY(model->proxy, read_operator_calls(context, payload, code));
      const auto find = [&](std::string_view name) {
        return shim_for(model->proxy.get(), name, &shim);
      };
      TENON_TRY(const CodeFeatures features, features_of(context, payload, code));
      auto library = ModelLibrary::load(code, find, served(), features);
      if (!library.ok()) {
        return std::move(library).status().with_context(
            concat("the library of method '", context.method_name(), "'"));
      }
      model->library = *std::move(library);
      TENON_TRY(model->api, ContainerApi::find(*model->library));
      TENON_TRY(model->checks, load_with_checks(code, find, served(), features));
      if (model->checks) {
        model->api.use_checks(model->checks->library, model->checks->num_device_checks);
      }
    }
    const TracerScope scope(context.tracer(), "load weights");
    TENON_TRY(DeviceMemoryApi memory, open_memory(options));
    if (!memory.is_host()) {
      model->on_device =
          std::make_unique<DeviceWeights>(options.share_weights ? device_store_ : nullptr);
    }
    if (!payload.variants.empty()) {
      model->named = std::move(payload.weights);
      TENON_RETURN_IF_ERROR(find_named_weights(context, *model));
    } else {
      find_weights(context, *model);
    }
    return make_delegate(std::move(model), std::move(memory));
  }

  /// Reads the payload and chooses the library for the device. Generations 3 and 4 are for backends
  /// with `static constexpr bool takes_named_weights = true`.
  /// errors: as `parse_payload` and `choose_library`.
  [[nodiscard]] static Result<Payload> parse(const InitContext& context, std::string_view processed,
                                             const LoadOptions& options) {
    constexpr bool named = requires { requires Derived::takes_named_weights; };
    TENON_TRY(Payload payload, parse_payload(processed, context.method_name(), named));
    if (!payload.library_key.empty()) return payload;
    if constexpr (detail::HasChooseLibrary<Derived>) {
      TENON_TRY(const std::size_t index, Derived::choose_library(payload.variants, options));
      payload.choose(index);
      return payload;
    } else {
      return error(Error::DelegateInvalidCompatibility, "the program has libraries for ",
                   text_of(payload.variants), ", and this backend does not choose among devices");
    }
  }

  /// The verdict of `check_blob` on all but the device: Optimal, or Usable when nothing is known of
  /// the instructions of the library of `payload`, which has been chosen. A failure is the reason
  /// why `init` would refuse the blob. `find` is what `find_shim` would be with the device.
  [[nodiscard]] Result<BlobVerdict> judge_library(const InitContext& context,
                                                  const Payload& payload,
                                                  const void* (*find)(std::string_view)) {
    TENON_TRY(const NamedData code, find_library(context, payload));
    TENON_TRY(const auto proxy, read_operator_calls(context, payload, code.bytes()));
    const auto find_one = [&](std::string_view name) { return shim_for(proxy.get(), name, find); };
    TENON_TRY(const CodeFeatures features, features_of(context, payload, code.bytes()));
    TENON_RETURN_IF_ERROR(ModelLibrary::check(code.bytes(), find_one, served(), features));
    if (features.is_known) return BlobVerdict{};
    return BlobVerdict{Compatibility::Usable,
                       "instructions unknown: the program does not name the CPU features that the "
                       "model's code needs, and they cannot be decoded here"};
  }

  /// Calls `run(Instance&)` with a free instance.
  ///
  /// Fails with InvalidState when every instance is running: waiting would hide that the host broke
  /// the rule of one call at a time, and would take a lock in each call.
  template <class Run>
  [[nodiscard]] Status execute_with(ExecutionContext& context, Delegate& delegate, Run&& run) {
    const std::size_t index = delegate.take();
    if (index == Delegate::none_free) {
      return error(Error::InvalidState, "the model is running in another thread and has ",
                   delegate.instances_.size(),
                   " copies; the option model_copies allows more at once");
    }
    const TracerScope scope(context.tracer(), "AOTInductorModelContainerRun");
    Instance& instance = *delegate.instances_[index];
    const CancelFlag cancelled(delegate.model_->cancel_flags, context);
    instance.pool().set_cancel_flag(cancelled);
    Status status = std::forward<Run>(run)(instance);
    instance.pool().set_cancel_flag({});
    delegate.give_back(index);
    if (!status.ok() && cancelled.is_set()) return error(Error::Cancelled, status.text());
    return status;
  }

  /// The state of a model whose constants are in the host's memory, for `state` of a backend with
  /// `WithSequence`.
  [[nodiscard]] static std::vector<StatePart> state(const Delegate& delegate) {
    std::vector<StatePart> out;
    for (const auto& [index, bytes] : delegate.instances_.front()->state()) {
      out.push_back({concat("constant ", index), bytes});
    }
    return out;
  }

  /// Makes another delegate of the same model, in its initial state, over the same weights, for
  /// `create_session` of a backend with `WithSessions`.
  [[nodiscard]] Result<Delegate> create_session(const Delegate& delegate) {
    TENON_TRY(DeviceMemoryApi memory, open_memory(delegate.model_->options));
    TENON_TRY(Delegate out, make_delegate(delegate.model_, std::move(memory)));
    out.is_session_ = true;
    return out;
  }

 private:
  /// Libraries whose functions the backend provides itself: `static constexpr std::array<
  /// std::string_view, n> served_libraries`. See `is_served`.
  static std::span<const std::string_view> served() noexcept {
    if constexpr (requires { Derived::served_libraries; }) {
      return Derived::served_libraries;
    } else {
      return {};
    }
  }

  /// The function that calls operators by number is missing as long as nothing describes them.
  static const void* shim_for(const ProxyExecutor* proxy, std::string_view name,
                              const void* (*find)(std::string_view)) {
    return !proxy && name == proxy_executor_function ? nullptr : find(name);
  }

  /// CPU features that the library needs: those that the program names, and those that its
  /// instructions need where the backend has a decoder (`static DecodeX86 instruction_decoder()`,
  /// which returns null where there is none).
  Result<CodeFeatures> features_of(const InitContext& context, const Payload& payload, Bytes code) {
    CodeFeatures out;
    if constexpr (requires { Derived::instruction_decoder(); }) {
      out = decoded_.get(code, Derived::instruction_decoder());
    }
    auto found =
        with_named_features(std::move(out), *context.named_data_map(), payload.library_key);
    if (found.ok()) return found;
    return std::move(found).status().with_context(
        concat("the library of method '", context.method_name(), "'"));
  }

  /// Reads the description of the operators that the model calls by number. Null when it calls
  /// none, and when there is no description.
  static Result<std::unique_ptr<const ProxyExecutor>> read_operator_calls(
      const InitContext& context, const Payload& payload, Bytes code) {
    if constexpr (detail::HasProxy<Derived>) {
      // Asked for only where it is needed: what a program lacks is reported by key.
      const bool calls = as_text(code).find(proxy_executor_function) != std::string_view::npos;
      if (!calls) return nullptr;
      auto data = context.named_data_map()->get_data(operator_calls_key(payload.library_key));
      if (!data.ok()) {
        if (data.error() == Error::NotFound) return nullptr;
        return std::move(data).status();
      }
      // A copy: another process may write to the program's file, which is mapped.
      auto made = Derived::make_proxy(std::string(as_text(data->bytes())), context);
      if (made.ok()) return made;
      return std::move(made).status().with_context(
          concat("the operators that method '", context.method_name(), "' calls"));
    } else {
      return nullptr;
    }
  }

  // A plug point that is missing or wrong has its diagnostic in `AotiExportExtension`; the
  // functions that use one then still compile, so that it is the only one.
  static const void* shim(std::string_view name) {
    if constexpr (detail::HasFindShim<Derived>) {
      return Derived::find_shim(name);
    } else {
      return nullptr;
    }
  }
  static Result<DeviceMemoryApi> open_memory(const LoadOptions& options) {
    if constexpr (detail::HasOpenDevice<Derived>) {
      return Derived::open_device(options);
    } else {
      return error(Error::NotImplemented, "open_device");
    }
  }
  /// PyTorch's name of the device, without an index.
  static std::string_view torch_device() noexcept {
    if constexpr (detail::HasDeviceName<Derived>) {
      return torch_device_of(Derived::device_name);
    } else {
      return {};
    }
  }

  static Result<NamedData> find_library(const InitContext& context, const Payload& payload) {
    const auto named_data = context.named_data_map();
    if (!named_data) {
      return error(Error::NotFound, "the library of method '", context.method_name(),
                   "': the program has no named data, expected it under '",
                   std::string_view(payload.library_key), "'");
    }
    auto library = named_data->get_data(payload.library_key);
    if (library.ok()) return library;
    return std::move(library).status().with_context(
        concat("the library of method '", context.method_name(), "'"));
  }

  /// Bytes of the images of a library: its own, and that with checks (model_checks.hpp).
  static Result<std::uint64_t> image_bytes(const InitContext& context, const Payload& payload) {
    TENON_TRY(const NamedData code, find_library(context, payload));
    const bool has_checks =
        as_text(code.bytes()).find(detail::checks_variable) != std::string_view::npos;
    return std::uint64_t{code.bytes().size()} * (has_checks ? 2 : 1);
  }

  /// DLPack's name of the device that models are created for.
  static tenon_dl_device device_of_models(const LoadOptions& options) noexcept {
    const std::string_view name = torch_device();
    const std::int32_t type = name == "cuda"  ? TENON_DL_CUDA
                              : name == "mps" ? TENON_DL_METAL
                                              : TENON_DL_CPU;
    return {type, options.device_index.value_or(0)};
  }

  static Result<std::vector<std::byte>> copy_library(const InitContext& context,
                                                     const Payload& payload) {
    TENON_TRY(const NamedData code, find_library(context, payload));
    const Bytes bytes = code.bytes();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }

  /// Finds the weights of generations 1 and 2, and copies them where they cannot be used in place.
  /// A program may have none; a model that needs some then fails.
  void find_weights(const InitContext& context, typename Delegate::Model& model) {
    auto data = context.named_data_map()->get_data(model.weights_key);
    if (!data.ok()) return;
    if (model.options.share_weights && !model.on_device && !is_aligned(data->bytes())) {
      model.weights_copy = store_.copy_of(data->bytes());
      model.blob = model.weights_copy->bytes();
      return;
    }
    model.weights = *std::move(data);
    model.blob = model.weights->bytes();
  }

  static Status find_named_weights(const InitContext& context, typename Delegate::Model& model) {
    for (const NamedWeight& weight : model.named) {
      auto data = context.named_data_map()->get_data(weight.key);
      if (!data.ok()) {
        return std::move(data).status().with_context(
            concat("weight '", std::string_view(weight.name), "'"));
      }
      if (data->bytes().size() != weight.nbytes) {
        return error(Error::InvalidExternalData, "weight '", std::string_view(weight.name),
                     "': expected ", weight.nbytes, " bytes, found ", data->bytes().size());
      }
      model.named_bytes.push_back(data->bytes());
      model.named_data.push_back(*std::move(data));
    }
    return ok();
  }

  /// `memory` is for the first instance; each further instance opens the device again.
  static Result<Delegate> make_delegate(std::shared_ptr<const typename Delegate::Model> model,
                                        DeviceMemoryApi memory) {
    Delegate out;
    const LoadOptions& options = model->options;
    const std::string device =
        options.device_index
            ? concat(torch_device(), ":", static_cast<std::int64_t>(*options.device_index))
            : std::string(torch_device());
    InstanceWeights weights{model->blob, model->named, model->named_bytes, options.share_weights,
                            model->on_device.get()};
    if (model->on_device && model->blob) weights.in_place = is_aligned(*model->blob);
    for (std::int64_t i = 0; i < options.model_copies; ++i) {
      if (i != 0) {
        TENON_TRY(memory, open_memory(options));
      }
      auto instance =
          Instance::create(model->api, memory, device.c_str(), weights, model->proxy.get());
      if (!instance.ok()) {
        return std::move(instance).status().with_context(
            concat("the model of method '", std::string_view(model->method_name), "'"));
      }
      out.instances_.push_back(*std::move(instance));
      out.free_.fetch_or(std::uint64_t{1} << i, std::memory_order_relaxed);
    }
    if (out.instances_.size() > 1 && out.instances_.front()->has_state()) {
      return error(Error::InvalidArgument,
                   "option 'model_copies': the model keeps state between runs, so several copies "
                   "of it would differ");
    }
    out.model_ = std::move(model);
    return out;
  }

  WeightStore store_;
  DecodedLibraries decoded_;
  std::shared_ptr<DeviceWeightStore> device_store_ = std::make_shared<DeviceWeightStore>();
};

}}}  // namespace tenon::TENON_RELEASE::aoti

namespace tenon { inline namespace TENON_RELEASE { namespace detail {

template <>
struct MixinOf<tenon_aoti_export_v1> : Mixin<aoti::AotiBackend, aoti::detail::AotiExportExtension> {
};

}}}  // namespace tenon::TENON_RELEASE::detail
