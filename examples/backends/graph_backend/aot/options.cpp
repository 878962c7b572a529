// SPDX-License-Identifier: MIT
#include "aot/options.hpp"

#include <charconv>
#include <string_view>
#include <system_error>
#include <tenon/aot/named_data_store.hpp>

namespace graph_backend {

namespace {

/// False for a value that does not fit.
bool set(Options& options, std::string_view key, std::string_view value) {
  if (key == "weights") {
    if (value == "named") options.weights = Weights::Named;
    if (value == "external") options.weights = Weights::External;
    return value == "inline" || options.weights != Weights::Inline;
  }
  if (key == "external_tag") {
    options.external_tag = value;
    return tenon::aot::NamedDataStore::check_tag(value).ok();
  }
  if (key == "fold") {
    options.fold = value == "1";
    return options.fold || value == "0";
  }
  const char* end = value.data() + value.size();
  const auto [stop, failed] = std::from_chars(value.data(), end, options.max_scratch_bytes);
  return failed == std::errc() && stop == end;
}

}  // namespace

tenon::Result<Options> read_options(const tenon::CompileSpecs& specs) {
  Options options;
  TENON_RETURN_IF_ERROR(tenon::aot::read_specs(
      specs, option_rows, [&](auto key, auto value) { return set(options, key, value); }));
  return options;
}

}  // namespace graph_backend
