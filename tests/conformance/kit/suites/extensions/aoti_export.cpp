// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/draft/aoti_export.h"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/subject.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/json.hpp"
#include "tenon/host/loader/files/quoted.hpp"

/// Suite "aoti": what a backend for AOTInductor models says to exporters (extension
/// "tenon.aoti_export/1").
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(aoti_export)

namespace {

/// The table of an opened backend, checked as far as reading it needs.
class AotiExportTable {
 public:
  /// Ends the test as `not_applicable` without the extension, and as `blocked` when its table is
  /// too short, which TN-EXT-1 judges.
  AotiExportTable(Context& kit, OpenedBackend& opened) : opened_(opened) {
    const void* found = nullptr;
    watch("get_extension",
          [&] { found = opened.api().get_extension(opened.raw(), TENON_EXTENSION_AOTI_EXPORT); });
    if (!found) kit.not_applicable("the backend has no extension " TENON_EXTENSION_AOTI_EXPORT);
    std::uint32_t size = 0;
    std::memcpy(&size, found, sizeof size);
    if (size < sizeof table_) kit.blocked("the table of " TENON_EXTENSION_AOTI_EXPORT " is short");
    std::memcpy(&table_, found, sizeof table_);
  }

  [[nodiscard]] const tenon_aoti_export_v1& table() const noexcept { return table_; }

  /// Names of `fallback_kernels`; a name that is NULL is empty here.
  [[nodiscard]] std::vector<std::string> kernels() const {
    std::vector<std::string> out;
    if (table_.fallback_kernels == nullptr) return out;
    for (std::uint32_t i = 0; i < table_.num_fallback_kernels; ++i) {
      const char* const name = table_.fallback_kernels[i];
      out.emplace_back(name ? name : "");
    }
    return out;
  }

  /// Whether models find the function.
  [[nodiscard]] bool serves(const std::string& function) {
    std::int32_t out = 0;
    watch("serves", [&] { out = table_.serves(opened_.raw(), function.c_str()); });
    return out != 0;
  }

 private:
  template <class Call>
  void watch(const char* name, Call call) {
    opened_.boundary().watched().watch().nothing_of(name, 0, call);
  }

  OpenedBackend& opened_;
  tenon_aoti_export_v1 table_{};
};

/// Names of `first` that `second` lacks, separated by commas; the first few.
[[nodiscard]] std::string missing_names(const std::vector<std::string>& first,
                                        const std::vector<std::string>& second) {
  constexpr std::size_t shown = 5;
  const std::vector<std::string> sorted = [&] {
    auto copy = second;
    std::ranges::sort(copy);
    return copy;
  }();
  std::string out;
  std::size_t count = 0;
  for (const std::string& name : first) {
    if (std::ranges::binary_search(sorted, name)) continue;
    if (++count <= shown) out += concat(count == 1 ? "" : ", ", host::quoted(name));
  }
  return count > shown ? concat(out, " and ", count - shown, " more") : out;
}

}  // namespace

TENON_CONFORMANCE_TEST("aoti/finds-exported-functions",
                       "models find each function that exporters may use",
                       "[aoti][level-5][backend][TN-AEX-1]") {
  OpenedBackend opened(kit);
  AotiExportTable exported(kit, opened);
  auto names = exported.kernels();
  kit.expect("TN-AEX-1", names.size() == exported.table().num_fallback_kernels,
             "fallback_kernels is NULL, expected ", exported.table().num_fallback_kernels,
             " names");
  if (!kit.expect("TN-AEX-1", exported.table().serves != nullptr, "serves is NULL")) return;
  for (const std::string& name : names) {
    kit.expect("TN-AEX-1", !name.empty() && exported.serves(name), "fallback_kernels names ",
               host::quoted(name), ", which models do not find");
  }
  constexpr const char* unknown = "aoti_torch_no_such_function_of_any_backend";
  kit.expect("TN-AEX-1", !exported.serves(unknown), "serves finds '", unknown, "'");
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  kit.expect("TN-AEX-1", twice == names.end(), "fallback_kernels names ",
             host::quoted(twice == names.end() ? std::string_view() : *twice), " twice");
}

TENON_CONFORMANCE_TEST("aoti/matches-exporter-list",
                       "the list of the exporter is that of the backend",
                       "[aoti][level-5][backend][TN-AEX-2]") {
  const auto& listed = kit.backend().fallback_kernels;
  if (!listed) kit.not_applicable("the subject names no list (fallback_kernels)");
  OpenedBackend opened(kit);
  const AotiExportTable exported(kit, opened);
  const auto names = exported.kernels();
  const std::string unlisted = missing_names(names, *listed);
  kit.expect("TN-AEX-2", unlisted.empty(), "the exporter's list lacks ", unlisted,
             ", which the backend has");
  const std::string absent = missing_names(*listed, names);
  kit.expect("TN-AEX-2", absent.empty(), "the exporter's list names ", absent,
             ", which the backend does not offer");
}

TENON_CONFORMANCE_TEST("aoti/export-table-complete", "what exporters read is complete",
                       "[aoti][level-5][backend][TN-AEX-3]") {
  OpenedBackend opened(kit);
  const AotiExportTable exported(kit, opened);
  const tenon_aoti_export_v1& table = exported.table();
  const auto text = [](const char* value) { return std::string_view(value ? value : ""); };
  for (const auto& [name, value] : {std::pair{"device_name", text(table.device_name)},
                                    std::pair{"torch_device", text(table.torch_device)}}) {
    kit.expect("TN-AEX-3", !value.empty(), name, " is NULL or empty");
  }
  for (const auto& [name, value] : {std::pair{"decompositions", text(table.decompositions)},
                                    std::pair{"compile_options", text(table.compile_options)}}) {
    const auto json = parse_json(value);
    kit.expect("TN-AEX-3", json.ok() && json->is_object(), name, " is ", host::quoted(value),
               ", expected a JSON object", json.ok() ? "" : ": ", json.text());
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
