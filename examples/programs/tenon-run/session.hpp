// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "run.hpp"
#include "tenon/host/async.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/layers/variants/choose_variant.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/registry/cpu_features.hpp"
#include "tenon/host/prepared.hpp"

namespace tenon::run {

/// One run, stage by stage. Each stage fills in its part of the report; the first failure ends the
/// run with the exit code of its stage.
class Session {
 public:
  /// `recorded` receives all intermediate results of the last execution, unless it is null.
  explicit Session(const Arguments& arguments, RecordedRun* recorded = nullptr);
  [[nodiscard]] Report run() &&;

 private:
  /// An array that an input points at, for as long as the method may run.
  struct Input {
    std::size_t index;  ///< Among the inputs of the method.
    ScalarType type;
    std::vector<std::int64_t> shape;
    host::ArrayBytes data;
  };

  /// An output of a device, copied to the host.
  struct HostCopy {
    host::ArrayBytes bytes;
    tenon_tensor tensor{};
    tenon_value value{};
  };

  // Reading: arguments and files, before any code of a plugin runs.
  Status add_plugins();
  Status check_plugins();
  Status check_kernel_plugins();
  Status warn_of_plugins(bool with_kernels);
  Status open_program();
  Status read_inputs();
  Status read_labels();
  Status read_input(const host::MethodMeta& meta, std::size_t index, const std::string& path);
  Status read_expected();

  // Running.
  Status choose_variant();
  Status find_backends();
  Status read_options();
  Status load_method();
  Status record();
  Status set_inputs();
  Status set_outputs();
  Status execute();
  Status read_outputs();
  Status record_outputs();
  Status report_outputs();
  Status write_outputs();
  Status compare_outputs();
  Status write_trace();

  /// All elements of output `index`.
  Result<host::ValueArray> whole_output(std::size_t index);

  [[nodiscard]] Result<std::string> choose_method() const;
  [[nodiscard]] Result<host::MethodMeta> meta() const {
    return host::MethodMeta::of(*program_, report_.method);
  }

  /// A failure whose stage has more than one exit code.
  Status fail(ExitCode code, Status failure);
  bool stage(ExitCode code, Status (Session::*step)());
  void run_stages();

  /// Runs `step` and measures how long it takes; it is also an event of the trace.
  template <class Step>
  Status timed(std::string_view name, std::uint64_t& nanoseconds, const Step& step) {
    const std::uint64_t start = trace_.now_ns();
    Status outcome = step();
    const std::uint64_t end = trace_.now_ns();
    nanoseconds = end - start;
    trace_.add(name, "run", start, end, {{"outcome", error_name(outcome.error())}});
    return outcome;
  }

  const Arguments& arguments_;
  RecordedRun* const recorded_;
  std::vector<std::string> labels_;
  Report report_;
  std::optional<ExitCode> code_of_failure_;
  host::Trace trace_;  // Also the clock. Written to a file only with --trace.
  const host::CpuFeatures cpu_;
  host::BackendRegistry registry_;
  std::vector<host::BackendRef> backends_;
  std::shared_ptr<const host::Program> program_;
  std::string plan_;            // The name of the plan of the method, or of the variant that is
                                // loaded.
  host::VariantChoice choice_;  // Keeps the plugins loaded that were asked.
  std::vector<std::shared_ptr<const host::DataFile>> data_files_;
  std::vector<host::BackendOption> options_;
  std::vector<Input> inputs_;
  std::vector<host::Array> expected_;
  std::vector<host::ArrayBytes> output_memory_;
  std::vector<const tenon_value*> outputs_;
  std::deque<HostCopy> host_copies_;
  std::optional<host::PreparedCache> prepared_;
  std::unique_ptr<host::WorkerPool> pool_;  // Null: backends have threads of their own.
  std::unique_ptr<host::Method> method_;    // Last: it refers to the members above.
};

}  // namespace tenon::run
