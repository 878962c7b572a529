// SPDX-License-Identifier: MIT
#include "driver/kernel_images.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

#include "tenon/core/result.hpp"

namespace tenon::cuda_aoti {

namespace {

constexpr std::uint32_t fat_binary_mark = 0xba55ed50;
constexpr std::uint32_t elf_mark = 0x464c457f;

/// Architecture of an ELF file for a GPU at the beginning of `bytes`; 0 when there is none. Its
/// position in the flags depends on the version of the ABI (OSABI 0x33 until CUDA 12, 0x41 from 13
/// on).
unsigned architecture_of_elf(Bytes bytes) {
  constexpr std::uint16_t machine_cuda = 190;
  const auto machine = read_le<std::uint16_t>(bytes, 18);
  const auto abi = read_le<std::uint8_t>(bytes, 7);
  const auto flags = read_le<std::uint32_t>(bytes, 48);
  if (machine != machine_cuda || !abi || !flags) return 0;
  return *abi == 0x41 ? (*flags >> 8) & 0xffu : *flags & 0xffu;
}

bool runs_on(unsigned binary, unsigned capability) noexcept {
  return binary / 10 == capability / 10 && binary <= capability;
}

}  // namespace

std::size_t KernelImages::read_fat_binary(Bytes bytes) {
  constexpr std::uint16_t kind_ptx = 1;
  constexpr std::uint16_t kind_elf = 2;
  const auto head = read_le<std::uint16_t>(bytes, 6);
  const auto nbytes = read_le<std::uint64_t>(bytes, 8);
  if (!head || !nbytes || *head > bytes.size() || *nbytes > bytes.size() - *head) return 0;
  const auto size = static_cast<std::size_t>(*nbytes);
  Kernel kernel;
  for (Bytes rest = bytes.subspan(*head, size); !rest.empty();) {
    const auto kind = read_le<std::uint16_t>(rest, 0);
    const auto entry_head = read_le<std::uint32_t>(rest, 4);
    const auto entry_size = read_le<std::uint64_t>(rest, 8);
    const auto architecture = read_le<std::uint32_t>(rest, 28);
    if (!kind || !architecture || *entry_head < 32 || *entry_head > rest.size() ||
        *entry_size > rest.size() - *entry_head) {
      return 0;
    }
    if (*kind == kind_elf) kernel.binaries.push_back(*architecture);
    if (*kind == kind_ptx) kernel.ptx.push_back(*architecture);
    rest = rest.subspan(*entry_head + static_cast<std::size_t>(*entry_size));
  }
  if (!kernel.binaries.empty() || !kernel.ptx.empty()) kernels_.push_back(std::move(kernel));
  return *head + size;
}

KernelImages KernelImages::find(Bytes library) {
  // Linkers align both magic numbers to 4.
  constexpr std::size_t step = 4;
  KernelImages out;
  for (std::size_t at = 0; at + step <= library.size();) {
    const std::uint32_t mark = *read_le<std::uint32_t>(library, at);
    std::size_t nbytes = 0;
    if (mark == fat_binary_mark) {
      nbytes = out.read_fat_binary(library.subspan(at));
    } else if (mark == elf_mark) {
      const unsigned architecture = architecture_of_elf(library.subspan(at));
      if (architecture != 0) out.kernels_.push_back({{architecture}, {}});
    }
    at += std::max(step, (nbytes + step - 1) / step * step);
  }
  return out;
}

KernelImages::Fit KernelImages::fit(unsigned capability) const noexcept {
  Fit out = Fit::binary;
  for (const Kernel& kernel : kernels_) {
    if (std::ranges::any_of(kernel.binaries, [&](unsigned b) { return runs_on(b, capability); })) {
      continue;
    }
    if (std::ranges::none_of(kernel.ptx, [&](unsigned p) { return p <= capability; })) {
      return Fit::none;
    }
    out = Fit::ptx;
  }
  return out;
}

std::string KernelImages::text() const {
  std::set<unsigned> binaries;
  std::set<unsigned> ptx;
  for (const Kernel& kernel : kernels_) {
    binaries.insert(kernel.binaries.begin(), kernel.binaries.end());
    ptx.insert(kernel.ptx.begin(), kernel.ptx.end());
  }
  std::string out;
  for (const unsigned each : binaries) out += concat(out.empty() ? "" : ", ", "sm_", each);
  for (const unsigned each : ptx) {
    out += concat(out.empty() ? "" : ", ", "compute_", each, " (PTX)");
  }
  return out;
}

}  // namespace tenon::cuda_aoti
