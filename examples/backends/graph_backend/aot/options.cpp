// SPDX-License-Identifier: MIT
#include "aot/options.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <tenon/core/bytes.hpp>

namespace graph_backend {

using tenon::Error;
using tenon::Status;

namespace {

Status bad_value(const OptionRow& row, std::string_view value) {
  return error(Error::InvalidArgument, "option '", row.key, "': expected ", row.values, ", found '",
               value.substr(0, 64), "'");
}

Status set(Options& options, const OptionRow& row, std::string_view value) {
  if (row.key == "weights") {
    if (value == "inline") {
      options.weights = Weights::Inline;
    } else if (value == "named") {
      options.weights = Weights::Named;
    } else if (value == "external") {
      options.weights = Weights::External;
    } else {
      return bad_value(row, value);
    }
  } else if (row.key == "external_tag") {
    const bool is_name = !value.empty() && std::ranges::all_of(value, [](char letter) {
      return letter != '/' && static_cast<unsigned char>(letter) >= 0x20;
    });
    if (!is_name) return bad_value(row, value);
    options.external_tag = value;
  } else if (row.key == "fold") {
    if (value != "0" && value != "1") return bad_value(row, value);
    options.fold = value == "1";
  } else {
    const char* end = value.data() + value.size();
    const auto [stop, failed] = std::from_chars(value.data(), end, options.max_scratch_bytes);
    if (value.empty() || failed != std::errc() || stop != end) return bad_value(row, value);
  }
  return tenon::ok();
}

}  // namespace

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
    TENON_RETURN_IF_ERROR(set(options, *row, tenon::as_text(specs[i].value)));
  }
  return options;
}

}  // namespace graph_backend
