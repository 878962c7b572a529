// SPDX-License-Identifier: MIT
#include "common/instruction_decoder.hpp"

#if defined(TENON_HAS_ZYDIS)

#include <Zydis/Zydis.h>

#include <array>
#include <cstddef>
#include <string>

#include "common/isolated_library.hpp"
#include "tenon/aoti/library/isa_sets.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::aoti_common {
namespace {

/// Zydis' structs and numbers change with its minor version, so the library must match the headers.
/// Its soname has both numbers.
class Zydis {
 public:
  Zydis()
      : library_(concat("libZydis.so.", ZYDIS_VERSION_MAJOR(ZYDIS_VERSION), ".",
                        ZYDIS_VERSION_MINOR(ZYDIS_VERSION))
                     .c_str()) {
    if (!library_) return;
    const auto get_version = find<decltype(ZydisGetVersion)>("ZydisGetVersion");
    const auto init = find<decltype(ZydisDecoderInit)>("ZydisDecoderInit");
    const auto enable = find<decltype(ZydisDecoderEnableMode)>("ZydisDecoderEnableMode");
    const auto name_of = find<decltype(ZydisISASetGetString)>("ZydisISASetGetString");
    const auto decode =
        find<decltype(ZydisDecoderDecodeInstruction)>("ZydisDecoderDecodeInstruction");
    constexpr unsigned patch_bits = 32;
    if (!get_version || !init || !enable || !name_of || !decode ||
        get_version() >> patch_bits != ZYDIS_VERSION >> patch_bits ||
        !ZYAN_SUCCESS(init(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        // GCC writes BSF with this prefix also for processors that ignore it, where both give the
        // same result.
        !ZYAN_SUCCESS(enable(&decoder_, ZYDIS_DECODER_MODE_TZCNT, ZYAN_FALSE)) ||
        // Operands are of no interest; this halves the time.
        !ZYAN_SUCCESS(enable(&decoder_, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE))) {
      return;
    }
    for (std::size_t i = 0; i < features_.size(); ++i) {
      const char* const name = name_of(static_cast<ZydisISASet>(i));
      if (name) features_[i] = aoti::features_of_isa_set(name).value_or(X86FeatureSet());
    }
    decode_ = decode;
    // What the minimal mode leaves out is not documented: vaddps zmm0, zmm0, zmm0 shows whether it
    // is the groups of instructions.
    constexpr std::byte wide[] = {std::byte{0x62}, std::byte{0xf1}, std::byte{0x7c},
                                  std::byte{0x48}, std::byte{0x58}, std::byte{0xc0}};
    X86FeatureSet needed;
    if (this->decode(wide, needed) != sizeof wide || needed.none()) decode_ = nullptr;
  }

  [[nodiscard]] explicit operator bool() const noexcept { return decode_ != nullptr; }

  [[nodiscard]] std::size_t decode(Bytes code, X86FeatureSet& needed) const noexcept {
    ZydisDecodedInstruction instruction;
    if (!ZYAN_SUCCESS(decode_(&decoder_, nullptr, code.data(), code.size(), &instruction))) {
      return 0;
    }
    const auto set = static_cast<std::size_t>(instruction.meta.isa_set);
    if (set < features_.size()) needed |= features_[set];
    return instruction.length;
  }

  [[nodiscard]] static const Zydis& loaded() {
    static const Zydis only;
    return only;
  }

 private:
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const noexcept {
    return reinterpret_cast<Function*>(library_.symbol(name));
  }

  IsolatedLibrary library_;
  ZydisDecoder decoder_{};
  std::array<X86FeatureSet, ZYDIS_ISA_SET_MAX_VALUE + 1> features_{};
  decltype(&ZydisDecoderDecodeInstruction) decode_ = nullptr;
};

std::size_t decode(Bytes code, X86FeatureSet& needed) noexcept {
  return Zydis::loaded().decode(code, needed);
}

}  // namespace

aoti::DecodeX86 instruction_decoder() { return Zydis::loaded() ? &decode : nullptr; }

}  // namespace tenon::aoti_common

#else

namespace tenon::aoti_common {

aoti::DecodeX86 instruction_decoder() { return nullptr; }

}  // namespace tenon::aoti_common

#endif
