// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/checked_options.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/extensions/options.h"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/extensions.hpp"
#include "tenon/core/options.hpp"

/// Suite "options": extension "tenon.options/1", and the look-up of extensions.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(options)

namespace {

/// The outputs of the case's runs with a method loaded now; a failure ends the test as `blocked`.
[[nodiscard]] std::vector<std::vector<std::byte>> outputs_of_new(LiveCase& live) {
  const auto method = live.load();
  return live.run(*method);
}

/// Ends the test where two loads differ by themselves.
[[nodiscard]] std::vector<std::vector<std::byte>> repeated_outputs(Context& kit, LiveCase& live) {
  if (!kit.backend().deterministic) kit.not_applicable("the backend is not deterministic");
  auto outputs = outputs_of_new(live);
  if (outputs != outputs_of_new(live)) kit.blocked("two loads of the case give other outputs");
  return outputs;
}

}  // namespace

TENON_CONFORMANCE_TEST("options/extensions-by-id", "extensions are answered by their ids alone",
                       "[options][level-5][backend][TN-EXT-1]") {
  OpenedBackend opened(kit);
  const auto ask = [&](const char* id) {
    const void* found = nullptr;
    opened.boundary().watched().watch().nothing_of(
        "get_extension", 0, [&] { found = opened.api().get_extension(opened.raw(), id); });
    return found;
  };
  const std::string long_id(5000, 'x');
  for (const char* id : {"", "x", "tenon-conformance.unknown/1", "tenon.options/",
                         TENON_EXTENSION_OPTIONS "-unknown", long_id.c_str()}) {
    kit.expect("TN-EXT-1", ask(id) == nullptr, "get_extension answered '",
               std::string_view(id).substr(0, 60), "', which is the id of nothing");
  }
  for (const char* id : backend_extensions) {
    const void* first = ask(id);
    for (int i = 0; i < 3; ++i) {
      kit.expect("TN-EXT-1", ask(id) == first, "get_extension gave two tables for ", id);
    }
    if (!first) continue;
    // Each has at least one function behind two numbers.
    const std::uint32_t size = *static_cast<const std::uint32_t*>(first);
    constexpr std::uint32_t least = 2 * sizeof(std::uint32_t) + sizeof(void*);
    kit.expect("TN-EXT-1", size >= least && size <= 4096, "the table of ", id, " says that it has ",
               size, " bytes, expected ", least, " or more");
  }
}

TENON_CONFORMANCE_TEST("options/values-have-types", "each declared option has a value of its type",
                       "[options][level-5][backend][TN-OPT-2]") {
  OpenedBackend opened(kit);
  CheckedOptions options(kit, opened);
  for (const host::OptionDeclaration& option : options.declared()) {
    const auto got = options.get(option.key.c_str());
    if (!kit.expect("TN-OPT-2", got.status == TENON_STATUS_OK, "get_option refused '", option.key,
                    "', which is declared: ", said_error().text)) {
      continue;
    }
    kit.expect("TN-OPT-2", got.calls == 1, "get_option of '", option.key, "' called the sink ",
               got.calls, " times");
    if (got.calls == 0) continue;
    kit.expect("TN-OPT-2", got.key == option.key, "get_option of '", option.key, "' gave '",
               got.key, "'");
    const bool same_type = got.value && got.value->type() == option.initial.type();
    kit.expect("TN-OPT-2", same_type, "'", option.key, "' is declared as ",
               option_type_name(option.initial.type()), ", found ",
               got.value ? option_type_name(got.value->type()) : "nothing that can be read");
    const bool was_set = std::ranges::any_of(
        kit.backend().options, [&](const auto& set) { return set.first == option.key; });
    if (same_type && !was_set) {
      kit.expect("TN-OPT-2", *got.value == option.initial, "'", option.key,
                 "' has another value than its initial one, and was never set");
    }
  }
}

TENON_CONFORMANCE_TEST("options/set-then-get", "an option that was set has that value",
                       "[options][level-5][backend][TN-OPT-1][TN-OPT-2]") {
  OpenedBackend opened(kit);
  CheckedOptions options(kit, opened);
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_runtime) continue;
    const OptionValue before = options.need(option.key);
    OptionValue present = before;
    for (const OptionValue& value : other_values(before)) {
      const bool taken = options.set(option.key.c_str(), value) == TENON_STATUS_OK;
      if (taken) present = value;
      const OptionValue found = options.need(option.key);
      kit.expect(taken ? "TN-OPT-2" : "TN-OPT-1", found == present, "'", option.key, "' ",
                 taken ? "was set and then had another value"
                       : "changed though set_option refused the value");
      present = found;
    }
    kit.expect("TN-OPT-1", options.set(option.key.c_str(), before) == TENON_STATUS_OK, "'",
               option.key, "' cannot be given the value that it had: ", said_error().text);
  }
}

