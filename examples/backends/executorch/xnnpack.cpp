// SPDX-License-Identifier: MIT
// ExecuTorch's XNNPACK backend as a plugin. The wheel's library is not changed; it is loaded from
// the directory of libexecutorch.so when a host opens the plugin.
#include <array>
#include <string_view>
#include <tenon/executorch/plugin.hpp>

namespace {

struct Xnnpack {
  static constexpr std::string_view id = "XnnpackBackend";
  static constexpr std::string_view description = "ExecuTorch's XNNPACK backend";
  static constexpr std::string_view tags = "cpu,executorch";
  static constexpr std::array libraries{
      tenon::bridge::RegisteringLibrary{"libexecutorch_backend_xnnpack.so", "XnnpackBackend"}};
  // Options of backends/xnnpack/runtime/XNNPACKBackend.h, with the values that the wheel has.
  static constexpr std::array options{
      tenon::OptionSpec{"workspace_sharing_mode", std::int64_t{2},
                        "activations' memory: 0 of each delegate, 1 of a method, 2 of all"},
      tenon::OptionSpec{"weight_cache_enabled", false, "share packed weights between delegates"},
      tenon::OptionSpec{"packed_cache_path", "", "file that keeps packed weights, for one load",
                        TENON_OPTION_AT_LOAD}};
};

}  // namespace

TENON_EXECUTORCH_BACKEND(Xnnpack);
