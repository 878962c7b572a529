// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tenon/aot/compiler/pt2/limits.hpp"
#include "tenon/aot/owned_edge_program.hpp"
#include "tenon/core/api.hpp"
#include "tenon/core/result.hpp"

namespace tenon::aot {

/// One exported program of an archive.
struct Pt2Method {
  /// Name of the model in the archive; "forward" for "model", the name that torch.export.save
  /// gives to the only one.
  std::string name;
  /// Keeps the file mapped as long as weights of it are in use.
  OwnedEdgeProgram program;
  /// Inputs and outputs of the Python function that are not in the program because they carry no
  /// data, each in a phrase: constants that were inputs, and outputs that are None.
  std::vector<std::string> left_out;
};

/// All exported programs of an archive, sorted by the names that they have there.
struct Pt2Program {
  std::vector<Pt2Method> methods;
};

/// Reads what torch.export.save wrote (schema version 8, that of PyTorch 2.15), without PyTorch.
/// docs/aot/pt2.md lists what is supported. Differences to the archive:
///
/// * Each value has memory of its own, as ExecuTorch's programs have it. Views ("aten.permute") are
///   copies, so their outputs, and values that took the order of dimensions from them, are in the
///   plain order. An order that is asked for (channels last) or that inputs have stays.
/// * Parameters, buffers and constants are dense and in the plain order: in the mapped file when
///   they are so there, else in a copy.
/// * Ranges of sizes are computed from the ranges of their symbols.
/// * Assertions ("aten._assert_scalar"), and nodes that only they read, are left out.
///
/// Weights that share memory in the archive share it here. Threads: any; the result may be read by
/// several.
///
/// errors: AccessFailed when the file cannot be read; InvalidProgram when it is damaged or
///         contradicts itself; NotSupported for unsupported constructs: control flow, operators
///         that change their inputs, objects of Python, other versions; OutOfResources for what is
///         above `limits`. The text names the file, the entry, the place in its JSON, and the node.
[[nodiscard]] TENON_API Result<Pt2Program> read_pt2(const std::filesystem::path& path,
                                                    const Pt2Limits& limits = {});

}  // namespace tenon::aot

#if TENON_PT2_DEFINITIONS

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "tenon/aot/compiler/pt2/archive.hpp"
#include "tenon/aot/compiler/pt2/graph.hpp"
#include "tenon/aot/compiler/pt2/json_at.hpp"
#include "tenon/aot/compiler/pt2/weights.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/files/quoted.hpp"
#include "tenon/host/files/shortened.hpp"

namespace tenon::aot {

namespace detail {

[[nodiscard]] inline Result<Pt2Program> read_archive(const std::filesystem::path& path,
                                                     const Pt2Limits& limits) {
  constexpr std::string_view folder = "models/";
  constexpr std::string_view suffix = ".json";
  TENON_TRY(const Pt2Archive archive, Pt2Archive::open(path, limits));
  const std::vector<std::string> entries = archive.names(folder, suffix);
  if (entries.empty()) {
    return error(Error::NotSupported, archive.path(), ": holds no exported program, expected ",
                 "models/*.json as torch.export.save writes it");
  }
  CopyBudget copies(archive);
  std::set<std::string> names;
  Pt2Program out;
  for (const std::string& entry : entries) {
    const std::string model =
        entry.substr(folder.size(), entry.size() - folder.size() - suffix.size());
    const std::string method = model == "model" ? "forward" : model;
    if (method.empty() || method.find('/') != std::string::npos) {
      return error(Error::InvalidProgram, archive.path(), ": entry ", host::quoted(entry),
                   " is not the name of a model");
    }
    if (!names.insert(method).second) {
      return error(Error::InvalidProgram, archive.path(), ": two models are method ",
                   host::quoted(method));
    }
    TENON_TRY(const nlohmann::json json, read_json(archive, entry));
    TENON_TRY(Pt2Weights weights, Pt2Weights::open(archive, model, copies));
    const JsonAt root(json, "");
    Pt2GraphReader reader(root, method, weights);
    auto program = reader.read();
    if (!program.ok()) {
      // An error in another entry already names that entry.
      if (program.text().starts_with(archive.path())) return std::move(program).status();
      return std::move(program).status().with_context(
          concat(archive.path(), ": ", entry_text(entry)));
    }
    out.methods.push_back({method, *std::move(program), reader.left_out()});
  }
  return out;
}

}  // namespace detail

TENON_API Result<Pt2Program> read_pt2(const std::filesystem::path& path, const Pt2Limits& limits) {
  auto program = detail::read_archive(path, limits);
  if (!program.ok()) return host::shortened(std::move(program).status());
  return program;
}

}  // namespace tenon::aot

#endif  // TENON_PT2_DEFINITIONS
