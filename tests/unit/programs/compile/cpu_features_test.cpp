// SPDX-License-Identifier: MIT
#include "cpu_features.hpp"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/aoti/library/code_places.hpp"
#include "tenon/core/concat.hpp"

namespace compile_cpu_features_test {

using namespace tenon;
using namespace tenon::compile;

/// An ELF file for `machine` with `code` in an executable segment.
std::vector<std::byte> library_for(std::uint16_t machine, const std::vector<std::byte>& code = {}) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = segment.p_memsz = code.size();
  std::vector<std::byte> out(segment.p_offset);
  std::memcpy(out.data(), &header, sizeof header);
  std::memcpy(out.data() + sizeof header, &segment, sizeof segment);
  out.insert(out.end(), code.begin(), code.end());
  return out;
}

/// Each byte is an instruction that needs the feature of this number in `x86_features`.
std::size_t decode_numbers(Bytes code, X86FeatureSet& needed) noexcept {
  needed.set(static_cast<std::size_t>(code.front()));
  return 1;
}

std::vector<std::byte> library_with(const std::vector<const char*>& features) {
  std::vector<std::byte> code;
  for (const char* const name : features) code.push_back(std::byte(*find_x86_feature(name)));
  return library_for(EM_X86_64, code);
}

std::optional<std::string> found(const std::vector<std::byte>& library,
                                 const std::optional<std::string>& list,
                                 aoti::DecodeX86 decode = &decode_numbers) {
  const auto features = find_cpu_features(library, list, decode);
  INFO(features.text());
  REQUIRE(features.ok());
  return *features;
}

std::string wrong(const std::vector<std::byte>& library, const char* list,
                  aoti::DecodeX86 decode = &decode_numbers) {
  const auto features = find_cpu_features(library, list, decode);
  REQUIRE(features.error() == Error::InvalidArgument);
  return std::string(features.text());
}

TEST_CASE("without a list, the instructions say which CPU features are needed",
          "[compile][aoti][processor]") {
  CHECK(found(library_with({"avx2", "sse2", "fma", "avx2"}), std::nullopt) == "fma,avx2");
  // All processors have the first level.
  CHECK(found(library_with({"sse2"}), std::nullopt) == "");
  CHECK(found(library_with({}), std::nullopt) == "");
}

TEST_CASE("what cannot be decoded needs nothing that is known", "[compile][aoti][processor]") {
  CHECK(found(library_with({"avx2"}), std::nullopt, nullptr) == std::nullopt);
  CHECK(found(library_for(EM_AARCH64, {std::byte{3}}), std::nullopt) == std::nullopt);
  CHECK(found({std::byte{0xcf}, std::byte{0xfa}}, std::nullopt) == std::nullopt);
}

TEST_CASE("a list of CPU features is taken, without repetitions, where it holds all that is needed",
          "[compile][aoti][processor]") {
  const auto library = library_with({"avx2", "fma", "sse2"});
  CHECK(found(library, "fma,avx2") == "fma,avx2");
  CHECK(found(library, "fma,,avx2,fma,") == "fma,avx2");
  CHECK(found(library, "avx2,fma,gfni") == "avx2,fma,gfni");
  CHECK(found(library, "x86-64-v3") == "x86-64-v3");
  CHECK(found(library, "x86-64-v2,avx2,fma") == "x86-64-v2,avx2,fma");
  CHECK(found(library_with({"sse2"}), "") == "");
  // Without a decoder it is believed.
  CHECK(found(library, "popcnt", nullptr) == "popcnt");
  CHECK(found(library_for(EM_AARCH64), "asimd,i8mm") == "asimd,i8mm");
  CHECK(found(library_for(EM_AARCH64), "") == "");
}

TEST_CASE("a list that lacks what the instructions need is refused by name",
          "[compile][aoti][processor]") {
  const auto library = library_with({"avx2", "fma", "gfni"});
  CHECK(wrong(library, "avx2") ==
        "--cpu-features 'avx2': expected all features that the library's instructions need; the "
        "list lacks fma, gfni");
  CHECK_THAT(wrong(library, "x86-64-v4"), ContainsSubstring("the list lacks gfni"));
  CHECK_THAT(wrong(library, "x86-64-v2,gfni"), ContainsSubstring("the list lacks fma, avx2"));
  CHECK_THAT(wrong(library, ""), ContainsSubstring("--cpu-features '': ") &&
                                     ContainsSubstring("the list lacks fma, avx2, gfni"));
}

TEST_CASE("a list with names that the library's machine does not have is refused",
          "[compile][aoti][processor]") {
  CHECK(wrong(library_with({}), "avx2,avx3") ==
        "--cpu-features 'avx2,avx3': expected CPU features of x86-64, which the library is for, as "
        "/proc/cpuinfo names them, or x86-64, x86-64-v2, x86-64-v3, x86-64-v4; found 'avx3'");
  CHECK_THAT(wrong(library_with({}), "i8mm"), ContainsSubstring("found 'i8mm' of arm64"));
  CHECK_THAT(wrong(library_with({}), "AVX2"), ContainsSubstring("found 'AVX2'"));
  CHECK_THAT(wrong(library_with({}), "x86-64-v5", nullptr), ContainsSubstring("found 'x86-64-v5'"));
  CHECK(wrong(library_for(EM_AARCH64), "asimd,avx2") ==
        "--cpu-features 'asimd,avx2': expected CPU features of arm64, which the library is for, as "
        "/proc/cpuinfo names them; found 'avx2' of x86-64");
  CHECK_THAT(wrong(library_for(EM_AARCH64), "x86-64-v3"),
             ContainsSubstring("found 'x86-64-v3' of x86-64"));
}

TEST_CASE("a list for a library whose features have no names is refused",
          "[compile][aoti][processor]") {
  constexpr const char* expected =
      "expected an ELF library for x86-64 or arm64, whose CPU features have names; found ";
  CHECK(wrong(library_for(EM_RISCV), "avx2") ==
        concat("--cpu-features 'avx2': ", expected, "one for machine 243"));
  CHECK(wrong({std::byte{0xcf}, std::byte{0xfa}, std::byte{0xed}, std::byte{0xfe}}, "") ==
        concat("--cpu-features '': ", expected, "no ELF file"));
}

}  // namespace compile_cpu_features_test
