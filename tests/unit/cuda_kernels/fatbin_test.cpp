// SPDX-License-Identifier: MIT
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kernels.hpp"
#include "support/catch.hpp"

namespace kernels = tenon::cuda_aoti::kernels;

namespace {

constexpr bool built_with_nvcc = TENON_CUDA_KERNELS;

template <class T>
T read(std::string_view bytes, std::size_t at) {
  T value{};
  REQUIRE(at + sizeof value <= bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The code for each architecture. nvcc's container: a header (magic, version, its own size, the
/// size of what follows), then for each code a header (kind 1 PTX or 2 ELF, version, its own size,
/// the code's size; the architecture's number 28 bytes in) and the code. Taken from the output of
/// nvcc 13; NVIDIA documents cuobjdump, which not every toolkit has.
std::map<std::string, std::string_view> codes(std::string_view fatbin) {
  std::map<std::string, std::string_view> found;
  REQUIRE(read<std::uint32_t>(fatbin, 0) == 0xba55ed50u);
  std::size_t at = read<std::uint16_t>(fatbin, 6);
  const std::size_t end = at + read<std::uint64_t>(fatbin, 8);
  REQUIRE(end <= fatbin.size());
  while (at < end) {
    const auto kind = read<std::uint16_t>(fatbin, at);
    const auto header = read<std::uint32_t>(fatbin, at + 4);
    const auto size = read<std::uint64_t>(fatbin, at + 8);
    const auto architecture = read<std::uint32_t>(fatbin, at + 28);
    REQUIRE(size <= end - at - header);
    found[(kind == 1 ? "compute_" : "sm_") + std::to_string(architecture)] =
        fatbin.substr(at + header, size);
    at += header + size;
  }
  return found;
}

}  // namespace

TEST_CASE("every kernel is there for every architecture", "[cuda_kernels]") {
  for (const kernels::Module module : kernels::all_modules) {
    const std::span<const std::byte> bytes = kernels::fatbin(module);
    REQUIRE(bytes.empty() == !built_with_nvcc);
    if (!built_with_nvcc) return;
    CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 == 0);
    const auto found = codes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    std::set<std::string> architectures;
    for (const auto& [architecture, code] : found) {
      CAPTURE(architecture);
      architectures.insert(architecture);
      const bool is_elf = code.starts_with(
          "\x7f"
          "ELF");
      CHECK(is_elf == architecture.starts_with("sm_"));
      for (const char* name : kernels::functions(module)) {
        CAPTURE(name);
        const std::string entry =
            is_elf ? std::string(".text.") + name + '\0' : std::string(".entry ") + name + "(";
        CHECK(code.find(entry) != std::string_view::npos);
      }
    }
    CHECK(architectures.count("sm_80") + architectures.count("sm_90") == 2);
    // As far as nvcc knows them.
    architectures.erase("sm_100");
    architectures.erase("sm_120");
    CHECK(architectures == std::set<std::string>{"sm_80", "sm_90"});
  }
}

TEST_CASE("the module of copies is small", "[cuda_kernels]") {
  CHECK(kernels::fatbin(kernels::Module::copies).size() <=
        kernels::fatbin(kernels::Module::others).size() / 5);
}

TEST_CASE("every kernel is there as PTX that drivers for CUDA 11.8 accept", "[cuda_kernels]") {
  for (const kernels::Module module : kernels::all_modules) {
    const std::string_view ptx = kernels::ptx(module);
    REQUIRE(ptx.empty() == !built_with_nvcc);
    if (!built_with_nvcc) return;
    // The assembler of the build made the binaries from it, so it holds nothing newer.
    CHECK(ptx.find("\n.version 7.8\n") != ptx.npos);
    CHECK(ptx.find("\n.target sm_80\n") != ptx.npos);
    CHECK(ptx.data()[ptx.size()] == '\0');
    for (const char* name : kernels::functions(module)) {
      CAPTURE(name);
      CHECK(ptx.find(std::string(".entry ") + name + "(") != ptx.npos);
    }
  }
}

TEST_CASE("kernels have names of their own", "[cuda_kernels]") {
  std::set<std::string> names;
  for (const kernels::Module module : kernels::all_modules) {
    for (const char* name : kernels::functions(module)) CHECK(names.insert(name).second);
  }
  CHECK(names.size() == 5 * 4 + 4 + 2 * 3 + 6);
}
