// SPDX-License-Identifier: MIT
#include "driver/kernel_images.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "tenon/core/result.hpp"

namespace tenon::cuda_aoti {

namespace {

/// Value of EI_OSABI from CUDA 13 on; until 12 it is 0x33.
constexpr std::uint8_t cuda_13_abi = 0x41;
constexpr int cuda_13 = 13000;

/// The oldest driver for PTX of a version: before 9.0 the two have their own numbers (PTX ISA,
/// "Release Notes", for 6.0 to 8.8), from 9.0 with CUDA 13.0 on they increase together.
constexpr int driver_for_ptx(unsigned major, unsigned minor) noexcept {
  constexpr int of_cuda[][2] = {{70, 11000}, {71, 11010}, {72, 11020}, {73, 11030}, {74, 11040},
                                {75, 11050}, {76, 11060}, {77, 11070}, {78, 11080}, {80, 12000},
                                {81, 12010}, {82, 12020}, {83, 12030}, {84, 12040}, {85, 12050},
                                {86, 12070}, {87, 12080}, {88, 12090}};
  if (major >= 9) return static_cast<int>((major + 4) * 1000 + minor * 10);
  int out = 0;
  for (const auto& [ptx, cuda] : of_cuda) {
    if (ptx <= static_cast<int>(major * 10 + minor)) out = cuda;
  }
  return out;
}

/// Architecture of an ELF file for a GPU at the beginning of `bytes`; 0 when there is none. Its
/// position in the flags depends on the version of the ABI.
unsigned architecture_of_elf(Bytes bytes) {
  const auto machine = read_le<std::uint16_t>(bytes, 18);
  const auto abi = read_le<std::uint8_t>(bytes, 7);
  const auto flags = read_le<std::uint32_t>(bytes, 48);
  if (machine != machine_cuda || !abi || !flags) return 0;
  return *abi == cuda_13_abi ? (*flags >> 8) & 0xffu : *flags & 0xffu;
}

/// The oldest driver for a file for a GPU.
int driver_for_elf(Bytes bytes) {
  return read_le<std::uint8_t>(bytes, 7) == cuda_13_abi ? cuda_13 : 0;
}

}  // namespace

bool KernelImages::Image::runs_on(unsigned capability) const noexcept {
  if (is_ptx) return architecture <= capability;
  return architecture / 10 == capability / 10 && architecture <= capability;
}

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
    const Bytes image = rest.subspan(*entry_head, static_cast<std::size_t>(*entry_size));
    // An entry has the version of its PTX: two bytes for each part, the minor one first.
    const auto minor = read_le<std::uint16_t>(rest, 24);
    const auto major = read_le<std::uint16_t>(rest, 26);
    if (*kind == kind_elf) kernel.push_back({*architecture, driver_for_elf(image), false});
    if (*kind == kind_ptx) kernel.push_back({*architecture, driver_for_ptx(*major, *minor), true});
    rest = rest.subspan(*entry_head + static_cast<std::size_t>(*entry_size));
  }
  if (!kernel.empty()) kernels_.push_back(std::move(kernel));
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
      const Bytes image = library.subspan(at);
      const unsigned architecture = architecture_of_elf(image);
      if (architecture != 0) out.kernels_.push_back({{architecture, driver_for_elf(image), false}});
    }
    at += std::max(step, (nbytes + step - 1) / step * step);
  }
  return out;
}

KernelImages KernelImages::of(Bytes fat_binary, std::string_view ptx) {
  KernelImages out = find(fat_binary);
  const auto number_after = [&](std::string_view text) {
    const std::size_t at = ptx.find(text);
    unsigned number = 0;
    if (at != ptx.npos) {
      std::from_chars(ptx.data() + at + text.size(), ptx.data() + ptx.size(), number);
    }
    return number;
  };
  const unsigned major = number_after("\n.version ");
  const unsigned minor = number_after(concat("\n.version ", major, "."));
  const unsigned architecture = number_after("\n.target sm_");
  if (architecture == 0) return out;
  const Image image{architecture, driver_for_ptx(major, minor), true};
  if (out.kernels_.empty()) out.kernels_.emplace_back();
  for (Kernel& kernel : out.kernels_) kernel.push_back(image);
  return out;
}

int KernelImages::driver_for(unsigned capability) const noexcept {
  int out = 1;
  for (const Kernel& kernel : kernels_) {
    int oldest = 0;
    for (const Image& image : kernel) {
      // Any driver that knows the device accepts an image with no version of its own.
      const int driver = std::max(image.driver, 1);
      if (image.runs_on(capability) && (oldest == 0 || driver < oldest)) oldest = driver;
    }
    if (oldest == 0) return 0;
    out = std::max(out, oldest);
  }
  return out;
}

KernelImages::Fit KernelImages::fit(unsigned capability, int driver) const noexcept {
  const int needed = driver_for(capability);
  if (needed == 0) return Fit::none;
  if (needed > driver) return Fit::old_driver;
  const auto is_compiled = [&](const Kernel& kernel) {
    return std::ranges::any_of(kernel, [&](const Image& image) {
      return !image.is_ptx && image.runs_on(capability) && image.driver <= driver;
    });
  };
  return std::ranges::all_of(kernels_, is_compiled) ? Fit::binary : Fit::ptx;
}

std::string KernelImages::text() const {
  std::set<unsigned> binaries;
  std::set<unsigned> ptx;
  for (const Kernel& kernel : kernels_) {
    for (const Image& image : kernel) (image.is_ptx ? ptx : binaries).insert(image.architecture);
  }
  std::string out;
  for (const unsigned each : binaries) out += concat(out.empty() ? "" : ", ", "sm_", each);
  for (const unsigned each : ptx) {
    out += concat(out.empty() ? "" : ", ", "compute_", each, " (PTX)");
  }
  return out;
}

}  // namespace tenon::cuda_aoti
