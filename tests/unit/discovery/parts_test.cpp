// SPDX-License-Identifier: MIT
//
// The small parts of discovery: hashes, CPU features, near names, patterns.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tenon/host/cpu_features.hpp"
#include "tenon/host/file_descriptor.hpp"
#include "tenon/host/glob.hpp"
#include "tenon/host/near_names.hpp"
#include "tenon/host/quoted.hpp"
#include "tenon/host/sha256.hpp"

using namespace tenon;
using namespace tenon::host;
using namespace tenon::test;

namespace {

using Names = std::vector<std::string>;

std::string hash_of(std::string_view text) {
  return sha256_of(std::as_bytes(std::span(text.data(), text.size()))).to_hex();
}

Names near(std::string_view wanted, const Names& known, std::size_t at_most = 3) {
  return near_names(wanted, known, at_most);
}

const std::string v2_flags = "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3";
const std::string v3_flags = "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave";
const std::string v4_flags = "avx512f avx512bw avx512cd avx512dq avx512vl";

}  // namespace

TEST_CASE("SHA-256 is that of FIPS 180-4", "[discovery]") {
  CHECK(hash_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash_of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a file is hashed from its beginning and its position is not moved", "[discovery]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", std::string(1'000'000, 'a'));
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::lseek(file.get(), 10, SEEK_SET) == 10);
  const auto hash = sha256_of_file(file.get());
  REQUIRE(hash.ok());
  CHECK(hash->to_hex() == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK(::lseek(file.get(), 0, SEEK_CUR) == 10);

  const FileDescriptor written(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  CHECK(sha256_of_file(written.get()).error() == Error::AccessFailed);
  CHECK(sha256_of_file(-1).error() == Error::AccessFailed);
}

TEST_CASE("a hash is read in either case and nothing else is", "[discovery]") {
  const std::string text = hash_of("abc");
  std::string upper = text;
  for (char& c : upper) c = static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
  REQUIRE(parse_sha256(text).ok());
  CHECK(parse_sha256(upper)->to_hex() == text);
  CHECK_FALSE(*parse_sha256(text) == Sha256{});
  for (const std::string& wrong :
       {std::string(), text.substr(1), text + "0", "g" + text.substr(1), " " + text.substr(1)}) {
    CHECK(parse_sha256(wrong).error() == Error::InvalidArgument);
  }
  CHECK_THAT(std::string(parse_sha256("x" + text.substr(1)).text()),
             ContainsSubstring("found 'x' at position 0"));
}

TEST_CASE("CPU features of x86-64 are the kernel's names and the levels of the psABI",
          "[discovery]") {
  const auto level = [](const std::string& flags) {
    const CpuFeatures cpu = parse_cpuinfo("processor\t: 0\nflags\t\t: fpu sse2 " + flags + "\n");
    CHECK(cpu.has("fpu"));
    CHECK_FALSE(cpu.has("fp"));
    CHECK_FALSE(cpu.has(""));
    return cpu.has("x86-64-v4") ? 4 : cpu.has("x86-64-v3") ? 3 : cpu.has("x86-64-v2") ? 2 : 1;
  };
  const std::string v3 = v2_flags + " " + v3_flags;
  CHECK(level("") == 1);
  CHECK(level(v2_flags) == 2);
  CHECK(level(v3) == 3);
  CHECK(level(v3 + " " + v4_flags) == 4);
  // Each level needs all its flags, and the level below.
  for (std::string flags : {v2_flags, v3}) {
    for (std::size_t at = flags.find(' '); at != std::string::npos; at = flags.find(' ', at + 1)) {
      std::string without = flags;
      const std::size_t end = std::min(without.find(' ', at + 1), without.size());
      without.erase(at, end - at);
      CHECK(level(without + " " + v4_flags) < 4);
    }
  }
}

TEST_CASE("CPU features of other machines are read from their own lines", "[discovery]") {
  const CpuFeatures arm = parse_cpuinfo(
      "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd aes sve i8mm\nCPU part\t: 0xd40\n");
  CHECK(arm.has("asimd"));
  CHECK(arm.has("i8mm"));
  CHECK(arm.names().size() == 5);
  const CpuFeatures risc = parse_cpuinfo("hart\t: 0\nisa\t: rv64imafdcv_zba_zbb\nmmu\t: sv48\n");
  CHECK(risc.has("v"));
  CHECK(risc.has("zba"));
  CHECK_FALSE(risc.has("rv64"));
  for (const char* odd :
       {"", "\n\n", ":", ": x\n", "flags", "flags:", "isa: x86", "a\n:flags: x"}) {
    CHECK(parse_cpuinfo(odd).names().empty());
  }
}

TEST_CASE("only the first processor counts, and this machine has one", "[discovery]") {
  const CpuFeatures two = parse_cpuinfo("flags : a b\n\nflags : c\n");
  CHECK(two.has("a"));
  CHECK_FALSE(two.has("c"));
  const Names wanted{"x", "b", "y"};
  CHECK(two.missing(wanted) == Names{"x", "y"});
  const CpuFeatures& here = CpuFeatures::of_this_machine();
  CHECK(&here == &CpuFeatures::of_this_machine());
#if defined(__x86_64__)
  CHECK(here.has("sse2"));
#endif
}

TEST_CASE("names that somebody may have meant are found, the nearest first", "[discovery]") {
  const Names known{"CudaBackend", "CpuAotiBackend", "MetalBackend", "XnnpackBackend", "Add"};
  CHECK(near("CudaBakend", known) == Names{"CudaBackend"});
  CHECK(near("CudaBackedn", known).front() == "CudaBackend");
  CHECK(near("cudabackend", known).front() == "CudaBackend");
  CHECK(near("xnnpack", known) == Names{"XnnpackBackend"});
  CHECK(near("MetalBackendV2", known).front() == "MetalBackend");
  CHECK(near("Added", known) == Names{"Add"});
  CHECK(near("add", known) == Names{"Add"});
  CHECK(near("TotallyDifferentThing", known).empty());
  CHECK(near("", known).empty());
  CHECK(near("Add", {"Add"}).empty());
  CHECK(near("ab", {"cd"}).empty());
  CHECK(near(std::string(1000, 'x'), known).empty());
  CHECK(near("Cuda", {"Cuda1", "Cuda2", "Cuda3", "Cuda4"}, 2) == Names{"Cuda1", "Cuda2"});
}

TEST_CASE("a list of patterns matches whole names", "[discovery]") {
  CHECK(GlobList().empty());
  CHECK(GlobList(" , ,,").empty());
  CHECK_FALSE(GlobList("").matches(""));
  const GlobList list(" Cuda*,lib[a-c]?.so ,\tExact\n,a\\*b");
  CHECK(list.matches("CudaBackend"));
  CHECK(list.matches("Cuda"));
  CHECK_FALSE(list.matches("MyCuda"));
  CHECK(list.matches("libbx.so"));
  CHECK_FALSE(list.matches("libdx.so"));
  CHECK(list.matches("Exact"));
  CHECK_FALSE(list.matches("exact"));
  CHECK(list.matches("a*b"));
  CHECK_FALSE(list.matches("axb"));
  CHECK(GlobList("*").matches("a/b"));
}
