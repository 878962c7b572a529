// SPDX-License-Identifier: MIT
//
// The devices that the code in a library is for, and CudaBackend's verdict.
#include "driver/kernel_images.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cuda_host.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::cuda_aoti::KernelImages;
using Fit = KernelImages::Fit;

namespace {

constexpr std::uint32_t fat_binary_mark = 0xba55ed50;
constexpr std::uint16_t ptx = 1;
constexpr std::uint16_t binary = 2;

template <class Number>
void append(std::vector<std::byte>& out, Number number) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
  out.insert(out.end(), bytes, bytes + sizeof number);
}

constexpr int newest = 13040;

/// A fat binary with images of 16 bytes, behind 8 bytes of something else. PTX has version
/// `ptx_major`.`ptx_minor`, and binaries come from CUDA 13 or 12.
std::vector<std::byte> library(const std::vector<std::pair<std::uint16_t, std::uint32_t>>& images,
                               unsigned ptx_major = 9, unsigned ptx_minor = 0,
                               bool is_of_cuda_13 = true) {
  constexpr std::size_t entry_head = 64;
  std::vector<std::byte> out(8);
  append(out, fat_binary_mark);
  append(out, std::uint16_t{1});
  append(out, std::uint16_t{16});
  append(out, std::uint64_t{images.size() * (entry_head + 16)});
  for (const auto& [kind, architecture] : images) {
    std::vector<std::byte> entry;
    append(entry, kind);
    append(entry, std::uint16_t{0x101});
    append(entry, std::uint32_t{entry_head});
    append(entry, std::uint64_t{16});
    entry.resize(24);
    append(entry, static_cast<std::uint16_t>(kind == ptx ? ptx_minor : 8));
    append(entry, static_cast<std::uint16_t>(kind == ptx ? ptx_major : 1));
    append(entry, architecture);
    entry.resize(entry_head + 16);
    entry[entry_head + 7] = is_of_cuda_13 ? std::byte{0x41} : std::byte{0x33};
    out.insert(out.end(), entry.begin(), entry.end());
  }
  return out;
}

/// The bytes of a program after the architecture in its fat binaries was changed from 90.
AlignedBytes compiled_for(std::uint32_t architecture) {
  AlignedBytes file = read_file(TENON_TEST_FIXTURES "/cuda_addmul/model.pte");
  const auto bytes = file.bytes();
  long count = 0;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    if (*read_le<std::uint32_t>(bytes, at) != fat_binary_mark) continue;
    for (std::size_t entry = at + 16; read_le<std::uint32_t>(bytes, entry + 28) == 90u;) {
      patch(file, entry + 28, architecture);
      entry +=
          *read_le<std::uint32_t>(bytes, entry + 4) + *read_le<std::uint64_t>(bytes, entry + 8);
      ++count;
    }
  }
  REQUIRE(count == 2);  // A binary and PTX.
  return file;
}

struct Answer {
  Status loaded;
  host::BlobCheck check;
};

/// Loads the program and asks the backend to check it.
Answer load_and_check(std::uint32_t architecture) {
  CudaHost host({.num_devices = 2, .driver_version = newest});
  auto bytes = std::make_shared<const AlignedBytes>(compiled_for(architecture));
  auto program = host::Program::from_bytes(bytes->bytes(), bytes, "edited");
  REQUIRE(program.ok());
  const auto data = host::MergedDataMap::create(*program, {});
  REQUIRE(data.ok());
  auto check =
      host::check_blob(*host.backend(), **program, "forward",
                       *(*(*program)->plan("forward"))->delegates()->Get(0), (*data)->abi());
  INFO(check.text());
  REQUIRE((check.ok() && check->has_value()));
  auto method = host.load(*program, "forward", {}, {});
  return {std::move(method).status(), **check};
}

}  // namespace

TEST_CASE("binaries are for their own generation of devices, PTX for later ones", "[cuda]") {
  const auto both = KernelImages::find(library({{binary, 80}, {binary, 90}, {ptx, 90}}));
  CHECK(both.text() == "sm_80, sm_90, compute_90 (PTX)");
  CHECK(both.fit(80, newest) == Fit::binary);
  CHECK(both.fit(86, newest) == Fit::binary);
  CHECK(both.fit(90, newest) == Fit::binary);
  CHECK(both.fit(100, newest) == Fit::ptx);
  CHECK(both.fit(75, newest) == Fit::none);
  const auto newer = KernelImages::find(library({{binary, 89}}));
  CHECK(newer.fit(86, newest) == Fit::none);
  CHECK(newer.fit(89, newest) == Fit::binary);
}

