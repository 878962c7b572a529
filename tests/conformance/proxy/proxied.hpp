// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "make_proxy.hpp"
#include "support/environment.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/arrays/npy.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"
#include "tenon/host/loader/program/program.hpp"

namespace tenon::test {

/// An application in this process that loads a proxy of a plugin. Keeps the log of the proxy.
class Proxied {
 public:
  explicit Proxied(const std::string& plugin, ::test::Variables variables = {})
      : environment_(std::move(variables)), registry_(info()) {
    path_ = directory_ / ("proxy_of_" + std::filesystem::path(plugin).filename().string());
    const Status made = conformance::make_proxy(TENON_TEST_PROXY_TEMPLATE, plugin, path_, false);
    if (!made.ok()) throw std::runtime_error(std::string(made.text()));
    if (const Status known = registry_.register_backend(path_); !known.ok()) {
      throw std::runtime_error(std::string(known.text()));
    }
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return directory_.file(name); }
  [[nodiscard]] host::BackendRegistry& registry() noexcept { return registry_; }

  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(const std::filesystem::path& program) {
    TENON_TRY(auto opened, host::Program::open(program));
    host::MethodOptions options;
    options.registry = &registry_;
    return host::Method::load(opened, "forward", std::move(options));
  }

  /// The lines of `level` that begin with `begin`.
  [[nodiscard]] std::vector<std::string> logged(std::int32_t level, std::string_view begin) const {
    std::vector<std::string> out;
    for (const auto& [its_level, text] : *log_) {
      if (its_level == level && text.starts_with(begin)) out.push_back(text);
    }
    return out;
  }
  [[nodiscard]] std::vector<std::string> findings() const { return logged(TENON_LOG_ERROR, "TN-"); }

 private:
  using Log = std::vector<std::pair<std::int32_t, std::string>>;

  host::HostInfo info() {
    host::HostInfo out;
    out.log = [log = log_](std::int32_t level, std::string_view, std::string_view text) {
      log->emplace_back(level, text);
    };
    return out;
  }

  ::test::ScopedEnvironment environment_;
  TemporaryDirectory directory_;
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
  std::filesystem::path path_;
  host::BackendRegistry registry_;
};

/// Float32 inputs and outputs of a method as vectors. The caller owns an input until the run.
inline Status set_input(host::Method& method, std::size_t index, const std::vector<float>& values,
                        const std::vector<std::int64_t>& sizes) {
  return method.set_input(
      index, host::InputTensor{ScalarType::Float, sizes, std::as_bytes(std::span(values))});
}
inline std::vector<float> output(const host::Method& method, std::size_t index) {
  const tenon_tensor& tensor = *method.output(index).as.tensor;
  const auto* data = static_cast<const float*>(tensor.dl.data);
  return {data, data + tensor.nbytes / sizeof(float)};
}

inline std::string zoo_plugin(std::string_view name) {
  return std::string(TENON_TEST_CONFORMANCE_ZOO "/").append(name) + ".so";
}
inline std::string zoo_case(std::string_view name) {
  return std::string(TENON_TEST_CONFORMANCE_ZOO "/cases/").append(name) + "/model.pte";
}

}  // namespace tenon::test
