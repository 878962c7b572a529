// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/core/result.hpp"
#include "tenon/onnxruntime/api/functions.hpp"
#include "tenon/onnxruntime/api/types.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// The minor version in "1.32.0"; nothing for a text that is no version of ONNX Runtime 1.
[[nodiscard]] inline std::optional<std::uint32_t> minor_version(std::string_view version) noexcept {
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  std::uint32_t out = 0;
  const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), out);
  const bool ends = end == version.data() + version.size() || *end == '.' || *end == '-';
  if (failed != std::errc() || !ends) return std::nullopt;
  return out;
}

/// The code that ONNX Runtime's bindings turn into the closest exception.
[[nodiscard]] constexpr ErrorCode error_code(Error error) noexcept {
  switch (error) {
    case Error::Ok:
      return ErrorCode::Ok;
    case Error::InvalidArgument:
    case Error::InvalidType:
      return ErrorCode::InvalidArgument;
    case Error::AccessFailed:
      return ErrorCode::NoSuchFile;
    case Error::NotSupported:
    case Error::NotImplemented:
    case Error::OperatorMissing:
      return ErrorCode::NotImplemented;
    case Error::InvalidProgram:
    case Error::InvalidExternalData:
    case Error::DelegateInvalidCompatibility:
      return ErrorCode::InvalidGraph;
    case Error::DeviceLost:
      return ErrorCode::EngineError;
    default:
      return ErrorCode::Fail;
  }
}

/// The level in ONNX Runtime's log of a TENON_LOG_....
[[nodiscard]] constexpr LoggingLevel logging_level(std::int32_t level) noexcept {
  if (level >= TENON_LOG_FATAL) return LoggingLevel::Fatal;
  if (level == TENON_LOG_ERROR) return LoggingLevel::Error;
  return level == TENON_LOG_INFO ? LoggingLevel::Info : LoggingLevel::Verbose;
}

/// The tables of the ONNX Runtime that loaded this library. A value; any thread.
class Runtime {
 public:
  /// errors: NotSupported for an ONNX Runtime before 1.23, or one that has no such tables.
  [[nodiscard]] static Result<Runtime> open(const ApiBase* base) {
    if (!base) return error(Error::InvalidArgument, "expected OrtApiBase, found null");
    const char* const text = base->get_version_string();
    const std::string_view version = text ? text : "";
    const auto minor = minor_version(version);
    if (!minor || *minor < api_version) {
      return error(Error::NotSupported, "expected ONNX Runtime 1.", api_version,
                   " or later, found '", version, "'");
    }
    Runtime out;
    out.minor_ = *minor;
    if (out.set(Table::Api, base->get_api(api_version)) &&
        out.set(Table::EpApi, out.call(api::GetEpApi))) {
      return out;
    }
    return error(Error::NotSupported, "ONNX Runtime ", version, " has no API of version ",
                 api_version, " for execution providers");
  }

  /// A failure of `open` for ONNX Runtime: the first version has what makes it.
  [[nodiscard]] static StatusPointer refuse(const ApiBase* base, const Status& status) noexcept {
    Runtime first;
    return base && first.set(Table::Api, base->get_api(1)) ? first.to_ort(status) : nullptr;
  }

  /// Whether the loaded ONNX Runtime has the function.
  template <class Signature>
  [[nodiscard]] bool has(const Function<Signature>& function) const noexcept {
    return function.since <= minor_;
  }

  template <class R, class... A>
  R call(const Function<R(A...)>& function, std::type_identity_t<A>... args) const {
    R (*target)(A...) = nullptr;
    std::memcpy(&target, table_of(function.table) + function.slot * sizeof target, sizeof target);
    return target(args...);
  }

  /// The outcome of a function that returns an OrtStatus.
  template <class... A>
  [[nodiscard]] Status check(const Function<StatusPointer(A...)>& function,
                             std::type_identity_t<A>... args) const {
    StatusPointer failed = call(function, args...);
    return failed ? take(failed, function.name) : ok();
  }

  /// `status` for ONNX Runtime, which owns it: null for success.
  [[nodiscard]] StatusPointer to_ort(const Status& status) const noexcept {
    if (status.ok()) [[likely]]
      return nullptr;
    return fail(status);
  }

  /// Runs `function`, which returns a Status. No exception leaves.
  template <class F>
  [[nodiscard]] StatusPointer guarded(const F& function) const noexcept {
    try {
      return to_ort(function());
    } catch (const std::exception& failed) {
      return call(api::CreateStatus, ErrorCode::Fail, failed.what());
    }
  }

  /// Writes a line to `logger`, which may be null. `source` names the speaker, and may be empty.
  void log(const Logger* logger, LoggingLevel level, std::string_view source,
           std::string_view text) const noexcept {
    if (!logger) return;
    try {
      StatusPointer failed = call(
          api::Logger_LogMessage, logger, level,
          concat("tenon: ", source, source.empty() ? "" : ": ", text).c_str(), file_name, 0, "");
      if (failed) call(api::ReleaseStatus, failed);
    } catch (const std::exception&) {  // A line of the log is lost where memory is.
    }
  }

 private:
  Runtime() noexcept = default;

  /// False for no table.
  [[nodiscard]] bool set(Table table, const void* functions) noexcept {
    tables_[static_cast<std::size_t>(table)] = static_cast<const std::byte*>(functions);
    return functions != nullptr;
  }

#if defined(_WIN32)
  static constexpr const PathChar* file_name = L"tenon";
#else
  static constexpr const PathChar* file_name = "tenon";
#endif

  [[nodiscard]] const std::byte* table_of(Table table) const noexcept {
    return tables_[static_cast<std::size_t>(table)];
  }

  [[gnu::cold]] Status take(StatusPointer failed, std::string_view function) const {
    const char* const text = call(api::GetErrorMessage, failed);
    Status out = error(Error::Internal, function, " of ONNX Runtime: ", text ? text : "");
    call(api::ReleaseStatus, failed);
    return out;
  }

  [[gnu::cold]] StatusPointer fail(const Status& status) const noexcept {
    try {
      return call(api::CreateStatus, error_code(status.error()),
                  concat("Tenon: ", describe(status)).c_str());
    } catch (const std::exception&) {
      return call(api::CreateStatus, ErrorCode::Fail, "Tenon: no memory for the text of a failure");
    }
  }

  std::array<const std::byte*, 2> tables_{};
  std::uint32_t minor_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::ort
