// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/aot/compiler/aoti/aoti_program.hpp"
#include "tenon/aot/compiler/golden.hpp"
#include "tenon/aot/compiler/lower/delegation_info.hpp"
#include "tenon/aot/compiler/variants/variants.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/layers/discovery/plugin_source.hpp"
#include "tool.hpp"

namespace tenon::compile {

using tool::ExitCode;
using tool::WrittenFile;

/// One compile spec of the command line.
struct Spec {
  std::optional<std::string> backend;  ///< Nothing: for all of them.
  std::string key;
  std::string value;
  std::optional<std::string> variant = std::nullopt;  ///< Nothing: for all of them.
};

/// One further variant of the methods: the model compiled by other backends, or a program that was
/// written before.
struct VariantArgument {
  std::string text;                   ///< As it was given.
  std::string name;                   ///< Empty: the name of its backends.
  std::vector<std::string> backends;  ///< Empty for a file.
  std::string target;                 ///< Their compile spec `device`; may be empty.
  std::string file;
};

/// The command line.
struct Arguments {
  /// A `.pt2` archive, or a program to add variants to or to take some out of. May be empty when
  /// `methods` is not.
  std::string model;
  std::vector<std::pair<std::string, std::string>> methods;  ///< Name and archive of further ones.
  std::vector<std::string> backends;
  std::vector<VariantArgument> variants;      ///< The most wanted first.
  std::optional<std::string> strip_variants;  ///< The variant to keep; "best": the one for here.
  std::vector<std::string> plugins;
  std::vector<Spec> specs;
  std::string output;    ///< Empty when something is only to be printed.
  std::string external;  ///< Directory of the `.ptd` files; empty: the output's.
  std::optional<std::string> external_constants;  ///< Their `.ptd` file, without its ending.
  /// Models that AOTInductor compiled, for all methods: a `.pt2` archive, or a library.
  std::string aoti;
  std::string aoti_weights;  ///< Of a library; may be empty.
  aot::AotiKeys aoti_keys = aot::AotiKeys::Content;
  bool external_weights = false;            ///< The weights of `aoti`.
  bool keep_symbols = false;                ///< Of the libraries of `aoti`, with debug information.
  std::optional<std::string> cpu_features;  ///< Of all libraries of `aoti`, with commas.
  bool debug_handles = false;               ///< Stored in the program.
  std::optional<aot::GoldenOptions> golden;  ///< Cases to store; nothing: none.
  std::string golden_reference;              ///< A backend that computes them; empty: kernels.
  bool no_partition = false;
  bool print_graph = false;
  bool print_ops_to_not_decompose = false;
  bool strict = false;  ///< What would be a warning is a failure.
  bool json = false;
};

/// Reads the command line. errors: InvalidArgument, which names the wrong argument.
[[nodiscard]] Result<std::variant<Arguments, PrintAndExit>> parse_arguments(
    int argc, const char* const* argv);

/// One delegate of the program.
struct Delegate {
  std::string backend_id;
  std::size_t num_nodes = 0;
  std::uint64_t blob_nbytes = 0;
  std::string info;  ///< The backend's own line; may be empty.
  /// CPU features that the program names for the code in it, with commas between them. Nothing when
  /// it names none: code that cannot be decoded here, and blobs of backends of plugins.
  std::optional<std::string> cpu_features = std::nullopt;
};

struct Method {
  std::string name;
  std::vector<Delegate> delegates;
  aot::DelegationInfo delegation;
  /// Inputs and outputs of the Python function that are not in the program.
  std::vector<std::string> left_out;
};

/// One variant of the program.
struct Variant {
  std::string name;
  std::int32_t priority = 0;
  std::uint64_t nbytes = 0;  ///< Of its blobs and named data; 0 when that is not known.
  std::vector<std::pair<std::string, aot::VariantNeeds>> needs;  ///< By backend.
};

struct Report {
  std::string printed;  ///< The output of --print-...: graphs, operators.
  std::vector<Method> methods;
  std::vector<Variant> variants;  ///< None when methods have a single form.
  std::optional<WrittenFile> program;
  std::vector<WrittenFile> data;
  std::vector<std::string> warnings;  ///< Arguments without effect.
  Status failure;
  ExitCode code = ExitCode::success;
};

/// Reads the archives, lets the backends compile them, and writes the program. On failure
/// no file is written. `search` finds the plugins that were not named
/// (`host::discovery()`).
[[nodiscard]] Report compile(const Arguments& arguments,
                             std::function<host::SearchReport()> search);

/// From now on, a signal (on Windows an exception of the system) that ends the process inside a
/// plugin writes a line to standard error first: the signal, the call, the backend, its file, and
/// the weight that the plugin wrote to if that was it. The process then ends as without this. For
/// programs: it replaces handlers of the whole process.
void name_plugins_that_crash();

/// The report for a person, and as one line of JSON (docs/schemas/tenon-compile.schema.json).
[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace tenon::compile
