// SPDX-License-Identifier: MIT
//
// Runs models that PyTorch's AOTInductor compiled for the CPU, without libtorch.

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/aoti.hpp>
#include <tenon/backend/threads.hpp>
#include <tenon/tenon.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "common/isolated_library.hpp"
#include "kernels/fft/kissfft.hpp"
#include "kernels/generator.hpp"
#include "kernels/kernel_list.hpp"
#include "onednn/onednn_api.hpp"
#include "onednn/packed_weights.hpp"
#include "openmp.hpp"
#include "operators/proxy.hpp"
#include "parallel.hpp"

namespace {

namespace aoti = tenon::aoti;

tenon::Result<std::byte*> allocate(void*, std::size_t nbytes) {
  // Block sizes are multiples of 8; aligned_alloc requires multiples of the alignment.
  constexpr std::size_t alignment = 64;
  if (auto* block = static_cast<std::byte*>(
          std::aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment))) {
    return block;
  }
  return tenon::error(tenon::Error::MemoryAllocationFailed, "no memory for ", nbytes, " bytes");
}

/// Vector mathematics, which libtorch contains for its models. Loaded for the first model that
/// needs it, and kept for the life of the plugin.
const void* find_sleef(std::string_view name) {
  static const tenon::aoti_common::IsolatedLibrary sleef("libsleef.so.3");
  return sleef ? sleef.symbol(std::string(name).c_str()) : nullptr;
}

