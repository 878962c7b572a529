// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/core/bytes.hpp"

namespace tenon::cuda_aoti {

/// Code for GPUs that a model's library carries: for each kernel, the architectures it was compiled
/// for. Architectures are compute capabilities without the point: 90 is sm_90 or compute_90.
///
/// Found by the marks at the beginning of a fat binary (what `fatbinary` writes: a head, then an
/// entry for each image) and of an ELF file for a GPU. What has no such mark is not found, so
/// nothing found means nothing.
class KernelImages {
 public:
  /// How kernels run on a device.
  enum class Fit {
    binary,  ///< All as they are.
    ptx,     ///< Some are compiled by the driver when they are loaded, if it takes them.
    none,    ///< Some are for other devices.
  };

  [[nodiscard]] static KernelImages find(Bytes library);

  [[nodiscard]] bool empty() const noexcept { return kernels_.empty(); }

  /// A binary runs on devices of its own generation, from its own capability on; PTX can be
  /// compiled for devices of its own capability and later (CUDA C++ Programming Guide, "Application
  /// Compatibility"). What was made for features of one architecture alone ("sm_90a") is not told
  /// apart here, and its PTX fits nowhere else; the driver says so.
  [[nodiscard]] Fit fit(unsigned capability) const noexcept;

  /// "sm_90, compute_90 (PTX)"; each once.
  [[nodiscard]] std::string text() const;

 private:
  struct Kernel {
    std::vector<unsigned> binaries;
    std::vector<unsigned> ptx;
  };

  /// Reads the fat binary at the beginning of `bytes`. Its size, or 0 when it is none.
  std::size_t read_fat_binary(Bytes bytes);

  std::vector<Kernel> kernels_;
};

}  // namespace tenon::cuda_aoti
