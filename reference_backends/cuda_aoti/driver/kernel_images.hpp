// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon::cuda_aoti {

// The first bytes of a fat binary and of an ELF file, which linkers align to 4, and the number of
// ELF files for GPUs.
inline constexpr std::uint32_t fat_binary_mark = 0xba55ed50;
inline constexpr std::uint32_t elf_mark = 0x464c457f;
inline constexpr std::uint16_t machine_cuda = 190;

/// GPU code in a model's library: for each kernel, the architectures that it was compiled for and
/// the drivers that accept it. Architectures are compute capabilities without the point: 90 is
/// sm_90 or compute_90. Drivers are the versions of CUDA that they are for, as cuDriverGetVersion
/// reports them: 12040 is 12.4.
///
/// Found by the magic numbers of fat binaries (the output of `fatbinary`: a header, then an entry
/// for each image) and of ELF files for GPUs. Code in other formats is not found, so an empty
/// result proves nothing.
class KernelImages {
 public:
  /// How kernels run on a device.
  enum class Fit {
    binary,      ///< All as compiled.
    ptx,         ///< The driver compiles some when it loads them.
    old_driver,  ///< Some are for a newer driver.
    none,        ///< Some are for other devices.
  };

  [[nodiscard]] static KernelImages find(Bytes library);

  /// Kernels that are given as a fat binary and as the text of PTX, which is not in it.
  [[nodiscard]] static KernelImages of(Bytes fat_binary, std::string_view ptx);

  [[nodiscard]] bool empty() const noexcept { return kernels_.empty(); }

  /// A binary runs on devices of its own generation, from its own capability on; PTX can be
  /// compiled for devices of its own capability and later (CUDA C++ Programming Guide, "Application
  /// Compatibility"). Code for the features of one architecture only ("sm_90a") is not
  /// distinguished here; the driver refuses its PTX on other devices.
  ///
  /// A driver accepts binaries of its own major version of CUDA and of earlier ones, and PTX whose
  /// version is no later than its own (CUDA Compatibility, "Minor Version Compatibility"; PTX ISA,
  /// "Release Notes").
  [[nodiscard]] Fit fit(unsigned capability, int driver) const noexcept;

  /// The oldest driver that runs all kernels on such a device; 0 when none does.
  [[nodiscard]] int driver_for(unsigned capability) const noexcept;

  /// "sm_90, compute_90 (PTX)"; each once.
  [[nodiscard]] std::string text() const;

 private:
  struct Image {
    unsigned architecture;
    int driver;  ///< The oldest driver that accepts it.
    bool is_ptx;

    [[nodiscard]] bool runs_on(unsigned capability) const noexcept;
  };
  using Kernel = std::vector<Image>;

  /// Reads the fat binary at the beginning of `bytes`. Returns its size, or 0 when there is none.
  std::size_t read_fat_binary(Bytes bytes);

  std::vector<Kernel> kernels_;
};

}  // namespace tenon::cuda_aoti
