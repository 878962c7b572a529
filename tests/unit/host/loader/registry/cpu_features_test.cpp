// SPDX-License-Identifier: MIT
//
// CPU features from texts as real machines write them, and from texts that none does.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/loader/impl/registry/cpu_features.hpp"

using namespace tenon;
using namespace tenon::host;

namespace {

using Names = std::vector<std::string>;

/// A server of 2019, two processors, with the lines that come before and after the flags.
constexpr std::string_view xeon =
    "processor\t: 0\n"
    "vendor_id\t: GenuineIntel\n"
    "cpu family\t: 6\n"
    "model name\t: Intel(R) Xeon(R) Gold 6252 CPU @ 2.10GHz\n"
    "fpu\t\t: yes\n"
    "wp\t\t: yes\n"
    "flags\t\t: fpu sse sse2 pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt xsave avx f16c lahf_lm "
    "abm bmi1 avx2 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl avx512_vnni\n"
    "vmx flags\t: vnmi preemption_timer\n"
    "bugs\t\t: spectre_v1 spectre_v2\n"
    "bogomips\t: 4200.00\n"
    "\n"
    "processor\t: 1\n"
    "flags\t\t: fpu only_the_second\n";

constexpr std::string_view arm_server =
    "processor\t: 0\n"
    "BogoMIPS\t: 243.75\n"
    "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics asimddp sve i8mm bf16\n"
    "CPU implementer\t: 0x41\n"
    "CPU architecture: 8\n"
    "\n";

constexpr std::string_view riscv_board =
    "processor\t: 0\n"
    "hart\t\t: 1\n"
    "isa\t\t: rv64imafdcv_zicbom_zba_zbb_sscofpmf\n"
    "mmu\t\t: sv39\n"
    "uarch\t\t: thead,c910\n"
    "\n";

std::set<std::string> names_of(std::string_view text) {
  const CpuFeatures cpu = parse_cpuinfo(text);
  return {cpu.names().begin(), cpu.names().end()};
}

std::string with_crlf(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

/// 1 to 4.
int level_of(const Names& flags) {
  std::string line = "flags\t\t:";
  for (const std::string& flag : flags) line += " " + flag;
  const CpuFeatures cpu = parse_cpuinfo(line + "\n");
  int level = 1;
  while (level < 4 && cpu.has(concat("x86-64-v", level + 1))) ++level;
  // A level is there with all below it, or not at all.
  for (int above = level + 2; above <= 4; ++above) CHECK_FALSE(cpu.has(concat("x86-64-v", above)));
  return level;
}

}  // namespace

TEST_CASE("the features of a recorded x86-64 server are its flags and its level", "[discovery]") {
  const CpuFeatures cpu = parse_cpuinfo(xeon);
  for (const char* name :
       {"sse2", "avx2", "fma", "avx512_vnni", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    CHECK(cpu.has(name));
  }
  for (const char* name : {"yes", "vnmi", "spectre_v1", "only_the_second", "avx51", "AVX2", "avx2 ",
                           "", "x86-64-v1", "x86-64-v5", "flags"}) {
    CHECK_FALSE(cpu.has(name));
  }
  CHECK(cpu.names().size() == 25 + 3);
}

TEST_CASE("each single flag that a level of x86-64 needs is needed", "[discovery]") {
  const Names levels[] = {
      {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
      {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"},
      {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
  };
  Names all;
  for (const Names& level : levels) all.insert(all.end(), level.begin(), level.end());
  REQUIRE(level_of(all) == 4);
  CHECK(level_of({}) == 1);
  int reached = 1;
  for (const Names& level : levels) {
    for (const std::string& flag : level) {
      Names without = all;
      std::erase(without, flag);
      INFO("without " << flag);
      CHECK(level_of(without) == reached);
    }
    ++reached;
  }
  std::ranges::reverse(all);
  CHECK(level_of(all) == 4);
}

TEST_CASE("the features of recorded arm64 and RISC-V machines are read", "[discovery]") {
  CHECK(names_of(arm_server) == std::set<std::string>{"fp", "asimd", "evtstrm", "aes", "pmull",
                                                      "sha1", "sha2", "crc32", "atomics", "asimddp",
                                                      "sve", "i8mm", "bf16"});
  CHECK(names_of(riscv_board) == std::set<std::string>{"i", "m", "a", "f", "d", "c", "v", "zicbom",
                                                       "zba", "zbb", "sscofpmf"});
  CHECK(names_of("isa\t: rv32imac\n") == std::set<std::string>{"i", "m", "a", "c"});
  CHECK(names_of("isa: rv64i_zba") == std::set<std::string>{"i", "zba"});
  CHECK(names_of("isa: rv64_zba__zbb_") == std::set<std::string>{"zba", "zbb"});
  for (const char* other : {"isa: rv64\n", "isa: rv128imac\n", "isa: RV64imac\n", "isa: _\n",
                            "isa:\n", "isa: mips32r2 mips64r2\n"}) {
    INFO(other);
    CHECK(names_of(other).empty());
  }
}

TEST_CASE("the bits that Linux gives a process on ARM have the names of /proc/cpuinfo",
          "[discovery]") {
  const auto sorted = [](Names names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  // A Neoverse N1 (Graviton 2), as both ways describe it.
  const CpuFeatures graviton = parse_cpuinfo(
      "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm "
      "lrcpc dcpop asimddp ssbs\n");
  CHECK(arm64_features(0x1011'9fff, 0).names() == graviton.names());
  CHECK(arm64_features(0, 0).names().empty());
  CHECK(arm64_features(std::uint64_t{1} << 22, 2).names() == sorted({"sve", "sve2"}));
  CHECK(arm64_features(0, 3 << 13).names() == sorted({"i8mm", "bf16"}));
  CHECK(arm64_features(0, std::uint64_t{1} << 37).names() == sorted({"sme2"}));
  CHECK(arm64_features(0, std::uint64_t{1} << 62).names() == sorted({"smesf8dp2"}));
  // Bits of kernels to come have no names, and all names differ.
  CHECK(arm64_features(std::uint64_t{1} << 63, std::uint64_t{1} << 63).names().empty());
  CHECK(arm64_features(~std::uint64_t{0}, ~std::uint64_t{0}).names().size() == 33 + 63);
  // A Cortex-A53 in 32-bit mode.
  CHECK(
      arm_features(0x003f'b0d6, 0x1f).names() ==
      sorted({"half", "thumb", "fastmult", "vfp", "edsp", "neon", "vfpv3", "tls", "vfpv4", "idiva",
              "idivt", "vfpd32", "lpae", "evtstrm", "aes", "pmull", "sha1", "sha2", "crc32"}));
  CHECK(arm_features(~std::uint64_t{0}, ~std::uint64_t{0}).names().size() == 28 + 7);
}

TEST_CASE("the line ends of another system are not part of a feature", "[discovery]") {
  for (const std::string_view text : {xeon, arm_server, riscv_board}) {
    REQUIRE_FALSE(names_of(text).empty());
    CHECK(names_of(with_crlf(text)) == names_of(text));
    CHECK(names_of(text.substr(0, text.find_last_not_of('\n') + 1)) == names_of(text));
  }
}

TEST_CASE("lines that only resemble features are passed over", "[discovery]") {
  for (const char* text : {"",
                           "\n",
                           ":",
                           ":\n",
                           ":flags: x\n",
                           ": flags: x\n",
                           "\t : x\n",
                           " :",
                           "flags",
                           "flags\n",
                           "flags:",
                           "flags : \t \n",
                           "flags x: y\n",
                           "xflags: y\n",
                           "Flags: y\n",
                           "features: y\n",
                           " flags: y\n",
                           "vmx flags: y\n",
                           "\r\n\r\n",
                           "model name\t: flags: x\n"}) {
    INFO(text);
    CHECK(names_of(text).empty());
  }
  // A line that says nothing does not end the search for a line that does.
  CHECK(names_of(":\nflags\nflags:\nflags: a\n") == std::set<std::string>{"a"});
  CHECK(names_of("flags: a:b\n") == std::set<std::string>{"a:b"});
  CHECK(names_of("flags:a\t b  c \t\n") == std::set<std::string>{"a", "b", "c"});
  CHECK(names_of(std::string_view("flags: a\0b\n", 11)) ==
        std::set<std::string>{std::string("a\0b", 3)});
}

TEST_CASE("what is missing keeps the order in which it was asked for", "[discovery]") {
  const CpuFeatures cpu({"b", "a", "b"});
  CHECK(cpu.names().size() == 2);
  CHECK(cpu.missing(Names{"z", "a", "y", "b", "z"}) == Names{"z", "y", "z"});
  CHECK(cpu.missing(Names{"a", "b"}).empty());
  CHECK(cpu.missing({}).empty());
  CHECK(CpuFeatures({}).missing(Names{"b", "a"}) == Names{"b", "a"});
}

TEST_CASE("this machine has what its architecture always has", "[discovery]") {
  const CpuFeatures& cpu = CpuFeatures::of_this_machine();
#if defined(__x86_64__)
  CHECK(cpu.has("sse2"));
#elif defined(__aarch64__) && defined(__linux__)
  CHECK(cpu.has("asimd"));
#elif defined(__aarch64__)
  CHECK(cpu.has("FEAT_FP16"));
#elif defined(__arm__) && defined(__linux__)
  CHECK(cpu.has("vfp"));
#endif
  CHECK_FALSE(cpu.has(""));
  for (const std::string& name : cpu.names()) {
    INFO(name);
    CHECK(name.find_first_of(" \t\r\n") == std::string::npos);
  }
}
