// SPDX-License-Identifier: MIT
// expect: tenon: WithExternalMemory needs a public
#include <array>
#include <tenon/tenon.hpp>

class X final : public tenon::Backend<X>, public tenon::WithExternalMemory<X> {
 public:
  static constexpr std::string_view id = "X";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  static constexpr std::array memory_kinds{tenon::MemoryKind::MemFd};
};

TENON_PLUGIN(X);
