// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/pt2/reader.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "tenon/aot/compiler/impl/pt2/archive.hpp"
#include "tenon/aot/compiler/impl/pt2/graph.hpp"
#include "tenon/aot/compiler/impl/pt2/weights.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/files/shortened.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

[[nodiscard]] inline Result<Pt2Program> read_archive(const std::filesystem::path& path,
                                                     const Pt2Limits& limits, Pt2Content content) {
  constexpr std::string_view directory = "models/";
  constexpr std::string_view suffix = ".json";
  TENON_TRY(const Pt2Archive archive, Pt2Archive::open(path, limits));
  const std::vector<std::string> entries = archive.names(directory, suffix);
  if (entries.empty()) {
    return error(Error::NotSupported, archive.path(), ": holds no exported program, expected ",
                 "models/*.json as torch.export.save writes it");
  }
  CopyBudget copies(archive);
  std::set<std::string> names;
  Pt2Program out;
  for (const std::string& entry : entries) {
    const std::string model =
        entry.substr(directory.size(), entry.size() - directory.size() - suffix.size());
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
    const JsonAt root(json, "", Error::InvalidProgram);
    Pt2GraphReader reader(root, method, weights, content);
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

Result<Pt2Program> read_pt2(const std::filesystem::path& path, const Pt2Limits& limits,
                            Pt2Content content) {
  auto program = detail::read_archive(path, limits, content);
  if (!program.ok()) return host::shortened(std::move(program).status());
  return program;
}

}}}  // namespace tenon::TENON_RELEASE::aot
