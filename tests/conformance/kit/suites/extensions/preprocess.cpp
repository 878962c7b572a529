// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/fixtures/small_programs.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/compiler/compile_methods.hpp"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/program_in_memory.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/external_memory/imported_pages.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/loader/method/method.hpp"

/// Suite "preprocess": extension "tenon.preprocess/1", the ahead-of-time half, with programs
/// of the kit. A backend is not judged by programs that it does not take.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(preprocess)

namespace {

/// The ahead-of-time half of an opened backend. Ends the test as `not_applicable` without one. A
/// call that changes what it may only read is a finding, and its result counts.
aot::PluginPreprocess need_compiler(Context& kit, const OpenedBackend& opened) {
  if (!opened.backend().extension<tenon_preprocess_v1>(TENON_EXTENSION_PREPROCESS)) {
    kit.not_applicable("the backend has no extension " TENON_EXTENSION_PREPROCESS);
  }
  aot::PreprocessOptions options{.weights = aot::WeightAccess::compared};
  options.on_change = [&kit](const Status& change) { kit.violated("TN-AOT-6", change.text()); };
  return kit.need(aot::PluginPreprocess::of(opened.ref(), std::move(options)),
                  "the table of the extension");
}

/// Whether `text` names a node of `program`, or a value.
bool names_a_part(const aot::EdgeProgram& program, std::string_view text) {
  for (std::size_t i = 0; i < program.num_nodes(); ++i) {
    if (text.find(program.node(i).name()) != std::string_view::npos) return true;
  }
  for (aot::ValueId id = 0; id < program.num_values(); ++id) {
    if (text.find(program.value(id).name()) != std::string_view::npos) return true;
  }
  return false;
}

/// Compiles the parts of the program that the backend takes; nothing when it refuses.
///
/// It must compile the nodes that it chose (TN-AOT-5), also without its device (TN-AOT-1). Nodes
/// that it did not choose it may refuse, by name (TN-AOT-4).
std::optional<aot::CompiledMethod> compile(Context& kit, const OpenedBackend& opened,
                                           const aot::PluginPreprocess& compiler,
                                           std::string_view name, const aot::EdgeProgram& program) {
  const bool is_here = opened.backend().is_available().ok();
  const auto chosen = compiler.partition(program, {});
  if (!chosen.ok()) {
    if (is_here) kit.blocked(name, ": ", chosen.text());
    kit.violated("TN-AOT-1", name, ": without the device partition failed: ", chosen.text());
    return std::nullopt;
  }
  auto lowered = aot::lower(program, *chosen);
  if (!lowered.ok()) kit.blocked(name, ": partitions that cannot be: ", lowered.text());
  std::vector<aot::PartitionToCompile> parts;
  for (const aot::LoweredPartition& part : lowered->partitions) {
    parts.push_back({part.program.view(), part.compile_specs});
  }
  if (parts.empty()) return aot::CompiledMethod{*std::move(lowered), {}};
  auto results = compiler.preprocess(parts);
  if (results.ok()) return aot::CompiledMethod{*std::move(lowered), *std::move(results)};
  if (!is_here) {
    kit.violated("TN-AOT-1", name, ": without the device preprocess failed: ", results.text());
  } else if (compiler.has_partition()) {
    kit.violated("TN-AOT-5", name,
                 ": preprocess refused what partition had chosen: ", results.text());
  } else {
    kit.expect("TN-AOT-4", names_a_part(program, results.text()), name,
               ": refused with a text that names neither node nor value: ", results.text());
  }
  return std::nullopt;
}

/// Compares two compilations of a program. Returns the first difference; empty when there is none.
std::string difference(const aot::CompiledMethod& a, const aot::CompiledMethod& b) {
  const auto& ours = a.program.partitions;
  const auto& theirs = b.program.partitions;
  if (ours.size() != theirs.size()) {
    return concat(ours.size(), " partitions, then ", theirs.size());
  }
  const auto same = [](const aot::SharedBytes& x, const aot::SharedBytes& y) {
    return std::ranges::equal(x.bytes(), y.bytes());
  };
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string where = concat("partition ", i, ": ");
    if (ours[i].nodes != theirs[i].nodes || ours[i].inputs != theirs[i].inputs) {
      return concat(where, "other nodes or inputs");
    }
    const auto same_spec = [&](const aot::CompileSpecData& x, const aot::CompileSpecData& y) {
      return x.key == y.key && same(x.value, y.value);
    };
    if (!std::ranges::equal(ours[i].compile_specs, theirs[i].compile_specs, same_spec)) {
      return concat(where, "other compile specs");
    }
    const aot::PreprocessResult& x = a.results[i];
    const aot::PreprocessResult& y = b.results[i];
    if (!same(x.processed_bytes, y.processed_bytes)) return concat(where, "another blob");
    if (x.debug_handle_map != y.debug_handle_map) return concat(where, "other debug handles");
    const auto& data = x.data_store_output;
    const auto& other = y.data_store_output;
    const auto same_file = [](const aot::ExternalData& p, const aot::ExternalData& q) {
      return p == q;
    };
    if (data.pte_data != other.pte_data ||
        !std::ranges::equal(data.external_data, other.external_data, same_file) ||
        !std::ranges::equal(data.buffers, other.buffers, same)) {
      return concat(where, "other named data");
    }
  }
  return {};
}