class CpuAotiBackend final : public tenon::Backend<CpuAotiBackend>,
                             public aoti::AotiBackend<CpuAotiBackend>,
                             public tenon::WithOptions<CpuAotiBackend>,
                             public tenon::WithCheckBlob<CpuAotiBackend>,
                             public tenon::WithEstimate<CpuAotiBackend>,
                             public tenon::WithMemoryInfo<CpuAotiBackend>,
                             public tenon::WithSessions<CpuAotiBackend>,
                             public tenon::WithSequence<CpuAotiBackend>,
                             public tenon::WithDevices<CpuAotiBackend> {
  using Model = aoti::AotiBackend<CpuAotiBackend>::Delegate;
  using PackedWeights = tenon::cpu_aoti::onednn::PackedWeights;

 public:
  static constexpr std::string_view id = "CpuAotiBackend";
  static constexpr std::string_view tags = "aoti,cpu,experimental";
  static constexpr std::string_view description =
      "models compiled by PyTorch's AOTInductor for the CPU";
  static constexpr tenon::PayloadVersions payload_versions = {1, 2};
  static constexpr bool runs_embedded_code = true;
  static constexpr const char* device_name = "cpu";
  static constexpr std::array fallback_kernels{TENON_CPU_AOTI_KERNELS(TENON_AOTI_NAME)};
  static constexpr const char* decompositions = "{}";
  // `link_libtorch` is what makes Inductor give up its vector code, unless `vec_isa_ok` is set.
  static constexpr const char* compile_options = R"({
    "aot_inductor.link_libtorch": false,
    "aot_inductor.package": true,
    "aot_inductor.package_constants_in_so": false,
    "aot_inductor.package_constants_on_disk_format": "binary_blob",
    "cpp.vec_isa_ok": true
  })";
  static constexpr std::array options{
      tenon::OptionSpec{"threads", std::int64_t{1},
                        "threads that one run may use, when the "
                        "application gives none; 0 for all"}
          .between(0, 1024),
      aoti::share_weights_option("use weights where the host has them; otherwise copy them"),
      aoti::model_copies_option,
      tenon::OptionSpec{"seed", std::int64_t{-1},
                        "seed of random numbers, as torch.manual_seed; -1 for one of the system"}
          .at_least(-1),
      tenon::OptionSpec{"pack_weights", true,
                        "reorder fixed weights once, at the first run, and not in each"}};

  struct Delegate {
    Model model;
    int num_threads;
    bool on_pool;  ///< The application gave threads.
    std::int64_t seed;
    bool pack_weights;
    std::vector<const PackedWeights*> packed;  ///< Of each instance.

    Delegate(Model loaded, int threads, bool pool, std::int64_t given, bool pack)
        : model(std::move(loaded)),
          num_threads(threads),
          on_pool(pool),
          seed(given),
          pack_weights(pack) {
      for (const auto& instance : model.instances()) {
        auto& weights = instance->pool().cache<PackedWeights>();
        weights.enable(pack_weights);
        packed.push_back(&weights);
      }
      if (seed < 0) return;
      auto next = static_cast<std::uint64_t>(seed);
      for (const auto& instance : model.instances()) {
        instance->pool().cache<tenon::cpu_aoti::Generator>().seed(next++);
      }
    }
  };

  tenon::Status open() {
    // The libraries of the package are next to the plugin, also where the host loads a copy of it.
    if (!host().has_library_policy()) tenon::aoti_common::plugin_file(host().plugin_path());
    return tenon::ok();
  }

  static tenon::Result<aoti::DeviceMemoryApi> open_device(const aoti::LoadOptions&) {
    return aoti::DeviceMemoryApi{aoti::TorchDeviceType::cpu, &allocate,
                                 [](void*, std::byte* block) noexcept { std::free(block); }};
  }

  static const void* find_shim(std::string_view name) {
    using namespace tenon::cpu_aoti;
    static const aoti::Shim kernels[] = {TENON_CPU_AOTI_KERNELS(TENON_AOTI_ENTRY)};
    static const aoti::ShimTable table{aoti::shims::base(), aoti::shims::host(),
                                       aoti::shims::proxy(), kernels};
    // The functions of a library that is not installed count as missing.
    if (name.starts_with("aoti_torch_cpu__fft_") && !tenon::cpu_aoti::fft::load().ok()) {
      return nullptr;
    }
#if !defined(__x86_64__)
    // PyTorch's layout of packed weights is known for x86-64 alone.
    if (name == "aoti_torch_cpu__weight_int4pack_mm_cpu_tensor") return nullptr;
#endif
    if (const void* found = table.find(name)) return found;
    return name.starts_with("Sleef_") ? find_sleef(name) : nullptr;
  }

  static aoti::DecodeX86 instruction_decoder() { return tenon::aoti_common::instruction_decoder(); }

  static tenon::Result<std::unique_ptr<const aoti::ProxyExecutor>> make_proxy(
      std::string_view calls, const tenon::InitContext& context) {
    return tenon::cpu_aoti::make_proxy(calls, &context);
  }

  /// The kernels need oneDNN.
  tenon::Status is_available() const { return tenon::cpu_aoti::onednn::load(); }

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    TENON_RETURN_IF_ERROR(is_available());
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const auto threads, values.get<std::int64_t>("threads"));
    TENON_TRY(const aoti::LoadOptions load_options, aoti::read_load_options(values));
    TENON_TRY(const auto seed, values.get<std::int64_t>("seed"));
    TENON_TRY(const auto pack_weights, values.get<bool>("pack_weights"));
    TENON_TRY(Model model, load(context, processed, load_options));
    const int num_threads = threads == 0 ? ::omp_get_num_procs() : static_cast<int>(threads);
    return Delegate(std::move(model), num_threads, tenon::threads_of(*this, context).exists(), seed,
                    pack_weights);
  }

  tenon::Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    if (delegate.on_pool) {
      tenon::cpu_aoti::CallPool call(tenon::threads_of(*this, context));
      return call.end(AotiBackend::execute(context, delegate.model, args));
    }
    const tenon::cpu_aoti::NumThreads scope(delegate.num_threads);
    return AotiBackend::execute(context, delegate.model, args);
  }

  tenon::Result<Delegate> create_session(const Delegate& delegate) {
    TENON_TRY(Model model, AotiBackend::create_session(delegate.model));
    return Delegate(std::move(model), delegate.num_threads, delegate.on_pool, delegate.seed,
                    delegate.pack_weights);
  }

  std::vector<tenon::StatePart> state(Delegate& delegate) {
    auto out = AotiBackend::state(delegate.model);
    if (delegate.seed < 0) return out;  // Random numbers are other ones in each process then.
    auto& pool = delegate.model.instances().front()->pool();
    out.push_back({"random numbers", pool.cache<tenon::cpu_aoti::Generator>().bytes()});
    return out;
  }

  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext& context, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const aoti::LoadOptions load_options, aoti::read_load_options(values));
    TENON_TRY(const auto pack_weights, values.get<bool>("pack_weights"));
    return estimate_load(context, processed.text(), load_options, pack_weights);
  }

  tenon::MemoryUses memory_info(const Delegate* delegate) const {
    tenon::MemoryUses out = AotiBackend::memory_info(delegate ? &delegate->model : nullptr);
    // Packed weights are shared by all delegates of the process.
    if (!delegate) out.push_back({.weights = PackedWeights::nbytes_of_process()});
    return out;
  }

  tenon::Result<std::vector<tenon::DeviceInfo>> devices() const {
    const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return std::vector{tenon::DeviceInfo{{TENON_DL_CPU, 0},
                                         "CPU",
                                         tenon::concat(::omp_get_num_procs(), " processors"),
                                         pages * page}};
  }
};

}  // namespace

TENON_PLUGIN(CpuAotiBackend);
