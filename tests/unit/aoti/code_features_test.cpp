// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/instruction_decoder.hpp"
#include "models.hpp"
#include "support/catch.hpp"
#include "tenon/aoti/library/isa_sets.hpp"
#include "tenon/core/arm64_features.hpp"

using namespace tenon;
using namespace tenon::aoti;
using namespace tenon::test;

namespace {

std::vector<std::byte> bytes_of_hex(std::string_view text) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 3) {
    out.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

X86FeatureSet set_of(std::string_view names) {
  X86FeatureSet out;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    const auto place = find_x86_feature(names.substr(0, end));
    REQUIRE(place);
    out.set(*place);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return out;
}

std::string text_of(const X86FeatureSet& set) {
  std::string out;
  for (std::size_t i = 0; i < std::size(x86_features); ++i) {
    if (set.test(i)) out += (out.empty() ? "" : ",") + std::string(x86_features[i].name);
  }
  return out;
}

/// An ELF file with tables of segments and sections, and `size` bytes of `content` after them.
std::vector<std::byte> elf_with(const std::vector<Elf64_Phdr>& segments,
                                const std::vector<Elf64_Shdr>& sections, std::size_t size,
                                std::byte content = std::byte{0x90}) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(segments.size());
  header.e_shoff = header.e_phoff + segments.size() * sizeof(Elf64_Phdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections.size());
  const std::size_t begin = header.e_shoff + sections.size() * sizeof(Elf64_Shdr);
  std::vector<std::byte> out(begin + size, content);
  std::memcpy(out.data(), &header, sizeof header);
  if (!segments.empty()) {
    std::memcpy(out.data() + header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr));
  }
  if (!sections.empty()) {
    std::memcpy(out.data() + header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  }
  return out;
}

Elf64_Phdr code_segment(std::uint64_t offset, std::uint64_t size) {
  Elf64_Phdr out{};
  out.p_type = PT_LOAD;
  out.p_flags = PF_R | PF_X;
  out.p_offset = offset;
  out.p_filesz = out.p_memsz = size;
  return out;
}

Elf64_Shdr section(std::uint64_t offset, std::uint64_t size, std::uint64_t flags) {
  Elf64_Shdr out{};
  out.sh_type = SHT_PROGBITS;
  out.sh_flags = flags;
  out.sh_offset = offset;
  out.sh_size = size;
  return out;
}

std::size_t num_bytes(const std::vector<Bytes>& places) {
  std::size_t out = 0;
  for (const Bytes place : places) out += place.size();
  return out;
}

std::size_t num_decoded = 0;

/// Each byte is an instruction, and 0x62 one of AVX-512.
std::size_t decode_bytes(Bytes code, X86FeatureSet& needed) noexcept {
  ++num_decoded;
  if (code.front() == std::byte{0x62}) needed.set(*find_x86_feature("avx512f"));
  return 1;
}

std::size_t decode_nothing(Bytes, X86FeatureSet&) noexcept {
  ++num_decoded;
  return 0;
}

std::size_t decode_too_much(Bytes code, X86FeatureSet&) noexcept {
  ++num_decoded;
  return code.size() + 1000;
}

}  // namespace

TEST_CASE("each feature of x86-64 has one name, one bit, and a level as the psABI has it",
          "[aoti][processor]") {
  std::set<std::string_view> names;
  std::set<std::string> bits;
  for (const X86Feature& feature : x86_features) {
    INFO(feature.name);
    CHECK(names.insert(feature.name).second);
    CHECK(bits.insert(concat(static_cast<int>(feature.leaf), "/", static_cast<int>(feature.where),
                             "/", static_cast<int>(feature.bit)))
              .second);
    CHECK(feature.bit < 32);
    // The registers of AVX and AVX-512 are saved by the system.
    const bool is_wide = feature.name.starts_with("avx512");
    CHECK(is_wide == (feature.state == X86State::avx512));
    CHECK(feature.name.starts_with("amx") == (feature.state == X86State::amx));
  }
  CHECK(text_of(x86_features_of_level(2) & ~x86_features_of_level(1)) ==
        "pni,ssse3,cx16,sse4_1,sse4_2,popcnt,lahf_lm");
  CHECK(text_of(x86_features_of_level(3) & ~x86_features_of_level(2)) ==
        "fma,movbe,xsave,avx,f16c,bmi1,avx2,bmi2,abm");
  CHECK(text_of(x86_features_of_level(4) & ~x86_features_of_level(3)) ==
        "avx512f,avx512dq,avx512cd,avx512bw,avx512vl");
  CHECK(x86_level_of_code({}) == 1);
  CHECK(x86_level_of_code(set_of("avx512_vnni,popcnt")) == 2);
  CHECK(x86_level_of_processor(x86_features_of_level(4)) == 4);
  CHECK(x86_level_of_processor(x86_features_of_level(4) & ~set_of("movbe")) == 2);
  CHECK(x86_level_of_processor({}) == 1);
}

