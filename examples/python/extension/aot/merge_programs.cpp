// SPDX-License-Identifier: MIT
#include "module.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../interpreter.hpp"
#include "tenon/aot/compiler/variants/read_program.hpp"
#include "tenon/aot/compiler/variants/variants.hpp"
#include "tenon/aot/compiler/write/pte_writer.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace nb = nanobind;

namespace tenon::python {

namespace {

/// The program at a path, which is a text, or in `bytes`, which are copied.
std::shared_ptr<const host::Program> open(nb::handle source) {
  if (nb::isinstance<nb::str>(source)) {
    return take(host::Variants::open(std::filesystem::path(nb::cast<std::string>(source))));
  }
  const auto bytes = nb::cast<nb::bytes>(source);
  const auto* const first = static_cast<const std::byte*>(bytes.data());
  const auto owner = std::make_shared<std::vector<std::byte>>(first, first + bytes.size());
  auto program = take(host::Program::from_bytes(*owner, owner, "<bytes>"));
  static_cast<void>(take(host::Variants::of(*program)));
  return program;
}

void write(const std::string& path, const Result<aot::ProgramData>& described,
           std::uint64_t alignment) {
  aot::PteOptions options;
  options.segment_alignment = alignment;
  if (!described.ok()) raise(error(described.error(), described.text()));
  const Status written = [&] {
    const ReleasedGil released;
    return aot::write_pte(*described, std::filesystem::path(path), options);
  }();
  if (!written.ok()) raise(written);
}

/// A name, a program and a priority each.
void merge_variants(const std::string& path, const nb::list& given) {
  std::vector<aot::VariantToMerge> variants;
  for (const nb::handle one : given) {
    variants.push_back({take(aot::read_program(open(one[1]))),
                        nb::cast<std::string>(one[0]),
                        nb::cast<std::int32_t>(one[2]),
                        {}});
  }
  write(path, aot::merge_variants(std::move(variants)), aot::variants_alignment);
}

void strip_variants(nb::handle model, const std::string& path,
                    const std::map<std::string, std::string>& keep) {
  write(path, aot::strip_variants(open(model), {keep.begin(), keep.end()}),
        aot::PteOptions().segment_alignment);
}

}  // namespace

void bind_merge(nb::module_& module) {
  module.def("merge_variants", &merge_variants);
  module.def("strip_variants", &strip_variants);
}

}  // namespace tenon::python