/// Runs a program that is the backend's alone and judges its numbers. A tenth of the largest is
/// allowed: a backend may compute with few bits, but not leave an operator out.
void judge_numbers(Context& kit, host::Method& method, const SmallProgram& small) {
  for (const SmallRun& run : small.runs) {
    const std::string what = concat(small.name, ", ", run.rows, " rows");
    const std::int64_t sizes[] = {run.rows, small.input_columns};
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      kit.need(
          method.set_input(i, {ScalarType::Float, sizes, std::as_bytes(std::span(run.inputs[i]))}),
          what);
    }
    const Status executed = method.execute();
    if (!kit.expect("TN-AOT-4", executed.ok(), what, ": execute failed: ", executed.text())) return;
    std::vector<float> found(run.expected.size());
    const Status read = method.read_output(0, std::as_writable_bytes(std::span(found)));
    if (!kit.expect("TN-AOT-4", read.ok(), what, ": expected ", found.size(),
                    " elements: ", read.text())) {
      return;
    }
    float largest = 0.0f;
    float worst = 0.0f;
    for (std::size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(run.expected[i]));
      const float off = std::abs(found[i] - run.expected[i]);
      worst = std::isnan(off) ? std::numeric_limits<float>::infinity() : std::max(worst, off);
    }
    kit.expect("TN-AOT-4", worst <= 0.1f * largest, what, ": an element is off by ", worst,
               ", where the largest is ", largest);
  }
}

}  // namespace

TENON_CONFORMANCE_TEST("preprocess/compiles-without-device",
                       "programs are compiled without the device",
                       "[preprocess][level-5][backend][TN-AOT-1][TN-ERR-2]") {
  OpenedBackend opened(kit);
  const auto compiler = need_compiler(kit, opened);
  if (opened.backend().is_available().ok()) kit.not_applicable("the device is present");
  for (const SmallProgram& small : small_programs()) {
    compile(kit, opened, compiler, small.name, small.program.view());
  }
}

TENON_CONFORMANCE_TEST("preprocess/same-bytes", "the same program is compiled to the same bytes",
                       "[preprocess][level-5][backend][TN-AOT-2][TN-BCK-7]") {
  OpenedBackend opened(kit);
  OpenedBackend again(kit);
  const auto compiler = need_compiler(kit, opened);
  const auto other = need_compiler(kit, again);
  for (const SmallProgram& small : small_programs()) {
    const auto program = small.program.view();
    const auto first = compile(kit, opened, compiler, small.name, program);
    const auto second = compile(kit, opened, compiler, small.name, program);
    const auto elsewhere = compile(kit, again, other, small.name, program);
    kit.expect("TN-AOT-2", first.has_value() == second.has_value(), small.name,
               ": compiled one time and refused another");
    if (!first || !second || !elsewhere) continue;
    for (const auto* later : {&*second, &*elsewhere}) {
      const std::string differs = difference(*first, *later);
      kit.expect("TN-AOT-2", differs.empty(), small.name, ": ", differs);
    }
  }
}