TEST_CASE("each group of instructions needs features that exist", "[aoti][processor]") {
  std::set<std::string_view> names;
  X86FeatureSet reached = x86_features_of_level(1);
  for (const IsaSet& set : isa_sets) {
    INFO(set.name);
    CHECK(names.insert(set.name).second);
    for (const std::string_view feature : set.features) {
      if (!feature.empty()) CHECK(find_x86_feature(feature));
    }
    const auto found = features_of_isa_set(set.name);
    REQUIRE(found);
    CHECK(found->any());
    reached |= *found;
  }
  reached |= *features_of_isa_set("AVX512F_128");
  // Each feature is one of some group.
  CHECK(text_of(~reached).empty());
  for (const std::string_view name : isa_sets_without_feature) {
    INFO(name);
    CHECK(names.insert(name).second);
    CHECK(features_of_isa_set(name) == X86FeatureSet());
  }
  CHECK(text_of(*features_of_isa_set("AVX512BW_256")) == "avx512f,avx512bw,avx512vl");
  CHECK(text_of(*features_of_isa_set("AVX512BW_128N")) == "avx512f,avx512bw");
  CHECK(text_of(*features_of_isa_set("AVX512F_SCALAR")) == "avx512f");
  CHECK_FALSE(features_of_isa_set("AVX1024"));
}

#if defined(__x86_64__)
TEST_CASE("the features of this processor are those that the compiler's library finds",
          "[aoti][processor]") {
#define CHECK_FEATURE(ours, theirs) \
  INFO(theirs);                     \
  CHECK(cpu_supports(ours) == (__builtin_cpu_supports(theirs) != 0))
  CHECK_FEATURE("pni", "sse3");
  CHECK_FEATURE("ssse3", "ssse3");
  CHECK_FEATURE("sse4_1", "sse4.1");
  CHECK_FEATURE("sse4_2", "sse4.2");
  CHECK_FEATURE("popcnt", "popcnt");
  CHECK_FEATURE("aes", "aes");
  CHECK_FEATURE("pclmulqdq", "pclmul");
  CHECK_FEATURE("avx", "avx");
  CHECK_FEATURE("avx2", "avx2");
  CHECK_FEATURE("fma", "fma");
  CHECK_FEATURE("bmi1", "bmi");
  CHECK_FEATURE("bmi2", "bmi2");
  CHECK_FEATURE("sse4a", "sse4a");
  CHECK_FEATURE("fma4", "fma4");
  CHECK_FEATURE("xop", "xop");
  CHECK_FEATURE("avx512f", "avx512f");
  CHECK_FEATURE("avx512vl", "avx512vl");
  CHECK_FEATURE("avx512bw", "avx512bw");
  CHECK_FEATURE("avx512dq", "avx512dq");
  CHECK_FEATURE("avx512cd", "avx512cd");
  CHECK_FEATURE("avx512vbmi", "avx512vbmi");
  CHECK_FEATURE("avx512_vbmi2", "avx512vbmi2");
  CHECK_FEATURE("avx512_vnni", "avx512vnni");
  CHECK_FEATURE("avx512_bitalg", "avx512bitalg");
  CHECK_FEATURE("avx512ifma", "avx512ifma");
  CHECK_FEATURE("avx512_vpopcntdq", "avx512vpopcntdq");
  CHECK_FEATURE("gfni", "gfni");
  CHECK_FEATURE("vpclmulqdq", "vpclmulqdq");
#undef CHECK_FEATURE
  CHECK(cpu_supports("x86-64"));
  CHECK(cpu_supports("x86-64-v4") == (x86_level_of_processor(read_x86_features()) == 4));
  CHECK_FALSE(cpu_supports("no_such_feature"));
  CHECK_FALSE(cpu_supports(""));
}