TENON_CONFORMANCE_TEST("options/unknown-not-found", "options that do not exist are not found",
                       "[options][level-5][backend][TN-OPT-1][TN-OPT-2]") {
  OpenedBackend opened(kit);
  CheckedOptions options(kit, opened);
  std::vector<std::string> keys = {unknown_key, ""};
  for (const host::OptionDeclaration& option : options.declared()) {
    keys.push_back(option.key + "_");
    keys.push_back(option.key.substr(0, option.key.size() - 1));
  }
  for (const std::string& key : keys) {
    const bool exists =
        std::ranges::any_of(options.declared(), [&](const auto& one) { return one.key == key; });
    if (exists) continue;
    options.judge_refusal(options.set(key.c_str(), true), TENON_STATUS_NOT_FOUND, key,
                          concat("the key '", key, "', which does not exist"));
    const auto got = options.get(key.c_str());
    kit.expect("TN-OPT-2", got.status == TENON_STATUS_NOT_FOUND, "get_option of '", key,
               "', which does not exist: expected NotFound, found ",
               error_name(static_cast<Error>(got.status)));
    kit.expect("TN-OPT-2", got.calls == 0, "get_option of '", key,
               "', which does not exist, called the sink");
  }
}

TENON_CONFORMANCE_TEST("options/refuses-wrong-type",
                       "values of another type are refused and change nothing",
                       "[options][level-5][backend][TN-OPT-1]") {
  OpenedBackend opened(kit);
  CheckedOptions options(kit, opened);
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_runtime) continue;
    const OptionValue before = options.need(option.key);
    const auto judge = [&](const tenon_option& wrong, std::string_view type) {
      options.judge_refusal(options.set(wrong), TENON_STATUS_INVALID_TYPE, option.key,
                            concat("'", option.key, "' and a value of type ", type));
      kit.expect("TN-OPT-1", options.need(option.key) == before, "'", option.key,
                 "' changed though set_option got a value of type ", type);
    };
    for (std::uint32_t type = TENON_OPTION_BOOL; type <= TENON_OPTION_BYTES; ++type) {
      if (type == before.type()) continue;
      const OptionValue wrong = value_of_type(type);
      judge(write_option(option.key.c_str(), wrong), option_type_name(type));
    }
    tenon_option unknown{};
    unknown.struct_size = sizeof unknown;
    unknown.type = 99;
    unknown.key = option.key.c_str();
    judge(unknown, "number 99");
  }
}

TENON_CONFORMANCE_TEST("options/refuses-excluded-value",
                       "values that the declaration excludes are refused and change nothing",
                       "[options][level-5][backend][TN-OPT-5]") {
  OpenedBackend opened(kit);
  CheckedOptions options(kit, opened);
  bool any = false;
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_runtime) continue;
    const OptionValue before = options.need(option.key);
    for (const OptionValue& value : excluded_values(option)) {
      any = true;
      options.judge_refusal(
          options.set(option.key.c_str(), value), TENON_STATUS_INVALID_ARGUMENT, option.key,
          concat("'", option.key, "' and a value other than ", option.range()), "TN-OPT-5");
      kit.expect("TN-OPT-5", options.need(option.key) == before, "'", option.key,
                 "' changed though set_option got a value other than ", option.range());
      static_cast<void>(options.set(option.key.c_str(), before));
    }
  }
  if (!any) kit.not_applicable("no option of the backend that can be set has limits");
}

