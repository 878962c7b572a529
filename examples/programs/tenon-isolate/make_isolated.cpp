// SPDX-License-Identifier: MIT
#include "make_isolated.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "isolated_files.hpp"
#include "template_plugin.hpp"
#include "tenon/core/sha256.hpp"
#include "tenon/host/layers/isolation/isolated_object.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"
#include "tenon/host/layers/trust/sha256.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon::isolate {

namespace fs = std::filesystem;

namespace {

/// The files that workers load, which are to be what is wrapped.
Result<Sha256> digest_of(const tool::WrappedFile& wrapped) {
  TENON_TRY(host::OpenedFile file, host::open_file(wrapped.absolute, host::Trust::caller));
  TENON_TRY(const auto files, host::Library::files_of(std::move(file)));
  TENON_TRY(const Sha256 of_plugin, host::sha256_of_file(files.back().descriptor.get()));
  if (of_plugin == sha256_of(wrapped.bytes)) return host::digest_of(files);
  return error(Error::InvalidState, host::path_text(wrapped.absolute),
               ": was replaced while it was read");
}

}  // namespace

Result<fs::path> find_template() {
  return find_isolated_file("the template of isolated plugins", "tenon-isolated.so");
}

Result<fs::path> find_worker() {
  return find_isolated_file("the program of workers", "tenon-worker");
}

Result<Made> make_isolated(const Request& request) {
  constexpr tool::TemplateNames names{"isolated plugin",
                                      "an isolated plugin",
                                      "isolated plugins",
                                      {host::isolated_mark, sizeof host::isolated_mark}};
  Made made;
  made.out = request.out;
  made.settings = request.settings;
  const auto fill = [&](host::IsolatedObject& object, const tool::WrappedFile& wrapped) -> Status {
    std::error_code failure;
    const fs::path directory =
        fs::canonical(fs::absolute(request.out, failure).parent_path(), failure);
    // A plugin next to the isolated one may be moved with it.
    const bool is_beside = !failure && directory == wrapped.absolute.parent_path();
    made.wrapped = host::path_text(is_beside ? wrapped.absolute.filename() : wrapped.absolute);
    TENON_TRY(const Sha256 hash, digest_of(wrapped));
    made.sha256 = hash.to_hex();
    for (std::size_t i = 0; i < object.head.num_backends; ++i) {
      made.backends.emplace_back(object.records[i].id);
    }
    return host::fill_isolated_object(object, made.wrapped, hash, request.worker, request.settings);
  };
  TENON_RETURN_IF_ERROR(tool::make_from_template<host::IsolatedObject>(
      names, request.template_file, request.plugin, request.out, request.force, fill));
  return made;
}

}  // namespace tenon::isolate