TEST_CASE("the features of one instruction of each kind are found", "[aoti][processor]") {
  const DecodeX86 decode = aoti_common::instruction_decoder();
  if (!decode) {
    WARN("left out: Zydis is not here");
    return;
  }
  struct Instruction {
    const char* text;
    const char* bytes;  ///< As GNU as writes them.
    const char* features;
  };
  const Instruction instructions[] = {
      {"addsubpd %xmm1,%xmm0", "66 0f d0 c1", "pni"},
      {"pshufb %xmm1,%xmm0", "66 0f 38 00 c1", "ssse3"},
      {"pmulld %xmm1,%xmm0", "66 0f 38 40 c1", "sse4_1"},
      {"pcmpgtq %xmm1,%xmm0", "66 0f 38 37 c1", "sse4_2"},
      {"crc32b %al,%ecx", "f2 0f 38 f0 c8", "sse4_2"},
      {"popcnt %rax,%rcx", "f3 48 0f b8 c8", "popcnt"},
      {"lzcnt %rax,%rcx", "f3 48 0f bd c8", "abm"},
      {"movbe (%rax),%rcx", "48 0f 38 f0 08", "movbe"},
      {"andn %rax,%rcx,%rdx", "c4 e2 f0 f2 d0", "bmi1"},
      {"shlx %rax,%rcx,%rdx", "c4 e2 f9 f7 d1", "bmi2"},
      {"adcx %rax,%rcx", "66 48 0f 38 f6 c8", "adx"},
      {"vaddps %ymm0,%ymm1,%ymm2", "c5 f4 58 d0", "avx"},
      {"vpaddd %ymm0,%ymm1,%ymm2", "c5 f5 fe d0", "avx2"},
      {"vpgatherdd %ymm0,(%rax,%ymm1),%ymm2", "c4 e2 7d 90 14 08", "avx2"},
      {"vfmadd231ps %ymm0,%ymm1,%ymm2", "c4 e2 75 b8 d0", "fma"},
      {"vcvtph2ps %xmm0,%ymm1", "c4 e2 7d 13 c8", "f16c"},
      {"aesenc %xmm1,%xmm0", "66 0f 38 dc c1", "aes"},
      {"pclmulqdq $1,%xmm1,%xmm0", "66 0f 3a 44 c1 01", "pclmulqdq"},
      {"sha256msg1 %xmm1,%xmm0", "0f 38 cc c1", "sha_ni"},
      {"gf2p8mulb %xmm1,%xmm0", "66 0f 38 cf c1", "gfni"},
      {"vgf2p8mulb %ymm0,%ymm1,%ymm2", "c4 e2 75 cf d0", "gfni,avx"},
      {"vaesenc %ymm0,%ymm1,%ymm2", "c4 e2 75 dc d0", "vaes,avx"},
      {"vpclmulqdq $1,%ymm0,%ymm1,%ymm2", "c4 e3 75 44 d0 01", "vpclmulqdq,avx"},
      {"{vex} vpdpbusd %ymm0,%ymm1,%ymm2", "c4 e2 75 50 d0", "avx_vnni"},
      {"vaddps %zmm0,%zmm1,%zmm2", "62 f1 74 48 58 d0", "avx512f"},
      {"vaddps %ymm16,%ymm1,%ymm2", "62 b1 74 28 58 d0", "avx512f,avx512vl"},
      {"vmovdqu8 %ymm0,%ymm16", "62 e1 7f 28 6f c0", "avx512f,avx512bw,avx512vl"},
      {"kmovq %rax,%k1", "c4 e1 fb 92 c8", "avx512f,avx512bw"},
      {"vpmullq %zmm0,%zmm1,%zmm2", "62 f2 f5 48 40 d0", "avx512f,avx512dq"},
      {"vplzcntd %zmm0,%zmm1", "62 f2 7d 48 44 c8", "avx512f,avx512cd"},
      {"vpmadd52luq %zmm0,%zmm1,%zmm2", "62 f2 f5 48 b4 d0", "avx512f,avx512ifma"},
      {"vpermb %zmm0,%zmm1,%zmm2", "62 f2 75 48 8d d0", "avx512f,avx512vbmi"},
      {"vpcompressb %zmm0,%zmm1", "62 f2 7d 48 63 c1", "avx512f,avx512_vbmi2"},
      {"vpdpbusd %zmm0,%zmm1,%zmm2", "62 f2 75 48 50 d0", "avx512f,avx512_vnni"},
      {"vpopcntb %zmm0,%zmm1", "62 f2 7d 48 54 c8", "avx512f,avx512_bitalg"},
      {"vpopcntd %zmm0,%zmm1", "62 f2 7d 48 55 c8", "avx512f,avx512_vpopcntdq"},
      {"vdpbf16ps %zmm0,%zmm1,%zmm2", "62 f2 76 48 52 d0", "avx512f,avx512_bf16"},
      {"vaddph %zmm0,%zmm1,%zmm2", "62 f5 74 48 58 d0", "avx512f,avx512_fp16"},
      {"vp2intersectd %zmm0,%zmm1,%k0", "62 f2 77 48 68 c0", "avx512f,avx512_vp2intersect"},
      {"ldtilecfg (%rax)", "c4 e2 78 49 00", "amx_tile"},
      {"tdpbssd %tmm0,%tmm1,%tmm2", "c4 e2 7b 5e d1", "amx_tile,amx_int8"},
      {"tdpbf16ps %tmm0,%tmm1,%tmm2", "c4 e2 7a 5c d1", "amx_tile,amx_bf16"},
      {"vfrczps %ymm0,%ymm1", "8f e9 7c 80 c8", "xop"},
      {"vfmaddps %ymm0,%ymm1,%ymm2,%ymm3", "c4 e3 ed 68 d8 10", "fma4"},
      {"blcfill %eax,%ecx", "8f e9 70 01 c8", "tbm"},
      {"extrq %xmm1,%xmm0", "66 0f 79 c1", "sse4a"},
      {"clwb (%rax)", "66 0f ae 30", "clwb"},
      {"clflushopt (%rax)", "66 0f ae 38", "clflushopt"},
      {"movdiri %rax,(%rcx)", "48 0f 38 f9 01", "movdiri,movdir64b"},
      {"serialize", "0f 01 e8", "serialize"},
      {"tpause %eax", "66 0f ae f0", "waitpkg"},
      {"rdrand %eax", "0f c7 f0", "rdrand"},
      {"rdseed %eax", "0f c7 f8", "rdseed"},
      {"rdfsbase %rax", "f3 48 0f ae c0", "fsgsbase"},
      {"xbegin .", "c7 f8 fa ff ff ff", "rtm"},
      {"cmpxchg16b (%rax)", "48 0f c7 08", "cx16"},
      {"lahf", "9f", "lahf_lm"},
      {"addps %xmm1,%xmm0", "0f 58 c1", ""},
      {"tzcnt %rax,%rcx", "f3 48 0f bc c8", ""},
      {"endbr64", "f3 0f 1e fa", ""},
      {"pause", "f3 90", ""},
      {"prefetchw (%rax)", "0f 0d 08", ""},
      {"ud2", "0f 0b", ""},
  };
  for (const Instruction& one : instructions) {
    INFO(one.text);
    const auto bytes = bytes_of_hex(one.bytes);
    X86FeatureSet needed;
    CHECK(decode(bytes, needed) == bytes.size());
    CHECK(text_of(needed) == text_of(set_of(one.features)));
    // Cut off, it is no such instruction.
    if (bytes.size() > 1) CHECK(decode(Bytes(bytes).first(bytes.size() - 1), needed) == 0);
  }
}

