// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "parsers.hpp"
#include "support/aligned_bytes.hpp"
#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/lower/edge_program_text.hpp"
#include "tenon/aot/compiler/pt2/reader.hpp"
#include "tenon/aot/compiler/pt2/sym_expression.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::fuzz {

namespace {

using aot::detail::SymExpression;
using aot::detail::SymRange;

/// Data that the compiler would write to a file is no use here.
constexpr std::uint64_t largest_file = std::uint64_t{1} << 20;

/// What tenon-compile does without a backend. A program that is written can be opened.
void compile(const aot::Pt2Program& archive) {
  std::vector<aot::EdgeProgram> methods;
  for (const aot::Pt2Method& method : archive.methods) {
    if (aot::to_text(method.program.view()).empty()) std::abort();
    methods.push_back(method.program.view());
  }
  const auto compiled = aot::compile_methods(methods, {});
  use(compiled);
  if (!compiled.ok()) return;
  static const aot::EmitOptions options;
  const auto program = aot::emit(*compiled, options);
  use(program);
  if (!program.ok()) return;
  const auto image = aot::make_pte(*program);
  use(image);
  if (!image.ok() || image->size() > largest_file) return;
  const test::AlignedBytes file(image->bytes());
  const auto opened = host::Program::from_bytes(file.bytes(), nullptr, "written.pte");
  if (!opened.ok()) std::abort();
}

}  // namespace

void expression(std::span<std::byte> bytes) {
  const auto parsed = SymExpression::parse(text_of(bytes));
  use(parsed);
  if (!parsed.ok()) return;
  if (parsed->text().empty()) std::abort();
  for (const SymRange& range :
       {SymRange{}, SymRange{0, SymRange::highest}, SymRange{2, 1024}, SymRange::only(-1)}) {
    const SymRange found = parsed->range({{"s0", range}, {"s1", range}, {"u0", SymRange{}}});
    (void)SymRange::is_finite(found.min);
  }
}

void pt2(std::span<std::byte> bytes) {
  // Archives are read from files, which are mapped.
  static const int file = ::memfd_create("fuzz.pt2", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  const auto archive = aot::read_pt2(path);
  use(archive);
  if (archive.ok()) compile(*archive);
  use(aot::read_pt2(path, {}, aot::Pt2Content::Signature));
}

}  // namespace tenon::fuzz
