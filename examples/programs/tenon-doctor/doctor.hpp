// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "color.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/discovery/backend_info.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"
#include "tenon/host/prove.hpp"
#include "tool.hpp"

namespace tenon::doctor {

using tool::ExitCode;

/// The command line, taken apart.
struct Arguments {
  std::string model;
  std::optional<std::string> method;  ///< Otherwise all.
  std::vector<std::string> plugins;
  std::vector<std::string> data;
  std::string without_cpu_features;  ///< With commas between them.
  bool prove = false;
  bool json = false;
  ColorWhen color = ColorWhen::automatic;
};

/// Reads the command line. InvalidArgument names the argument that is wrong.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

struct CompileSpec {
  std::string key;
  std::vector<std::byte> value;
};

/// The diagnosis of one delegate.
struct Delegate {
  std::size_t index = 0;
  std::string backend_id;
  std::uint64_t blob_size = 0;
  std::vector<CompileSpec> compile_specs;

  Status found;  ///< Whether a plugin serves the id and could be loaded.
  std::optional<host::BackendInfo> served_by;
  std::optional<host::InvalidBackend> not_found;  ///< When no plugin serves the id.
  Status available;                               ///< The backend's reason when it is not.
  Status checked;                                 ///< Whether `check_blob` could judge.
  std::optional<host::BlobCheck> check;           ///< Absent when the backend has no such check.
  std::vector<std::string> missing_data;          ///< Keys of named data that it needs.
  host::DelegateEstimate estimate;                ///< What it will take, if that is stated.
  Status estimated;                               ///< Why its backend could not state it.

  /// Why it cannot run here; empty when nothing speaks against it.
  [[nodiscard]] std::vector<std::string> problems() const;
};

/// Memory that a method plans on a device.
struct DeviceBuffer {
  host::DeviceBuffer planned;
  std::string served_by;  ///< The backend that has memory there; empty when none does.
  std::string problem;    ///< Why none does.
};

/// The need of a method on a device, and how much is free there now.
struct MemoryOnDevice {
  host::DeviceBytes needed;
  std::optional<std::uint64_t> free;  ///< Absent when it cannot be known.

  [[nodiscard]] bool fits() const { return !free || needed.nbytes <= *free; }
};

/// An operator that the host itself has no kernel for.
struct Operator {
  std::string name;
  std::string instructions;  ///< Instructions that call it: "0:1, 0:4".
  /// The first backend that lists it, of those that would be asked; empty when none does.
  std::string served_by;
  std::string asked;  ///< Why none does: after a line feed, a line for each that was asked.
};

/// One variant of a method.
struct Variant {
  std::string name;
  std::int32_t priority = 0;
  std::vector<std::string> needs;  ///< A line for each of its backends, as the program states it.
  bool is_chosen = false;          ///< It would be loaded here.
  Status refused;                  ///< Why it cannot run here.
  std::uint32_t verdict = TENON_BLOB_USABLE;  ///< When it can.
  std::string reason;                         ///< Of the verdict.
};

/// The proof of one variant, or of a method of a single form.
struct ProofHere {
  std::string variant;  ///< Empty for a single form.
  host::Proof proof;    ///< When it could be loaded.
  Status failure;       ///< Why it was not loaded: its outputs are wrong, or it cannot run.
};

/// The diagnosis of one method: of the variant that would be loaded, or else of the default one.
struct Method {
  std::string name;
  std::vector<Variant> variants;  ///< By falling priority; none when it has a single form.
  std::vector<Delegate> delegates;
  std::vector<Operator> operators;
  std::vector<std::string> missing_tensors;  ///< External data.
  std::vector<DeviceBuffer> device_buffers;
  host::MethodEstimate estimate;       ///< The parts of the host and of the delegates.
  std::vector<MemoryOnDevice> memory;  ///< Its totals. Does not count for `can_run`.
  std::vector<ProofHere> proofs;       ///< With --prove, of all that can run.

  [[nodiscard]] bool can_run() const;
};

struct Diagnosis {
  std::string program;
  std::vector<Method> methods;
  Status failure;  ///< Why there is no diagnosis.
  ExitCode code = ExitCode::success;
};

/// Finds out which plugin serves each delegate and operator, and what is missing. Loads plugins and
/// opens their backends; unless it is to prove, calls neither `init` nor `execute`, and makes no
/// kernel. `search` finds
/// the plugins that were not named (`host::discovery()`).
[[nodiscard]] Diagnosis diagnose(const Arguments& arguments,
                                 std::function<host::SearchReport()> search);

/// The diagnosis for a person, and as one line of JSON (docs/schemas/tenon-doctor.schema.json).
[[nodiscard]] std::string to_text(const Diagnosis& diagnosis, bool color);
[[nodiscard]] std::string to_json(const Diagnosis& diagnosis);

/// "model.pte: 1 of 1 method and 2 of 2 delegates can run here".
[[nodiscard]] std::string summary(const Diagnosis& diagnosis);

}  // namespace tenon::doctor
