// SPDX-License-Identifier: MIT
// A backend that imports another library's memory (docs/hosts/external-memory.md).
#include <array>
#include <string_view>
#include <tenon/backend/mapped_memory.hpp>
#include <tenon/tenon.hpp>

namespace {

using tenon::Status;

// [external]
class AcmeNpu final : public tenon::Backend<AcmeNpu>, public tenon::WithExternalMemory<AcmeNpu> {
 public:
  static constexpr std::array memory_kinds{tenon::MemoryKind::MemFd};
  using ImportedMemory = tenon::MappedMemory;
  static tenon::Result<ImportedMemory> import_memory(const tenon::ExternalMemory& memory) {
    return ImportedMemory::map(memory);
  }
  // [external]

  static constexpr std::string_view id = "AcmeNpu";
  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs) {
    return Delegate{};
  }
  Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args args) {
    TENON_RETURN_IF_ERROR(args.expect(2));
    TENON_TRY(const auto in, args.tensor<const float>(0));
    TENON_RETURN_IF_ERROR(args.resize(1, in.sizes()));
    TENON_TRY(const auto out, args.tensor<float>(1));
    for (std::size_t i = 0; i < in.numel(); ++i) out[i] = 2 * in[i];
    return tenon::ok();
  }
};

}  // namespace

TENON_PLUGIN(AcmeNpu);
