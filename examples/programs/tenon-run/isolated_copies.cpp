// SPDX-License-Identifier: MIT
#include "isolated_copies.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "make_isolated.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::run {

namespace fs = std::filesystem;

IsolatedCopies::~IsolatedCopies() {
  std::error_code ignored;
  if (!directory_.empty()) fs::remove_all(directory_, ignored);
}

Status IsolatedCopies::make_directory() {
  if (!directory_.empty()) return ok();
#if defined(__linux__)
  std::error_code failure;
  const fs::path parent = fs::temp_directory_path(failure);
  if (failure) {
    return error(Error::AccessFailed, "no directory for temporary files: ", failure.message());
  }
  std::string name = host::path_text(parent / "tenon-run-XXXXXX");
  if (!::mkdtemp(name.data())) {
    const int reason = errno;
    return error(Error::AccessFailed, name, ": ", std::generic_category().message(reason));
  }
  directory_ = host::path_of(name);
#endif
  return ok();
}

Result<fs::path> IsolatedCopies::make(const fs::path& plugin, const std::string& profile) {
  isolate::Request request;
  TENON_TRY(request.template_file, isolate::find_template());
  TENON_TRY(request.worker, isolate::find_worker());
  TENON_RETURN_IF_ERROR(make_directory());
  request.plugin = plugin;
  request.profile = profile;
  request.out = directory_ / concat(plugin.stem().string(), "-", ++count_, ".so");
  TENON_TRY(const isolate::Made made, isolate::make_isolated(request));
  return made.out;
}

}  // namespace tenon::run
