// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/isolation/worker_isolation.hpp"

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/error.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/layers/discovery/impl/glob.hpp"
#include "tenon/host/layers/inspect/impl/template_plugin.hpp"
#include "tenon/host/layers/isolation/isolated_object.hpp"
#include "tenon/host/layers/trust/impl/library.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/impl/sealed_copy.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

inline constexpr TemplateNames isolated_names{"isolated plugin",
                                              "an isolated plugin",
                                              "isolated plugins",
                                              {isolated_mark, sizeof isolated_mark}};

inline std::string_view without_blanks(std::string_view text) noexcept {
  constexpr std::string_view left_out = " \t\r\n";
  const std::size_t first = text.find_first_not_of(left_out);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(left_out) - first + 1);
}

/// The worker, and the template next to it.
struct WorkerFiles {
  std::filesystem::path worker;
  std::filesystem::path template_file;
};

/// `named` is the application's choice. A plugin that `is_admitted` was let in by a policy of the
/// application, which no variable gets around.
///
/// errors: NotFound, which names the place.
inline Result<WorkerFiles> find_worker_files(const std::filesystem::path& named, bool is_admitted) {
  std::filesystem::path place = named;
  const bool takes_variable = named.empty() && !is_admitted;
  if (takes_variable) place = path_of(environment_variable("TENON_WORKER").value_or(""));
  if (place.empty()) place = installed_worker();
  WorkerFiles out{place, place.parent_path() / "tenon-isolated.so"};
  std::error_code failure;
  if (std::filesystem::is_regular_file(out.worker, failure) &&
      std::filesystem::is_regular_file(out.template_file, failure)) {
    return out;
  }
  return error(Error::NotFound,
               "the program of workers, with tenon-isolated.so next to it, is not ",
               place.empty() ? "known" : concat("at ", path_text(place)),
               takes_variable ? "; TENON_WORKER names another place" : "");
}

/// `isolated` itself when it has at least the restrictions of `profile`.
inline Result<OpenedFile> keep_isolated(const OpenedFile& file, const IsolatedObject& isolated,
                                        WorkerProfile profile) {
  const std::uint32_t own = isolated.settings.restriction;
  if (own >= static_cast<std::uint32_t>(profile) && own < std::size(worker_profile_names)) {
    return same_copy(file);
  }
  return error(Error::InvalidArgument, path_text(file.path),
               ": is an isolated plugin with another profile than ", worker_profile_name(profile),
               ", which is expected: make it again, of ", std::string_view(isolated.wrapped_path));
}

/// Of an application whose rules cannot be read: refuses all.
class NoIsolation final : public PluginIsolation {
 public:
  explicit NoIsolation(Status why) : why_(std::move(why)) {}
  [[nodiscard]] Result<bool> isolates(const PluginRecord&, std::string_view) const override {
    return error(why_.error(), why_.text());
  }
  [[nodiscard]] Result<OpenedFile> isolate(std::span<const OpenedFile>,
                                           const PluginRecord&) const override {
    return error(why_.error(), why_.text());
  }

 private:
  Status why_;
};

}  // namespace detail

Result<std::vector<IsolationRule>> parse_isolation_rules(std::string_view text) {
  std::vector<IsolationRule> out;
  for (std::string_view part : split(text, ',')) {
    part = detail::without_blanks(part);
    if (part.empty()) continue;
    const std::size_t end = part.rfind('=');
    IsolationRule rule{std::string(detail::without_blanks(part.substr(0, end)))};
    if (end != std::string_view::npos) {
      const std::string_view name = detail::without_blanks(part.substr(end + 1));
      const auto profile = parse_worker_profile(name);
      if (!profile) {
        return error(Error::InvalidArgument, quoted(part), ": the profile ", quoted(name),
                     " is unknown, expected none, open, driver or strict");
      }
      rule.settings.profile = *profile;
    }
    if (rule.pattern.empty()) {
      return error(Error::InvalidArgument, quoted(part),
                   ": has no pattern, expected PATTERN[=PROFILE]");
    }
    out.push_back(std::move(rule));
  }
  return out;
}

WorkerIsolation::WorkerIsolation(std::vector<IsolationRule> rules, std::filesystem::path worker)
    : rules_(std::move(rules)), worker_(std::move(worker)) {}

const IsolationRule* WorkerIsolation::rule_for(const PluginRecord& record,
                                               std::string_view file_name) const {
  for (const IsolationRule& rule : rules_) {
    if (!file_name.empty() && matches_glob(rule.pattern, file_name)) return &rule;
    for (const BackendRecord& backend : record.backends) {
      if (matches_glob(rule.pattern, backend.id)) return &rule;
    }
  }
  return nullptr;
}

Result<bool> WorkerIsolation::isolates(const PluginRecord& record,
                                       std::string_view file_name) const {
  return rule_for(record, file_name) != nullptr;
}

Result<OpenedFile> WorkerIsolation::isolate(std::span<const OpenedFile> files,
                                            const PluginRecord& record) const {
  const OpenedFile& file = files.back();
  const std::string name = path_text(file.path.filename());
  const IsolationRule* const rule = rule_for(record, name);
  if (!rule) return error(Error::InvalidState, path_text(file.path), ": no rule isolates it");
  if constexpr (!detail::has_sealed_copies) {
    return error(Error::NotSupported, path_text(file.path),
                 ": is to run in a process of its own, which exists for Linux alone: workers need "
                 "memfd, futex and pidfd");
  } else {
    const auto fill = [&](std::span<const std::byte> bytes) -> Result<OpenedFile> {
      TENON_TRY(const auto object, detail::object_in({bytes, file.path}));
      const auto* const isolated =
          detail::as_object<IsolatedObject>(object, detail::isolated_names);
      if (isolated) return detail::keep_isolated(file, *isolated, rule->settings.profile);
      TENON_TRY(const detail::WorkerFiles programs,
                detail::find_worker_files(worker_, file.is_admitted));
      TENON_TRY(const Sha256 digest, digest_of(files));
      TENON_TRY(const OpenedFile of_template, open_file(programs.template_file, file.trust));
      TENON_TRY(const auto made,
                with_bytes(of_template, [&](std::span<const std::byte> template_bytes) {
                  return detail::fill_template<IsolatedObject>(
                      detail::isolated_names, {template_bytes, of_template.path},
                      {bytes, file.path}, [&](IsolatedObject& filled) {
                        return fill_isolated_object(filled, path_text(file.path), digest,
                                                    programs.worker, rule->settings);
                      });
                }));
      return detail::sealed_file(made, file.path, file.trust, "to isolate it");
    };
    return with_bytes(file, fill);
  }
}

std::shared_ptr<const PluginIsolation> environment_isolation(std::filesystem::path worker) {
  const auto text = environment_variable("TENON_ISOLATE");
  if (!text || text->empty()) return nullptr;
  auto rules = parse_isolation_rules(*text);
  if (!rules.ok()) {
    return std::make_shared<detail::NoIsolation>(
        std::move(rules).status().with_context("TENON_ISOLATE"));
  }
  return std::make_shared<WorkerIsolation>(*std::move(rules), std::move(worker));
}

}}}  // namespace tenon::TENON_RELEASE::host
