// SPDX-License-Identifier: MIT
// expect: tenon: WithMemoryInfo needs a public `tenon::MemoryInfo memory_info(const Delegate*)`
#include <tenon/tenon.hpp>

// The list of devices is missing as well; one mistake is one error.
class Wrong final : public tenon::Backend<Wrong>,
                    public tenon::WithDevices<Wrong>,
                    public tenon::WithMemoryInfo<Wrong> {
 public:
  static constexpr std::string_view id = "WrongBackend";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

TENON_PLUGIN(Wrong);