TEST_CASE("the kernel that fits least decides", "[cuda]") {
  auto bytes = library({{binary, 90}, {ptx, 90}});
  const auto other = library({{ptx, 80}});
  bytes.insert(bytes.end(), other.begin(), other.end());
  const auto images = KernelImages::find(bytes);
  CHECK(images.fit(90, newest) == Fit::ptx);
  CHECK(images.fit(80, newest) == Fit::none);
}

TEST_CASE("a driver accepts PTX up to its own version and binaries up to its major version",
          "[cuda]") {
  struct {
    unsigned major;
    unsigned minor;
    int driver;
  } const versions[] = {{7, 0, 11000}, {7, 8, 11080}, {8, 0, 12000}, {8, 5, 12050},
                        {8, 8, 12090}, {9, 0, 13000}, {9, 4, 13040}};
  for (const auto& version : versions) {
    INFO(version.major << "." << version.minor);
    const auto images = KernelImages::find(library({{ptx, 90}}, version.major, version.minor));
    CHECK(images.driver_for(90) == version.driver);
    CHECK(images.fit(90, version.driver) == Fit::ptx);
    CHECK(images.fit(90, version.driver - 10) == Fit::old_driver);
    CHECK(images.fit(80, newest) == Fit::none);
  }
  const auto of_13 = KernelImages::find(library({{binary, 90}, {ptx, 90}}, 9, 4));
  CHECK(of_13.driver_for(90) == 13000);
  CHECK(of_13.fit(90, 13000) == Fit::binary);  // The PTX is not needed there.
  CHECK(of_13.fit(90, 12090) == Fit::old_driver);
  CHECK(of_13.driver_for(100) == 13040);
  const auto of_12 = KernelImages::find(library({{binary, 90}, {ptx, 90}}, 8, 4, false));
  CHECK(of_12.fit(90, 12000) == Fit::binary);
  CHECK(of_12.fit(100, 12040) == Fit::ptx);
  CHECK(of_12.fit(100, 12030) == Fit::old_driver);
}

TEST_CASE("files for a GPU are found without a fat binary around them", "[cuda]") {
  for (const auto& [abi, flags] : {std::pair{0x33, 0x5a055au}, std::pair{0x41, 0x6005a04u}}) {
    std::vector<std::byte> elf(64);
    std::memcpy(elf.data(),
                "\x7f"
                "ELF",
                4);
    elf[7] = static_cast<std::byte>(abi);
    elf[18] = std::byte{190};
    std::memcpy(elf.data() + 48, &flags, sizeof flags);
    CHECK(KernelImages::find(elf).text() == "sm_90");
    elf[18] = std::byte{62};
    CHECK(KernelImages::find(elf).empty());
  }
}

TEST_CASE("bytes that only begin like code for a GPU are passed over", "[cuda]") {
  const auto whole = library({{binary, 90}, {ptx, 90}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    const AlignedBytes part{std::span<const std::byte>(whole).first(size)};
    CHECK(KernelImages::find(part.bytes()).empty());
  }
  for (std::size_t i = 8; i < whole.size(); ++i) {
    auto edited = whole;
    edited[i] = std::byte{0xff};
    const AlignedBytes exact(edited);
    static_cast<void>(KernelImages::find(exact.bytes()));  // Reads nothing outside.
  }
}

TEST_CASE("a program for another device is refused with both named", "[cuda][TN-BLB-2]") {
  const auto fits = load_and_check(90);
  INFO(fits.loaded.text());
  CHECK(fits.loaded.ok());
  CHECK(fits.check.verdict == TENON_BLOB_OPTIMAL);

  const auto newer = load_and_check(100);
  CHECK(newer.loaded.error() == Error::DelegateInvalidCompatibility);
  CHECK(newer.check.verdict == TENON_BLOB_INCOMPATIBLE);
  for (const std::string& text : {std::string(newer.loaded.text()), newer.check.reason}) {
    CHECK_THAT(text, ContainsSubstring("the model's kernels are for sm_100, compute_100 (PTX); "
                                       "CUDA device 0 has compute capability 9.0"));
  }

  const auto older = load_and_check(80);
  CHECK(older.loaded.ok());
  CHECK(older.check.verdict == TENON_BLOB_USABLE);
  CHECK_THAT(older.check.reason,
             ContainsSubstring("the driver compiles the model's kernels when they are loaded"));
}
