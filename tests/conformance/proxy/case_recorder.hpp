// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/boundary/observed_roles.hpp"
#include "recorded_case.hpp"
#include "tenon/abi/backend.h"
#include "tenon/core/options.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/struct_size.hpp"
#include "tenon/host/layers/arrays/array.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// Records the inputs and outputs of one delegate, for a `RecordedCase`. If any of them cannot be
/// recorded, there is no case but a reason. One thread at a time, except for the named data map.
class CaseRecorder {
 public:
  /// `context` is the plugin's; its named data map must outlive this.
  CaseRecorder(std::string backend_id, const tenon_init_context& context, std::uint32_t max_runs)
      : map_{sizeof(tenon_named_data_map), 0, &get_data, &get_tensor_layout, &get_key},
        theirs_(context.named_data_map),
        max_runs_(max_runs) {
    if (theirs_) map_.num_keys = theirs_->num_keys;
    RecordedProgram& program = case_.program;
    program.backend_id = std::move(backend_id);
    if (context.method_name) program.method = context.method_name;
    if (context.processed) {
      program.blob = copy(context.processed->data, context.processed->nbytes);
    }
    keep_compile_specs(context);
    keep_runtime_specs(context);
  }
  CaseRecorder(const CaseRecorder&) = delete;
  CaseRecorder& operator=(const CaseRecorder&) = delete;

  /// The map for the plugin, in place of the context's map.
  [[nodiscard]] const tenon_named_data_map* named_data() const noexcept {
    return theirs_ ? &map_ : nullptr;
  }

  void before(std::span<tenon_value* const> args) {
    if (!why_not_.empty() || case_.runs.size() >= max_runs_) return;
    current_.emplace();
    take_all(args, current_->before);
    if (!current_) return;
    auto& declared = case_.program.arguments;
    if (case_.runs.empty()) {
      declared.clear();
      for (const RecordedValue& one : current_->before) declared.push_back(one.argument);
    }
    if (args.size() != declared.size()) give_up("the number of arguments changes");
  }
  void after(std::span<tenon_value* const> args, bool succeeded) {
    if (current_ && succeeded) take_all(args, current_->after);
    if (current_ && succeeded) case_.runs.push_back(*std::move(current_));
    current_.reset();
  }

  /// Writes the case into a new directory below `parent` and returns its path; nothing if the
  /// delegate was never executed.
  ///
  /// errors: NotSupported with the reason why there is no case; AccessFailed.
  [[nodiscard]] Result<std::optional<std::filesystem::path>> finish(
      const std::filesystem::path& parent, const ObservedRoles& roles) {
    if (asked_layout_) give_up("it asked for the layout of named data, which a .pte lacks");
    if (!why_not_.empty()) return error(Error::NotSupported, why_not_);
    if (case_.runs.empty()) return std::optional<std::filesystem::path>();
    for (std::size_t i = roles.first_output(); i < case_.program.arguments.size(); ++i) {
      case_.program.arguments[i].is_output = true;
    }
    drop_runs_with_other_numbers();
    for (auto& [key, bytes] : asked_) case_.program.named_data.emplace_back(key, bytes);
    TENON_TRY(auto directory, write_case(case_, parent));
    return std::optional(std::move(directory));
  }

 private:
  static std::vector<std::byte> copy(const void* data, std::uint64_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    return data ? std::vector<std::byte>(bytes, bytes + size) : std::vector<std::byte>();
  }

  /// Ends the recording.
  template <class... Parts>
  void give_up(const Parts&... parts) {
    if (why_not_.empty()) why_not_ = concat(parts...);
    current_.reset();
    case_.runs.clear();
  }
  void keep_compile_specs(const tenon_init_context& context) {
    const tenon::detail::StridedArray specs(context.compile_specs, context.num_compile_specs);
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      case_.program.compile_specs.emplace_back(specs[i].key,
                                               copy(specs[i].value, specs[i].value_size));
    }
  }
  void keep_runtime_specs(const tenon_init_context& context) {
    const tenon::detail::StridedArray specs(context.runtime_specs, context.num_runtime_specs);
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      const OptionView given(specs[i]);
      nlohmann::ordered_json& value = case_.runtime_specs[specs[i].key];
      if (const auto boolean = given.boolean()) {
        value = *boolean;
      } else if (const auto integer = given.integer()) {
        value = *integer;
      } else if (const auto real = given.real()) {
        value = *real;
      } else if (const auto text = given.string()) {
        value = *text;
      } else {
        give_up("the runtime spec '", std::string_view(specs[i].key), "' is bytes");
      }
    }
  }

  void take_all(std::span<tenon_value* const> args, std::vector<RecordedValue>& out) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      auto value = record_value(*args[i]);
      if (!value.ok()) return give_up("argument ", i, ": ", value.text());
      out.push_back(*std::move(value));
    }
  }

  /// An input that is not a tensor is part of the program. Drops the first run with another value,
  /// and the runs after it: they would need another program.
  void drop_runs_with_other_numbers() {
    const auto& declared = case_.program.arguments;
    for (std::size_t run = 1; run < case_.runs.size(); ++run) {
      for (std::size_t i = 0; i < declared.size(); ++i) {
        if (declared[i].is_output || std::holds_alternative<RecordedTensor>(declared[i].value)) {
          continue;
        }
        if (case_.runs[run].before[i].argument.value == declared[i].value) continue;
        return case_.runs.resize(run);
      }
    }
  }

  static CaseRecorder& self(const tenon_named_data_map* map) noexcept {
    return *const_cast<CaseRecorder*>(reinterpret_cast<const CaseRecorder*>(map));
  }
  static tenon_status get_data(const tenon_named_data_map* map, const char* key, std::uint64_t size,
                               tenon_buffer* out) {
    CaseRecorder& recorder = self(map);
    const tenon_status status = recorder.theirs_->get_data(recorder.theirs_, key, size, out);
    if (status == TENON_STATUS_OK) {
      const std::lock_guard lock(recorder.mutex_);
      recorder.asked_.try_emplace(std::string(key, static_cast<std::size_t>(size)),
                                  copy(out->data, out->nbytes));
    }
    return status;
  }
  static tenon_status get_tensor_layout(const tenon_named_data_map* map, const char* key,
                                        std::uint64_t size, tenon_tensor_layout* out) {
    CaseRecorder& recorder = self(map);
    const tenon_status status =
        recorder.theirs_->get_tensor_layout(recorder.theirs_, key, size, out);
    if (status == TENON_STATUS_OK) {
      const std::lock_guard lock(recorder.mutex_);
      recorder.asked_layout_ = true;
    }
    return status;
  }
  static tenon_status get_key(const tenon_named_data_map* map, std::uint32_t index,
                              const char** key, std::uint64_t* size) {
    const tenon_named_data_map* theirs = self(map).theirs_;
    return theirs->get_key(theirs, index, key, size);
  }

  tenon_named_data_map map_;  // First, so that a plugin's pointer to it is a pointer to this.
  const tenon_named_data_map* theirs_;
  std::uint32_t max_runs_;
  RecordedCase case_;
  std::optional<RecordedRun> current_;
  std::string why_not_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::byte>> asked_;
  bool asked_layout_ = false;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
