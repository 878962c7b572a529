// SPDX-License-Identifier: MIT
#include "aot/options.hpp"

#include <tenon/aot.hpp>

#include "runtime/settings.hpp"

namespace openvino_backend {

tenon::Result<Options> read_options(const tenon::CompileSpecs& specs) {
  Options options;
  TENON_RETURN_IF_ERROR(tenon::aot::read_specs(specs, option_rows, [&](auto key, auto value) {
    if (key == "weights") {
      options.is_external = value == "external";
      return options.is_external || value == "named";
    }
    if (key == "external_tag") {
      options.external_tag = value;
      return tenon::aot::NamedDataStore::check_tag(value).ok();
    }
    return true;
  }));
  Settings checked;
  TENON_RETURN_IF_ERROR(apply_specs(specs, checked));
  return options;
}

}  // namespace openvino_backend
