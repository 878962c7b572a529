// SPDX-License-Identifier: MIT
// expect: tenon: fences need a public
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
  struct ImportedMemory {
    void* data() const { return nullptr; }
  };
  tenon::Result<ImportedMemory> import_memory(const tenon::ExternalMemory&) {
    return ImportedMemory{};
  }
  tenon::Status wait_fence(Delegate&, const tenon::ExternalFence&) { return tenon::ok(); }
};

TENON_PLUGIN(X);
