// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/aot/compiler/aoti/aoti_package.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/aot/compiler/impl/pt2/archive.hpp"
#include "tenon/aot/compiler/impl/pt2/weights.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/json.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/loader/files/shortened.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

namespace detail {

inline constexpr std::string_view aoti_directory = "data/aotinductor/";

/// Reads one model's entries.
class AotiEntries {
 public:
  AotiEntries(const Pt2Archive& archive, std::string_view name, std::vector<std::string> entries)
      : archive_(archive), name_(name), entries_(std::move(entries)) {}

  [[nodiscard]] Result<AotiModel> read() const {
    AotiModel out;
    out.name = name_ == "model" ? "forward" : name_;
    TENON_TRY(const std::string library, only_library());
    TENON_TRY(out.library, archive_.read(library));
    TENON_RETURN_IF_ERROR(check_aoti_library(
        out.library.bytes(), concat(archive_.path(), ": entry ", host::quoted(library))));
    TENON_RETURN_IF_ERROR(read_weights(out));
    TENON_RETURN_IF_ERROR(read_operator_calls(library, out));
    TENON_TRY(out.torch_device, read_device());
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::string> ending_in(std::string_view suffix) const {
    std::vector<std::string> out;
    for (const std::string& entry : entries_) {
      if (entry.ends_with(suffix)) out.push_back(entry);
    }
    return out;
  }

  template <class... Pieces>
  [[nodiscard]] Status wrong(Error code, const Pieces&... pieces) const {
    return error(code, archive_.path(), ": model ", host::quoted(name_), " ", pieces...);
  }

  /// "NAME.wrapper.so"; older versions of PyTorch write no "wrapper".
  [[nodiscard]] Result<std::string> only_library() const {
    auto found = ending_in(".wrapper.so");
    if (found.empty()) found = ending_in(".so");
    if (found.size() == 1) return found.front();
    if (found.empty()) {
      return wrong(Error::InvalidProgram,
                   "has no library (*.so); compile it with "
                   "aot_inductor.package_cpp_only=False");
    }
    return wrong(Error::NotSupported, "has ", found.size(),
                 " libraries, expected one: ", host::quoted(found[0]), ", ",
                 host::quoted(found[1]));
  }

  [[nodiscard]] Status read_weights(AotiModel& out) const {
    const auto found = ending_in("weights.blob");
    if (found.size() > 1) {
      return wrong(Error::NotSupported, "has ", found.size(),
                   " blobs of weights, expected one: ", host::quoted(found[0]), ", ",
                   host::quoted(found[1]));
    }
    if (found.empty()) {
      if (ending_in("/weights_config.json").empty()) return ok();
      return wrong(Error::NotSupported,
                   "has pickled weights; compile it with aot_inductor."
                   "package_constants_on_disk_format='binary_blob'");
    }
    TENON_TRY(SharedBytes bytes, archive_.read(found.front()));
    out.weights = std::move(bytes);
    return ok();
  }

  /// From "NAME.wrapper.json", next to "NAME.wrapper.so".
  [[nodiscard]] Status read_operator_calls(const std::string& library, AotiModel& out) const {
    const std::string entry = library.substr(0, library.rfind('.')) + ".json";
    if (std::find(entries_.begin(), entries_.end(), entry) == entries_.end()) return ok();
    TENON_TRY(SharedBytes bytes, archive_.read(entry));
    out.operator_calls = std::move(bytes);
    return ok();
  }

  /// From "NAME.wrapper_metadata.json", or another file of metadata: all of them have it.
  [[nodiscard]] Result<std::string> read_device() const {
    for (const std::string& entry : ending_in("_metadata.json")) {
      TENON_TRY(const nlohmann::json json, read_json(archive_, entry));
      auto device = device_in(JsonAt(json, "", Error::InvalidProgram));
      if (!device.ok()) {
        return std::move(device).status().with_context(
            concat(archive_.path(), ": entry ", host::quoted(entry)));
      }
      if (*device) return **device;
    }
    return std::string();
  }

  static Result<std::optional<std::string>> device_in(const JsonAt& root) {
    TENON_RETURN_IF_ERROR(root.check_object());
    const auto device = root.find_set("AOTI_DEVICE_KEY");
    if (!device) return std::optional<std::string>();
    TENON_TRY(std::string text, device->text());
    return std::optional(std::move(text));
  }

  const Pt2Archive& archive_;
  std::string name_;
  std::vector<std::string> entries_;
};

[[nodiscard]] inline Result<std::vector<AotiModel>> read_aoti_archive(
    const std::filesystem::path& path, const Pt2Limits& limits) {
  TENON_TRY(const Pt2Archive archive, Pt2Archive::open(path, limits));
  std::map<std::string, std::vector<std::string>> models;
  for (std::string& entry : archive.names(aoti_directory, "")) {
    const std::size_t slash = entry.find('/', aoti_directory.size());
    if (slash == std::string::npos) continue;
    std::string name = entry.substr(aoti_directory.size(), slash - aoti_directory.size());
    models[std::move(name)].push_back(std::move(entry));
  }
  if (models.empty()) {
    return error(Error::InvalidProgram, archive.path(), ": has no compiled model, expected ",
                 aoti_directory, "* as torch._inductor.aoti_compile_and_package writes it");
  }
  std::vector<AotiModel> out;
  for (auto& [name, entries] : models) {
    TENON_TRY(AotiModel model, AotiEntries(archive, name, std::move(entries)).read());
    out.push_back(std::move(model));
  }
  return out;
}

}  // namespace detail

Result<std::vector<AotiModel>> read_aoti_package(const std::filesystem::path& path,
                                                 const Pt2Limits& limits) {
  auto models = detail::read_aoti_archive(path, limits);
  if (!models.ok()) return host::shortened(std::move(models).status());
  return models;
}

}}}  // namespace tenon::TENON_RELEASE::aot
