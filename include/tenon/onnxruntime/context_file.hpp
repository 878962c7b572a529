// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// The file that an EPContext node with `embed_mode` 0 names: `context`, in or below the folder of
/// the model at `model`, also after links are followed. A model that came as bytes has no folder;
/// `model` is then empty.
///
/// errors: InvalidArgument for a path that is absolute or leaves the folder; AccessFailed where
///         there is no such file; InvalidState for a model without a folder.
[[nodiscard]] inline Result<std::filesystem::path> context_file(const std::filesystem::path& model,
                                                                std::string_view context) {
  namespace fs = std::filesystem;
  const auto wrong = [&](Error code, const auto&... why) {
    return error(code, "attribute ep_cache_context: ", host::quoted(context), ": ", why...);
  };
  if (context.find('\0') != std::string_view::npos) {
    return wrong(Error::InvalidArgument, "is not a path: a NUL character follows");
  }
  const fs::path relative = host::path_of(std::string(context));
  if (relative.is_absolute() || relative.has_root_path()) {
    return wrong(Error::InvalidArgument, "expected a path relative to the model's folder");
  }
  for (const fs::path& part : relative) {
    if (part == "..") return wrong(Error::InvalidArgument, "leaves the model's folder");
  }
  if (model.empty()) {
    return wrong(Error::InvalidState,
                 "the model was given as bytes, so it has no folder; load it from its file, or "
                 "embed the context");
  }
  std::error_code failed;
  const fs::path folder = fs::canonical(fs::absolute(model).parent_path(), failed);
  if (failed) return wrong(Error::AccessFailed, "the model's folder: ", failed.message());
  const fs::path file = fs::canonical(folder / relative, failed);
  if (failed) return wrong(Error::AccessFailed, failed.message());
  const fs::path inside = file.lexically_relative(folder);
  if (inside.empty() || *inside.begin() == ".." || inside.is_absolute()) {
    return wrong(Error::InvalidArgument, "leaves the model's folder by a link");
  }
  return file;
}

}}}  // namespace tenon::TENON_RELEASE::ort
