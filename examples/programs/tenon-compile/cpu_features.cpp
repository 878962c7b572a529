// SPDX-License-Identifier: MIT
#include "cpu_features.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "tenon/core/arm64_features.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/elf/elf_image.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/core/x86_features.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon::compile {
namespace {

/// `e_machine` of the two machines whose features have names.
constexpr std::uint16_t x86_64 = 62;
constexpr std::uint16_t arm64 = 183;

std::vector<std::string_view> names_in(std::string_view list) {
  std::vector<std::string_view> out;
  for (const std::string_view name : split(list, ',')) {
    if (!name.empty() && std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

bool is_arm64_feature(std::string_view name) {
  return arm64_has(name, ~std::uint64_t{0}, ~std::uint64_t{0});
}

Status check_names(const std::vector<std::string_view>& names, std::uint16_t machine) {
  const bool is_x86 = machine == x86_64;
  for (const std::string_view name : names) {
    const bool is_of_x86 = x86_features_of(name).has_value();
    const bool is_of_arm64 = is_arm64_feature(name);
    if (is_x86 ? is_of_x86 : is_of_arm64) continue;
    return error(Error::InvalidArgument, "expected CPU features of ", is_x86 ? "x86-64" : "arm64",
                 ", which the library is for, as /proc/cpuinfo names them",
                 is_x86 ? concat(", or ", join(x86_levels, ", ")) : std::string(), "; found ",
                 host::quoted(name),
                 is_of_arm64 ? " of arm64"
                 : is_of_x86 ? " of x86-64"
                             : "");
  }
  return ok();
}

Status check_list(const std::vector<std::string_view>& names, Bytes library,
                  const aoti::CodeFeatures& decoded) {
  const auto machine = elf64_machine(library);
  if (!machine || (*machine != x86_64 && *machine != arm64)) {
    return error(
        Error::InvalidArgument,
        "expected an ELF library for x86-64 or arm64, whose CPU features have names; found ",
        machine ? concat("one for machine ", *machine) : std::string("no ELF file"));
  }
  TENON_RETURN_IF_ERROR(check_names(names, *machine));
  X86FeatureSet listed;
  if (*machine == x86_64) {
    for (const std::string_view name : names) listed |= *x86_features_of(name);
  }
  std::vector<std::string_view> lacking;
  for (const std::string& name : decoded.names) {
    if (!listed.test(*find_x86_feature(name))) lacking.push_back(name);
  }
  if (lacking.empty()) return ok();
  return error(Error::InvalidArgument,
               "expected all features that the library's instructions need; ", "the list lacks ",
               join(lacking, ", "));
}

}  // namespace

Result<std::optional<std::string>> find_cpu_features(Bytes library,
                                                     const std::optional<std::string>& list,
                                                     aoti::DecodeX86 decode) {
  const aoti::CodeFeatures decoded = aoti::decode_library(library, decode);
  if (!list) {
    if (!decoded.is_known) return std::optional<std::string>();
    return std::optional(join(decoded.names, ","));
  }
  const auto names = names_in(*list);
  Status status = check_list(names, library, decoded);
  if (!status.ok()) {
    return std::move(status).with_context(concat("--cpu-features ", host::quoted(*list)));
  }
  return std::optional(join(names, ","));
}

}  // namespace tenon::compile