TENON_CONFORMANCE_TEST("options/refuses-excluded-load",
                       "a load with a value that the declaration excludes is refused",
                       "[options][level-5][case][TN-OPT-5]") {
  LiveCase live(kit);
  CheckedOptions options(kit, live.backend());
  static_cast<void>(outputs_of_new(live));
  bool any = false;
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_load) continue;
    for (const OptionValue& value : excluded_values(option)) {
      any = true;
      SubjectBackend declared = kit.backend();
      declared.runtime_specs.emplace_back(option.key, value);
      const auto loaded = CaseMethod::load(live.program(), live.backend(), declared);
      const std::string_view found = loaded.ok() ? "success" : error_name(loaded.error());
      if (!kit.expect("TN-OPT-5", !loaded.ok() && loaded.error() == Error::InvalidArgument,
                      "a load with '", option.key, "' other than ", option.range(),
                      ": expected InvalidArgument, found ", found)) {
        continue;
      }
      kit.expect("TN-OPT-5", loaded.text().find(option.key) != std::string_view::npos,
                 "a load with '", option.key, "' other than ", option.range(),
                 ": the text does not name the option: ", loaded.text());
    }
  }
  if (!any) kit.not_applicable("no option of the backend for a load has limits");
}

TENON_CONFORMANCE_TEST("options/load-options-apart",
                       "options for a load cannot be set for the backend",
                       "[options][level-5][backend][TN-OPT-1]") {
  OpenedBackend opened(kit);
  CheckedOptions options(kit, opened);
  bool any = false;
  for (const host::OptionDeclaration& option : options.declared()) {
    if (option.at_runtime) continue;
    any = true;
    const OptionValue before = options.need(option.key);
    options.judge_refusal(options.set(option.key.c_str(), before), TENON_STATUS_NOT_SUPPORTED,
                          option.key, concat("'", option.key, "', which is for a load alone"));
    kit.expect("TN-OPT-1", options.need(option.key) == before, "'", option.key,
               "' changed though set_option refused it");
  }
  if (!any) kit.not_applicable("all options of the backend can be set at any time");
}

TENON_CONFORMANCE_TEST("options/load-option-passes",
                       "an option of one load is not an option of the next",
                       "[options][level-5][case][TN-OPT-3]") {
  LiveCase live(kit);
  CheckedOptions options(kit, live.backend());
  const auto expected = repeated_outputs(kit, live);
  bool any = false;
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_load) continue;
    const OptionValue before = options.need(option.key);
    SubjectBackend declared = kit.backend();
    declared.runtime_specs.emplace_back(option.key, next_value(option, before));
    {
      const auto other = CaseMethod::load(live.program(), live.backend(), declared);
      if (!other.ok()) continue;
      any = true;
      static_cast<void>((*other)->execute((*other)->runs().front()));
    }
    kit.expect("TN-OPT-3", options.need(option.key) == before, "'", option.key,
               "' was given for one load, and get_option gives another value than before");
    kit.expect("TN-OPT-3", outputs_of_new(live) == expected, "'", option.key,
               "' was given for one load, and the next one has other outputs");
  }
  if (!any) kit.not_applicable("no option of the backend has another value for a load");
}

TENON_CONFORMANCE_TEST("options/set-spares-loaded",
                       "an option that is set does not change delegates that are loaded",
                       "[options][level-5][case][TN-OPT-4]") {
  LiveCase live(kit);
  CheckedOptions options(kit, live.backend());
  const auto expected = repeated_outputs(kit, live);
  bool any = false;
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_runtime) continue;
    const OptionValue before = options.need(option.key);
    const auto method = live.load();
    if (options.set(option.key.c_str(), next_value(option, before)) != TENON_STATUS_OK) continue;
    any = true;
    kit.expect("TN-OPT-4", live.run(*method) == expected, "'", option.key,
               "' was set, and a delegate that was loaded before has other outputs");
    static_cast<void>(options.set(option.key.c_str(), before));
  }
  if (!any) kit.not_applicable("no option of the backend can be set to another value");
}

// `init` may ignore an option that is not declared, as ExecuTorch's backends do, or refuse it, as
// the SDK's do. A refusal needs a reason.
TENON_CONFORMANCE_TEST("options/unknown-load-option",
                       "unknown options of a load are refused with a reason or ignored",
                       "[options][level-5][case][TN-ERR-1][TN-ERR-2]") {
  const CaseProgram program = kit.need(CaseProgram::open(kit.of_case()), "the case");
  OpenedBackend opened(kit);
  need_device(kit, opened);
  {
    const auto good = kit.need(CaseMethod::load(program, opened, kit.backend()), "the case");
  }
  for (std::uint32_t type = TENON_OPTION_BOOL; type <= TENON_OPTION_BYTES; ++type) {
    SubjectBackend declared = kit.backend();
    declared.runtime_specs.emplace_back(unknown_key, value_of_type(type));
    // `Watch` judges the text of a failure.
    [[maybe_unused]] const auto either = CaseMethod::load(program, opened, declared);
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
