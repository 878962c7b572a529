// SPDX-License-Identifier: MIT
#include "runtime/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace openvino_backend {
namespace {

using tenon::Error;

constexpr std::array<std::string_view, 4> hints = {"", "LATENCY", "THROUGHPUT",
                                                   "CUMULATIVE_THROUGHPUT"};
constexpr std::array<std::string_view, 5> precisions = {"", "f32", "bf16", "f16", "dynamic"};

template <std::size_t size>
tenon::Status one_of(const std::array<std::string_view, size>& allowed, std::string_view key,
                     std::string_view value) {
  if (std::ranges::find(allowed, value) != allowed.end()) return tenon::ok();
  std::string all = "nothing";
  for (const std::string_view one : allowed) all += one.empty() ? "" : tenon::concat(", ", one);
  return tenon::error(Error::InvalidArgument, key, ": expected ", all, "; found '", value, "'");
}

tenon::Result<std::int64_t> number(std::string_view key, std::string_view text) {
  std::int64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed == std::errc() && end == text.data() + text.size()) return out;
  return tenon::error(Error::InvalidArgument, "compile spec ", key, ": expected a number, found '",
                      text, "'");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Settings::properties() const {
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("INFERENCE_PRECISION_HINT",
                   inference_precision.empty() ? "f32" : inference_precision);
  out.emplace_back("PERF_COUNT", profiling ? "YES" : "NO");
  if (!performance_hint.empty()) out.emplace_back("PERFORMANCE_HINT", performance_hint);
  if (!model_priority.empty()) out.emplace_back("MODEL_PRIORITY", model_priority);
  if (num_streams != 0) out.emplace_back("NUM_STREAMS", std::to_string(num_streams));
  if (inference_num_threads != 0) {
    out.emplace_back("INFERENCE_NUM_THREADS", std::to_string(inference_num_threads));
  }
  return out;
}

tenon::Status check_option(std::string_view key, std::int64_t value) {
  if (value >= 0 && value <= most_threads) return tenon::ok();
  return tenon::error(Error::InvalidArgument, key, ": expected 0 to ", most_threads, ", found ",
                      value);
}

tenon::Status check_option(std::string_view key, std::string_view value) {
  if (value.find('\0') != std::string_view::npos) {
    return tenon::error(Error::InvalidArgument, key, ": expected text without a NUL");
  }
  if (key == "performance_hint") return one_of(hints, key, value);
  if (key == "inference_precision") return one_of(precisions, key, value);
  return tenon::ok();
}

tenon::Status apply_specs(tenon::CompileSpecs specs, Settings& settings) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string_view key = specs[i].key;
    std::string_view text = tenon::as_text(specs[i].value);
    // Exporters write text with or without a NUL at its end.
    while (text.ends_with('\0')) text.remove_suffix(1);
    const auto fill_text = [&](std::string& setting) -> tenon::Status {
      TENON_RETURN_IF_ERROR(check_option(key, text));
      if (setting.empty()) setting = text;
      return tenon::ok();
    };
    const auto fill_number = [&](std::int64_t& setting) -> tenon::Status {
      TENON_TRY(const std::int64_t value, number(key, text));
      TENON_RETURN_IF_ERROR(check_option(key, value));
      if (setting == 0) setting = value;
      return tenon::ok();
    };
    if (key == "device") TENON_RETURN_IF_ERROR(fill_text(settings.device));
    if (key == "performance_hint") TENON_RETURN_IF_ERROR(fill_text(settings.performance_hint));
    if (key == "inference_precision") {
      TENON_RETURN_IF_ERROR(fill_text(settings.inference_precision));
    }
    if (key == "num_streams") TENON_RETURN_IF_ERROR(fill_number(settings.num_streams));
    if (key == "inference_num_threads") {
      TENON_RETURN_IF_ERROR(fill_number(settings.inference_num_threads));
    }
  }
  return tenon::ok();
}

}  // namespace openvino_backend
