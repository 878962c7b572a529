// SPDX-License-Identifier: MIT
#include "aot/options.hpp"

#include <algorithm>
#include <tenon/aot.hpp>

#include "runtime/settings.hpp"

namespace openvino_backend {

using tenon::Error;

tenon::Result<Options> read_options(const tenon::CompileSpecs& specs) {
  Options options;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string_view key = specs[i].key;
    const auto* row = std::ranges::find(option_rows, key, &OptionRow::key);
    if (row == std::end(option_rows)) {
      std::string known;
      for (const OptionRow& one : option_rows) {
        known += tenon::concat(known.empty() ? "" : ", ", one.key);
      }
      return error(Error::NotFound, "option '", key.substr(0, 64),
                   "' is unknown; there are: ", known);
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (specs[k].key == key) {
        return error(Error::InvalidArgument, "option '", key, "' is given twice");
      }
    }
    const std::string_view value = tenon::as_text(specs[i].value);
    bool fits = true;
    if (key == "weights") {
      options.is_external = value == "external";
      fits = options.is_external || value == "named";
    } else if (key == "external_tag") {
      fits = tenon::aot::NamedDataStore::check_tag(value).ok();
      options.external_tag = value;
    }
    if (!fits) {
      return error(Error::InvalidArgument, "option '", key, "': expected ", row->values,
                   ", found '", value.substr(0, 64), "'");
    }
  }
  Settings checked;
  TENON_RETURN_IF_ERROR(apply_specs(specs, checked));
  return options;
}

}  // namespace openvino_backend