TEST_CASE("each group of instructions that the decoder knows has a place in our tables",
          "[aoti][processor]") {
  void* const zydis = ::dlopen("libZydis.so", RTLD_NOW | RTLD_LOCAL);
  if (!zydis) {
    WARN("left out: libZydis.so is not here");
    return;
  }
  using NameOf = const char*(unsigned);
  auto* const name_of = reinterpret_cast<NameOf*>(::dlsym(zydis, "ZydisISASetGetString"));
  REQUIRE(name_of);
  unsigned count = 0;
  while (const char* const name = name_of(count)) {
    INFO(name);
    CHECK(features_of_isa_set(name));
    ++count;
  }
  CHECK(count > 150);
  ::dlclose(zydis);
}
#endif

TEST_CASE("code is what a library's executable segments have, without data", "[aoti][processor]") {
  const std::size_t tables = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 3 * sizeof(Elf64_Shdr);
  Elf64_Phdr data = code_segment(tables + 300, 100);
  data.p_flags = PF_R;
  const auto file = elf_with(
      {code_segment(tables, 300), data},
      {section(tables, 100, SHF_ALLOC | SHF_EXECINSTR), section(tables + 100, 50, SHF_ALLOC),
       section(tables + 150, 150, SHF_ALLOC | SHF_EXECINSTR)},
      400);
  const auto places = code_places(file);
  REQUIRE(places.size() == 2);
  CHECK(places[0].size() == 100);
  CHECK(places[1].size() == 150);
  CHECK(places[1].data() == file.data() + tables + 150);
}

