// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <utility>
#include <vector>

namespace openvino_backend {

/// The most that an option may have of threads or streams.
inline constexpr std::int64_t most_threads = 4096;

/// How one blob is loaded. An empty text and a 0 leave the choice to OpenVINO, except as said.
struct Settings {
  std::string device;                      ///< Empty: the blob's own, or CPU.
  std::int64_t num_streams = 0;            ///< Runs that the device works on at the same time.
  std::int64_t inference_num_threads = 0;  ///< Threads for one run; 0: as many as the machine has.
  std::string performance_hint;
  std::string model_priority;       ///< LOW, MEDIUM or HIGH.
  std::string inference_precision;  ///< Empty: f32, as the program computes.
  bool profiling = false;

  /// OpenVINO's properties for the device. Each one has a value in every list, so that two equal
  /// lists mean two equal configurations.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> properties() const;
};

/// Fails with InvalidArgument when option `key` may not have `value`.
[[nodiscard]] tenon::Status check_option(std::string_view key, std::int64_t value);
[[nodiscard]] tenon::Status check_option(std::string_view key, std::string_view value);

/// Fills what `settings` leaves open with the compile specs of the same names, which are text.
/// Other specs are the ahead-of-time half's and are ignored. InvalidArgument for a bad value.
[[nodiscard]] tenon::Status apply_specs(tenon::CompileSpecs specs, Settings& settings);

}  // namespace openvino_backend
