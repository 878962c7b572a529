// SPDX-License-Identifier: MIT
#include "make_proxy.hpp"

#include <string_view>
#include <system_error>

#include "program_path.hpp"
#include "proxy_object.hpp"
#include "template_plugin.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace fs = std::filesystem;

Result<fs::path> find_proxy_template() {
  constexpr std::string_view name = "tenon-proxy.so";
  std::error_code failure;
  const fs::path directory = program_path().parent_path();
  const fs::path built = directory / "proxy" / name;
  const fs::path installed = (directory / TENON_PROXY_DIRECTORY / name).lexically_normal();
  for (const fs::path& path : {built, installed}) {
    if (fs::is_regular_file(path, failure)) return path;
  }
  return error(Error::NotFound, "the template of proxies is neither at ", host::path_text(built),
               " nor at ", host::path_text(installed));
}

Status make_proxy(const fs::path& template_file, const fs::path& plugin, const fs::path& out,
                  bool force) {
  constexpr tool::TemplateNames names{
      "proxy", "a proxy", "proxies", {proxy_mark, sizeof proxy_mark}};
  const auto fill = [](ProxyObject& object, const tool::WrappedFile& wrapped) {
    host::path_text(wrapped.absolute).copy(object.wrapped_path, wrapped_path_size - 1);
    return ok();
  };
  return tool::make_from_template<ProxyObject>(names, template_file, plugin, out, force, fill);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
