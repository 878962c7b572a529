// SPDX-License-Identifier: MIT
//
// The process that asks one backend about recorded operators.
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "coverage/coverage.hpp"
#include "coverage/programs.hpp"
#include "kit/boundary/watch.hpp"
#include "kit/process/channel.hpp"
#include "kit/process/crash_reporter.hpp"
#include "run.hpp"
#include "tenon/abi/draft/preprocess.h"
#include "tenon/aot/compiler/lower/lower.hpp"
#include "tenon/aot/compiler/partition/plugin_preprocess.hpp"
#include "tenon/aot/compiler/program_in_memory.hpp"
#include "tenon/conformance/compare.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/layers/data/data_files.hpp"
#include "tenon/host/layers/devices/devices.hpp"
#include "tenon/host/layers/external_memory/imported_pages.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

struct Answer {
  Coverage coverage = Coverage::not_taken;
  std::string reason;
};

/// Runs a program that the backend compiled, and compares.
Answer run_compiled(Context& kit, const OpenedBackend& opened, aot::CompiledMethod compiled,
                    const RecordedCall& call) {
  std::vector<aot::CompiledMethod> methods;
  methods.push_back(std::move(compiled));
  const auto written = kit.need(aot::make_program(methods, "a program of the kit"),
                                concat("the program of ", call.name));
  host::MethodOptions options;
  options.backends = {opened.ref()};
  options.layers = {host::Devices(), host::ImportedPages(), host::PluginKernels()};
  options.layers.add(host::DataFiles(written.data_files));
  const auto method = host::Method::load(written.program, "forward", std::move(options));
  if (!method.ok()) return {Coverage::refused, concat("init: ", method.text())};
  std::size_t input = 0;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.is_parameter(i)) continue;
    const RecordedTensor& tensor = call.tensors[i];
    const Status set = (*method)->set_input(input++, {tensor.type, tensor.sizes, tensor.bytes});
    if (!set.ok()) return {Coverage::refused, concat("an input: ", set.text())};
  }
  if (const Status executed = (*method)->execute(); !executed.ok()) {
    return {Coverage::refused, concat("execute: ", executed.text())};
  }
  const auto found = host::to_array((*method)->output(0));
  if (!found.ok()) return {Coverage::wrong, concat("the output: ", found.text())};
  const RecordedTensor& expected = call.expected;
  const OutputComparison compared =
      compare(found->view(), {expected.type, expected.sizes, expected.bytes},
              kit.backend().tolerances.of(expected.type));
  if (compared.equal) return {Coverage::right, {}};
  return {Coverage::wrong, compared.text};
}

/// Asks for the one node of the call, and if it is taken, compiles and runs it.
Answer ask(Context& kit, const OpenedBackend& opened, const aot::PluginPreprocess& compiler,
           const RecordedCall& call) {
  const aot::OwnedEdgeProgram program =
      kit.need(call.program(), concat("the program of ", call.name));
  const auto chosen = compiler.partition(program.view(), {});
  if (!chosen.ok()) return {Coverage::refused, concat("partition: ", chosen.text())};
  auto lowered = aot::lower(program.view(), *chosen);
  if (!lowered.ok()) return {Coverage::refused, concat("partition: ", lowered.text())};
  if (!lowered->is_all_delegated()) return {};
  std::vector<aot::PartitionToCompile> parts;
  for (const aot::LoweredPartition& part : lowered->partitions) {
    parts.push_back({part.program.view(), part.compile_specs});
  }
  auto results = compiler.preprocess(parts);
  if (!results.ok()) {
    // A backend without a partitioner is given all nodes, and refuses those that it does not have.
    if (!compiler.has_partition()) return {Coverage::not_taken, {}};
    return {Coverage::refused, concat("preprocess: ", results.text())};
  }
  return run_compiled(kit, opened, {*std::move(lowered), *std::move(results)}, call);
}

/// Each call is announced before it is made, so that the runner knows which one ended the process.
void ask_all(Context& kit, Channel& channel, const std::vector<RecordedCall>& calls,
             std::size_t from) {
  OpenedBackend opened(kit);
  need_device(kit, opened);
  if (!opened.backend().extension<tenon_preprocess_v1>(TENON_EXTENSION_PREPROCESS)) {
    kit.not_applicable("the backend has no extension " TENON_EXTENSION_PREPROCESS);
  }
  const auto compiler = kit.need(aot::PluginPreprocess::of(opened.ref()), "the extension");
  for (std::size_t i = from; i < calls.size(); ++i) {
    channel.measurement({"begin", static_cast<double>(i), {}});
    const Answer answer = ask(kit, opened, compiler, calls[i]);
    constexpr std::size_t longest = 300;
    channel.measurement({"answer", static_cast<double>(answer.coverage),
                         printable(answer.reason).substr(0, longest)});
  }
}

}  // namespace

Status run_coverage(Arguments arguments) {
  TENON_TRY(const std::vector<Subject> subjects, read_subjects(arguments));
  const SubjectBackend* backend = subjects.at(0).backend(arguments.coverage_of);
  if (!backend) return error(Error::NotFound, "no backend ", arguments.coverage_of);
  TENON_TRY(const std::vector<RecordedCall> calls, recorded_calls());
  if (!become_process_of_test(arguments, arguments.coverage_from)) return ok();
  set_environment(subjects[0]);
  std::size_t from = 0;
  const std::string_view digits = arguments.coverage_from;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), from).ec != std::errc()) {
    return error(Error::InvalidArgument, "--coverage-from: expected a number, found '", digits,
                 "'");
  }
  TENON_TRY(GivenByRunner given, take_from_runner(arguments));
  Channel channel(given.channel, std::move(given.secret));
  const CrashReporter reporter(channel);
  Stop stop{Outcome::passed, {}};
  try {
    RunOptions options;
    options.seed = arguments.seed;
    Context kit(subjects[0], backend, nullptr, options, channel, &given.crumbs, "coverage");
    ask_all(kit, channel, calls, from);
  } catch (Stop& stopped) {
    stop = std::move(stopped);
  }
  channel.outcome(stop.outcome, stop.reason, has_executed());
  channel.done();
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
