// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <cstddef>
#include <utility>

#include "tenon/core/lists.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon::run {

Result<OptionArgument> split_option(std::string_view text,
                                    std::span<const std::string> backend_ids) {
  const auto wrong = [&](const auto&... why) {
    return error(Error::InvalidArgument, "--option ", host::quoted(text), ": ", why...);
  };
  const std::size_t equals = text.find('=');
  const std::string_view front = text.substr(0, equals);
  if (equals == std::string_view::npos || front.find('.') == std::string_view::npos) {
    return wrong("expected BACKEND.KEY=VALUE");
  }
  const std::string* backend = nullptr;
  for (const std::string& id : backend_ids) {
    if (front.starts_with(concat(id, ".")) && (!backend || id.size() > backend->size())) {
      backend = &id;
    }
  }
  if (!backend) {
    return wrong("the method uses no such backend; it uses: ",
                 backend_ids.empty() ? std::string("none") : join(backend_ids, ", "));
  }
  const std::string_view key = front.substr(backend->size() + 1);
  if (key.empty()) return wrong("the key is empty");
  return OptionArgument{*backend, std::string(key), std::string(text.substr(equals + 1))};
}

Result<OptionValue> option_value(const OptionArgument& option,
                                 std::span<const host::OptionDeclaration> declarations) {
  if (declarations.empty()) return guess_option(option.value);
  const auto in_argument = [&](Status failure) {
    return std::move(failure).with_context(concat("--option ", option.backend, ".", option.key));
  };
  auto found = host::find_option(declarations, option.key);
  if (!found.ok()) return in_argument(std::move(found).status());
  const host::OptionDeclaration& declaration = **found;
  const std::uint32_t type = declaration.initial.type();
  const auto value = parse_option(option.value, type);
  if (!value) {
    return in_argument(error(Error::InvalidType, "expected a value of type ",
                             option_type_name(type), ", found ", host::quoted(option.value)));
  }
  if (Status given = declaration.check({type, TENON_OPTION_AT_LOAD}); !given.ok()) {
    return in_argument(std::move(given));
  }
  return *value;
}

}  // namespace tenon::run