TEST_CASE("code of a hostile library is read once at most", "[aoti][processor]") {
  const std::size_t size = 5000;
  SECTION("thousands of segments that are the whole file") {
    const auto file = elf_with(std::vector(4000, code_segment(0, ~std::uint64_t{0})), {}, size);
    CHECK(num_bytes(code_places(file)) == file.size());
    num_decoded = 0;
    CHECK(decode_library(file, &decode_nothing).is_known);
    CHECK(num_decoded == file.size());
  }
  SECTION("segments and sections far outside") {
    const auto file =
        elf_with({code_segment(~std::uint64_t{0}, ~std::uint64_t{0}), code_segment(1u << 30, 7)},
                 {section(~std::uint64_t{0}, ~std::uint64_t{0}, SHF_ALLOC)}, size);
    CHECK(num_bytes(code_places(file)) == 0);
  }
  SECTION("a table of sections that is cut off is not used") {
    auto file = elf_with({code_segment(0, 1000)}, {section(0, 1000, SHF_ALLOC)}, size);
    CHECK(num_bytes(code_places(file)) == 0);
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    header.e_shnum = 60000;
    std::memcpy(file.data(), &header, sizeof header);
    CHECK(num_bytes(code_places(file)) == 1000);
    header.e_shoff = ~std::uint64_t{0};
    std::memcpy(file.data(), &header, sizeof header);
    CHECK(num_bytes(code_places(file)) == 1000);
    header.e_phoff = file.size() - 1;
    std::memcpy(file.data(), &header, sizeof header);
    CHECK(code_places(file).empty());
  }
  SECTION("bytes that are no instruction") {
    const auto file = elf_with({code_segment(500, 1000)}, {}, size);
    num_decoded = 0;
    CHECK(decode_library(file, &decode_nothing).is_known);
    CHECK(num_decoded == 1000);
  }
  SECTION("a decoder that reads beyond the end") {
    const auto file = elf_with({code_segment(500, 1000)}, {}, size);
    num_decoded = 0;
    CHECK(decode_library(file, &decode_too_much).is_known);
    CHECK(num_decoded == 1);
  }
  SECTION("no ELF file at all, and one that is cut off anywhere") {
    CHECK_FALSE(decode_library({}, &decode_bytes).is_known);
    const auto file = elf_with({code_segment(0, 200)}, {section(0, 10, SHF_ALLOC)}, 10);
    for (std::size_t n = 0; n <= file.size(); ++n) {
      const auto found = decode_library(Bytes(file).first(n), &decode_bytes);
      CHECK(found.is_known == (n >= sizeof(Elf64_Ehdr)));
    }
  }
}

