// SPDX-License-Identifier: MIT
//
// The devices that the code in a library is for, and CudaBackend's verdict.
#include "driver/kernel_images.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cuda_host.hpp"
#include "tenon/host/method/check_blob.hpp"

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

/// A fat binary with images of 16 bytes, behind 8 bytes of something else.
std::vector<std::byte> library(const std::vector<std::pair<std::uint16_t, std::uint32_t>>& images) {
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
    entry.resize(28);
    append(entry, architecture);
    entry.resize(entry_head + 16);
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
  CudaHost host;
  auto bytes = std::make_shared<const AlignedBytes>(compiled_for(architecture));
  auto program = host::Program::from_bytes(bytes->bytes(), bytes, "edited");
  REQUIRE(program.ok());
  const auto data = host::MergedDataMap::create(*program, {});
  REQUIRE(data.ok());
  auto check = host::check_blob(*host.backend(), **program, "forward",
                                *(*(*program)->plan("forward"))->delegates()->Get(0), data->get());
  INFO(check.text());
  REQUIRE((check.ok() && check->has_value()));
  auto method = host.load(*program, "forward", {}, {});
  return {std::move(method).status(), **check};
}

}  // namespace

TEST_CASE("binaries are for their own generation of devices, PTX for later ones", "[cuda]") {
  const auto both = KernelImages::find(library({{binary, 80}, {binary, 90}, {ptx, 90}}));
  CHECK(both.text() == "sm_80, sm_90, compute_90 (PTX)");
  CHECK(both.fit(80) == Fit::binary);
  CHECK(both.fit(86) == Fit::binary);
  CHECK(both.fit(90) == Fit::binary);
  CHECK(both.fit(100) == Fit::ptx);
  CHECK(both.fit(75) == Fit::none);
  const auto newer = KernelImages::find(library({{binary, 89}}));
  CHECK(newer.fit(86) == Fit::none);
  CHECK(newer.fit(89) == Fit::binary);
}

TEST_CASE("the kernel that fits least decides", "[cuda]") {
  auto bytes = library({{binary, 90}, {ptx, 90}});
  const auto other = library({{ptx, 80}});
  bytes.insert(bytes.end(), other.begin(), other.end());
  const auto images = KernelImages::find(bytes);
  CHECK(images.fit(90) == Fit::ptx);
  CHECK(images.fit(80) == Fit::none);
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
