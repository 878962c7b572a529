// SPDX-License-Identifier: MIT
//
// Runs models that PyTorch's AOTInductor compiled for Apple's GPUs, without libtorch.

#include <array>
#include <memory>
#include <string_view>
#include <tenon/aoti.hpp>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "device/host_memory.hpp"
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

  // [rest]
  using AotiBackend::create_session;

  tenon::Result<std::vector<tenon::DeviceInfo>> devices() const {
    TENON_TRY(const auto device, metal::system_device());
    return std::vector{tenon::DeviceInfo{{TENON_DL_METAL, 0},
                                         device->device().name(),
                                         device->device().architecture(),
                                         device->device().memory()}};
  }
  // [rest]

  // [host-memory]
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
  static tenon::Status copy_on(void*, tenon_dl_device to_device, void* to,
                               tenon_dl_device from_device, const void* from, std::size_t nbytes) {
    TENON_RETURN_IF_ERROR(metal::check_device(from_device));
    return metal::DeviceBlocks::copy(to_device, to, from, nbytes);
  }

  using ImportedMemory = metal::ImportedPages;
  static constexpr std::array memory_kinds{tenon::MemoryKind::HostMemory};
  static tenon::Result<ImportedMemory> import_memory(const tenon::ExternalMemory& memory) {
    return ImportedMemory::import(memory);
  }
  // [host-memory]
};

}  // namespace

TENON_PLUGIN(MetalBackend);