TEST_CASE("a library is decoded once, and the last ones are remembered", "[aoti][processor]") {
  DecodedLibraries libraries;
  const auto library = [](int number) {
    auto file = elf_with({code_segment(0, 1000)}, {}, 1000);
    std::memcpy(file.data() + 800, &number, sizeof number);
    return file;
  };
  const auto wide = elf_with({code_segment(200, 100)}, {}, 1000, std::byte{0x62});
  CHECK(libraries.get(wide, &decode_bytes).names == std::vector<std::string>{"avx512f"});
  num_decoded = 0;
  CHECK(libraries.get(wide, &decode_bytes).names == std::vector<std::string>{"avx512f"});
  CHECK(num_decoded == 0);
  // Another decoder is another answer.
  CHECK(libraries.get(wide, &decode_nothing).names.empty());
  CHECK(num_decoded == 100);
  for (int i = 0; i < static_cast<int>(DecodedLibraries::capacity); ++i) {
    CHECK(libraries.get(library(i), &decode_bytes).is_known);
  }
  num_decoded = 0;
  CHECK(libraries.get(library(63), &decode_bytes).is_known);
  CHECK(libraries.get(library(0), &decode_bytes).is_known);
  CHECK(num_decoded == 0);
  CHECK(libraries.get(wide, &decode_bytes).is_known);
  CHECK(num_decoded == 100);
  CHECK_FALSE(libraries.get(wide, nullptr).is_known);
}

TEST_CASE("features that a program names are added to those that were found", "[aoti][processor]") {
  CodeFeatures features{false, {"avx2"}};
  REQUIRE(add_named_features("fma,avx2,,x86-64-v3,fma", features).ok());
  CHECK(features.is_known);
  CHECK(features.names == std::vector<std::string>{"avx2", "fma", "x86-64-v3"});
  CodeFeatures none;
  CHECK(add_named_features("", none).ok());
  CHECK(none.is_known);
  CHECK(none.names.empty());
  CodeFeatures bad;
  CHECK_THAT(std::string(add_named_features("avx2 fma", bad).text()),
             ContainsSubstring("expected names with commas between them, found byte 32 at 4"));
  CHECK_THAT(std::string(add_named_features(std::string(5000, 'a'), bad).text()),
             ContainsSubstring("expected at most 4096 bytes, found 5000"));
  CHECK_FALSE(bad.is_known);
}

TEST_CASE("what the instructions need is refused by name, with the levels", "[aoti][processor]") {
  AlignedBytes file = stand_in("good");
  const auto editor = ElfEditor::open(file.bytes());
  REQUIRE(editor.ok());
  const auto haswell = [](std::string_view feature) noexcept {
    const auto place = find_x86_feature(feature);
    return place && x86_features_of_level(3).test(*place);
  };
  const auto text = [&](const CodeFeatures& features) {
    const auto found = check_requirements(*editor, &find_host_shim, haswell, {}, features);
    REQUIRE(found.ok());
    return found->met() ? std::string() : found->text();
  };
  CHECK(text({true, {"avx2", "fma"}}).empty());
#if defined(__x86_64__)
  CHECK(text({true, {"avx2", "avx512bw", "avx512vl", "avx512bw"}}) ==
        "the model needs what is missing here: 2 CPU features: avx512bw, avx512vl (the model was "
        "compiled for x86-64-v4; this processor has x86-64-v3)");
  CHECK(text({true, {"x86-64-v4"}}) ==
        "the model needs what is missing here: 1 CPU feature: x86-64-v4 (the model was compiled "
        "for x86-64-v4; this processor has x86-64-v3)");
#endif
  CHECK(text({true, {"avx_vnni"}}) ==
        "the model needs what is missing here: 1 CPU feature: avx_vnni");
}

TEST_CASE("features of arm64 are found by the bits that Linux gives", "[aoti][processor]") {
  CHECK(arm64_has("fp", 1, 0));
  CHECK_FALSE(arm64_has("asimd", 1, 0));
  CHECK(arm64_has("asimddp", 1u << 20, 0));
  CHECK(arm64_has("gcs", std::uint64_t{1} << 32, 0));
  CHECK(arm64_has("i8mm", 0, 1u << 13));
  CHECK_FALSE(arm64_has("i8mm", ~std::uint64_t{0}, 0));
  CHECK_FALSE(arm64_has("no_such_feature", ~std::uint64_t{0}, ~std::uint64_t{0}));
  CHECK_FALSE(arm64_has("", ~std::uint64_t{0}, ~std::uint64_t{0}));
}
