// SPDX-License-Identifier: MIT
#include "variants.hpp"

#include <algorithm>
#include <utility>

#include "tenon/aot/compiler/variants/read_program.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::compile {
namespace {

std::uint64_t blob_bytes(const aot::ProgramData& program) {
  std::uint64_t out = 0;
  for (const aot::MethodData& method : program.methods) {
    for (const aot::DelegateData& delegate : method.delegates) out += delegate.processed.size();
  }
  for (const aot::NamedEntry& one : program.named_data.pte_data) {
    out += program.named_data.buffers[one.entry.buffer_index].size();
  }
  return out;
}

}  // namespace

Result<VariantArgument> read_variant_argument(const std::string& text) {
  const auto wrong = [&](std::string_view why) {
    return error(Error::InvalidArgument, "--variant ", text, ": ", why,
                 ", expected [NAME=]ID[+ID...][:TARGET] or [NAME=]FILE.pte (see tenon-compile "
                 "--help)");
  };
  VariantArgument out;
  out.text = text;
  std::string_view rest = text;
  // A path may hold "=", a name has no "/".
  const std::size_t equal = rest.find('=');
  if (equal != std::string_view::npos &&
      rest.substr(0, equal).find('/') == std::string_view::npos) {
    out.name = std::string(rest.substr(0, equal));
    rest.remove_prefix(equal + 1);
    if (out.name.empty()) return wrong("the name is empty");
  }
  if (rest.ends_with(".pte")) {
    out.file = std::string(rest);
    return out;
  }
  const std::size_t colon = rest.find(':');
  if (colon != std::string_view::npos) {
    out.target = std::string(rest.substr(colon + 1));
    if (out.target.empty()) return wrong("the target is empty");
  }
  if (out.name.empty()) out.name = std::string(rest);
  for (const std::string_view id : split(rest.substr(0, colon), '+')) {
    if (id.empty()) return wrong("the id of a backend is empty");
    if (std::ranges::find(out.backends, id) != out.backends.end())
      return wrong(tenon::concat("backend ", host::quoted(id), " is given twice"));
    out.backends.emplace_back(id);
  }
  return out;
}

aot::NeedsByBackend needs_of(std::span<const aot::BackendToUse> backends) {
  aot::NeedsByBackend out;
  for (const aot::BackendToUse& use : backends) {
    aot::VariantNeeds& needs = out[std::string(use.backend.id())];
    needs.payload_version = use.backend.backend().record().max_payload_version;
    for (const aot::CompileSpecData& spec : use.compile_specs) {
      if (spec.key == "device") needs.target = std::string(as_text(spec.value.bytes()));
    }
  }
  return out;
}

Result<aot::ProgramData> read_program_file(const std::string& path) {
  TENON_TRY(auto program, host::Variants::open(host::path_of(path)));
  auto read = aot::read_program(std::move(program));
  if (!read.ok()) return std::move(read).status().with_context(path);
  return read;
}

Result<aot::ProgramData> join_variants(std::vector<aot::VariantToMerge> variants,
                                       std::vector<Variant>& reported) {
  for (aot::VariantToMerge& one : variants) {
    if (one.name.empty()) one.name = aot::default_variant_name(one.program);
    const aot::NeedsByBackend stated = aot::find_needs(one.program);
    aot::NeedsByBackend needs = one.needs;
    needs.insert(stated.begin(), stated.end());
    Variant& report = reported.emplace_back();
    report.name = one.name;
    report.priority = one.priority;
    report.nbytes = blob_bytes(one.program);
    for (const auto& [id, need] : stated) {
      report.needs.emplace_back(id, needs.find(id)->second);
    }
  }
  return aot::merge_variants(std::move(variants));
}

Result<aot::ProgramData> strip_program(const std::shared_ptr<const host::Program>& program,
                                       const std::string& name,
                                       const host::BackendRegistry& registry,
                                       std::vector<Variant>& reported) {
  const std::string& path = program->name();
  std::map<std::string, std::string, std::less<>> keep;
  TENON_TRY(const host::Variants all, host::Variants::of(*program));
  for (const std::string_view method : all.visible_methods()) {
    const auto variants = all.of_method(method);
    if (variants.empty()) continue;
    const host::ProgramVariant* kept = nullptr;
    if (name == "best") {
      host::MethodOptions options;
      options.registry = &registry;
      TENON_TRY(const auto choice, host::choose_variant(program, method, options));
      if (Status refused = choice.status(); !refused.ok()) {
        return std::move(refused).with_context(concat(path, ": method ", method));
      }
      kept = choice.answers[*choice.chosen].variant;
    } else {
      const auto found = std::ranges::find(variants, name, &host::ProgramVariant::name);
      if (found == variants.end()) {
        return error(Error::InvalidArgument, path, ": method ", host::quoted(method),
                     " has no variant ", host::quoted(name), ", found ",
                     join(variants, ", ", [](const host::ProgramVariant& one) {
                       return std::string(host::quoted(one.name));
                     }));
      }
      kept = &*found;
    }
    keep.emplace(method, kept->name);
    Variant& report = reported.emplace_back();
    report.name = std::string(kept->name);
    report.priority = kept->priority;
    for (const host::VariantNeed& need : kept->needs) {
      report.needs.emplace_back(
          std::string(need.backend_id),
          aot::VariantNeeds{std::string(need.target),
                            need.payload_version,
                            {need.cpu_features.begin(), need.cpu_features.end()}});
    }
  }
  if (keep.empty()) {
    return error(Error::InvalidArgument, path, ": no method has variants");
  }
  TENON_TRY(aot::ProgramData out, aot::strip_variants(program, keep));
  if (reported.size() == 1) reported[0].nbytes = blob_bytes(out);
  return out;
}

}  // namespace tenon::compile
