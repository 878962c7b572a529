// SPDX-License-Identifier: MIT
//
// libFuzzer target for every parser but that of programs (fuzz_program.cpp). The variable
// TENON_FUZZ_PARSER names one of them; without it the first byte of an input chooses. Any bytes
// must end with an error or a value.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "support/aligned_bytes.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"
#include "tenon/aot/compiler/pt2/sym_expression.hpp"
#include "tenon/aoti/library/model_library.hpp"
#include "tenon/aoti/payload.hpp"
#include "tenon/conformance/process/channel.hpp"
#include "tenon/conformance/report.hpp"
#include "tenon/host/arrays/npy.hpp"
#include "tenon/host/binary/binary_lint.hpp"
#include "tenon/host/binary/elf_library.hpp"
#include "tenon/host/binary/peek.hpp"
#include "tenon/host/registry/manifest.hpp"

namespace {

using namespace tenon;

using Bytes = std::span<const std::byte>;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Outcome>
void use(const Outcome& outcome) {
  // A failure has a text, which is what a user sees.
  if (!outcome.ok() && outcome.text().empty()) std::abort();
}

void manifest(Bytes bytes) { use(host::parse_manifest(text_of(bytes), "fuzz.json")); }

void npy(Bytes bytes) {
  // The limits on what a header may ask for are those of the file's size.
  use(host::parse_npy(bytes));
}

void elf(Bytes bytes) {
  use(host::peek(bytes, "fuzz.so"));
  const auto library = host::read_elf_library(bytes);
  use(library);
  if (library.ok() && host::lint_plugin(*library).empty()) std::abort();
}

void mach_o(Bytes bytes) {
  for (const std::uint32_t machine :
       {host::detail::macho::cpu_arm64, host::detail::macho::cpu_x86_64}) {
    use(host::peek(bytes, "fuzz.dylib", {host::BinaryFormat::mach_o, machine}));
  }
}

void model_library(Bytes bytes) {
  use(aoti::ModelLibrary::check(bytes, [](std::string_view) -> const void* { return nullptr; }));
}

void payload(Bytes bytes) {
  for (const bool named : {false, true}) use(aoti::parse_payload(text_of(bytes), "forward", named));
}

void channel(Bytes bytes) {
  for (const std::string_view secret : {"", "0123"}) {
    const auto content = conformance::read_channel(text_of(bytes), secret);
    if (content.done && secret.empty() && bytes.empty()) std::abort();
  }
}

void report(Bytes bytes) {
  use(conformance::report_from_json(text_of(bytes)));
  use(conformance::test_from_json(text_of(bytes)));
}

void expression(Bytes bytes) { use(aot::detail::SymExpression::parse(text_of(bytes))); }

void pt2(Bytes bytes) {
  // Archives are read from files, which are mapped.
  static const int file = ::memfd_create("fuzz.pt2", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  use(aot::read_pt2(path));
}

struct Parser {
  std::string_view name;
  void (*parse)(Bytes bytes);
};

constexpr Parser parsers[] = {
    {"manifest", &manifest}, {"npy", &npy},         {"elf", &elf},
    {"mach_o", &mach_o},     {"payload", &payload}, {"model_library", &model_library},
    {"channel", &channel},   {"report", &report},   {"expression", &expression},
    {"pt2", &pt2},
};

const Parser* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("TENON_FUZZ_PARSER");
  if (!name) return 0;
  for (const Parser& parser : parsers) {
    if (parser.name == name) chosen = &parser;
  }
  if (chosen) return 0;
  std::fprintf(stderr, "TENON_FUZZ_PARSER=%s: there are", name);
  for (const Parser& parser : parsers) std::fprintf(stderr, " %s", parser.name.data());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes = std::as_bytes(std::span(data, size));
  const Parser* parser = chosen;
  if (!parser) {
    if (bytes.empty()) return 0;
    parser = &parsers[static_cast<std::size_t>(bytes.front()) % std::size(parsers)];
    bytes = bytes.subspan(1);
  }
  // At an address that is aligned as that of a mapped file, with nothing to read behind its end.
  const test::AlignedBytes copy(bytes);
  parser->parse(copy.bytes());
  return 0;
}