TENON_CONFORMANCE_TEST("preprocess/computes-what-program-says",
                       "what is compiled is loaded and computes what the program says",
                       "[preprocess][level-5][backend][TN-AOT-3][TN-AOT-4][TN-AOT-5]") {
  OpenedBackend opened(kit);
  const auto compiler = need_compiler(kit, opened);
  need_device(kit, opened);
  bool any = false;
  for (const SmallProgram& small : small_programs()) {
    auto method = compile(kit, opened, compiler, small.name, small.program.view());
    if (!method) continue;
    if (!method->program.is_all_delegated()) continue;
    any = true;
    std::vector<aot::CompiledMethod> methods;
    methods.push_back(*std::move(method));
    const auto written = kit.need(aot::make_program(methods, "a program of the kit"), small.name);
    host::MethodOptions options;
    options.backends = {opened.ref()};
    options.layers = {host::Devices(), host::ImportedPages(), host::PluginKernels()};
    options.layers.add(host::DataFiles(written.data_files));
    const auto loaded = host::Method::load(written.program, "forward", std::move(options));
    if (!kit.expect("TN-AOT-3", loaded.ok(), small.name,
                    ": init refused what preprocess made: ", loaded.text())) {
      continue;
    }
    judge_numbers(kit, **loaded, small);
  }
  if (!any) kit.not_applicable("the backend takes none of the kit's programs as a whole");
}

TENON_CONFORMANCE_TEST("preprocess/names-unknown-operator",
                       "an unknown operator is refused by name",
                       "[preprocess][level-5][backend][TN-AOT-4][TN-ERR-2]") {
  OpenedBackend opened(kit);
  const auto compiler = need_compiler(kit, opened);
  const aot::OwnedEdgeProgram program = unknown_operator();
  const std::vector<aot::PartitionToCompile> parts = {{program.view(), {}}};
  const auto results = compiler.preprocess(parts);
  if (!kit.expect("TN-AOT-4", !results.ok(), "preprocess made a blob of an unknown operator")) {
    return;
  }
  // A backend that asks for its device here breaks another rule.
  const bool is_here = opened.backend().is_available().ok();
  kit.expect("TN-AOT-4", !is_here || names_a_part(program.view(), results.text()),
             "refused with a text that names neither node nor value: ", results.text());
}

TENON_CONFORMANCE_TEST("preprocess/leaves-nodes-to-kernels",
                       "nodes that are not compiled are left to kernels",
                       "[preprocess][level-5][backend][TN-AOT-5]") {
  OpenedBackend opened(kit);
  const auto compiler = need_compiler(kit, opened);
  if (!compiler.has_partition()) kit.not_applicable("the backend does not choose nodes");
  for (const auto& [name, program] :
       {std::pair("an unknown operator", unknown_operator()),
        std::pair("an unknown operator between additions", unknown_between_additions())}) {
    compile(kit, opened, compiler, name, program.view());
  }
}

TENON_CONFORMANCE_TEST("preprocess/leaves-programs-unchanged",
                       "programs and weights stay as they are",
                       "[preprocess][level-5][backend][TN-AOT-6]") {
  OpenedBackend opened(kit);
  const auto compiler = need_compiler(kit, opened);
  for (const SmallProgram& small : small_programs()) {
    const auto program = small.program.view();
    static_cast<void>(compiler.ops_to_not_decompose(program));
    static_cast<void>(compiler.partition(program, {}));
    // As a whole, with all weights: whether it takes that is for other tests to judge.
    auto whole = aot::partition_whole_program(program, {std::string(opened.backend().id()), {}});
    const auto lowered = kit.need(aot::lower(program, whole), small.name);
    std::vector<aot::PartitionToCompile> parts;
    for (const aot::LoweredPartition& part : lowered.partitions) {
      parts.push_back({part.program.view(), part.compile_specs});
    }
    static_cast<void>(compiler.preprocess(parts));
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
