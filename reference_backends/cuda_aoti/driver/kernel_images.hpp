// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon::cuda_aoti {

/// GPU code in a model's library: for each kernel, the architectures that it was compiled for.
/// Architectures are compute capabilities without the point: 90 is sm_90 or compute_90.
///
/// Found by the magic numbers of fat binaries (the output of `fatbinary`: a header, then an entry
/// for each image) and of ELF files for GPUs. Code in other formats is not found, so an empty
/// result proves nothing.
class KernelImages {
 public:
  /// How kernels run on a device.
  enum class Fit {
    binary,  ///< All as compiled.
    ptx,     ///< The driver compiles some when it loads them, if it accepts them.
    none,    ///< Some are for other devices.
  };

  [[nodiscard]] static KernelImages find(Bytes library);

  [[nodiscard]] bool empty() const noexcept { return kernels_.empty(); }

  /// A binary runs on devices of its own generation, from its own capability on; PTX can be
  /// compiled for devices of its own capability and later (CUDA C++ Programming Guide, "Application
  /// Compatibility"). Code for the features of one architecture only ("sm_90a") is not
  /// distinguished here; the driver refuses its PTX on other devices.
  [[nodiscard]] Fit fit(unsigned capability) const noexcept;

  /// "sm_90, compute_90 (PTX)"; each once.
  [[nodiscard]] std::string text() const;

 private:
  struct Kernel {
    std::vector<unsigned> binaries;
    std::vector<unsigned> ptx;
  };

  /// Reads the fat binary at the beginning of `bytes`. Returns its size, or 0 when there is none.
  std::size_t read_fat_binary(Bytes bytes);

  std::vector<Kernel> kernels_;
};

}  // namespace tenon::cuda_aoti
