// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <utility>

#include "arguments.hpp"
#include "color.hpp"
#include "listing.hpp"
#include "report.hpp"
#include "tenon/host/registry/discovery.hpp"
#include "tenon/host/registry/registry.hpp"
#include "tenon/host/signatures.hpp"
#include "tool.hpp"

int tenon::list::run_program(int argc, char** argv, const std::string& installed) {
  const auto run = [&](const Arguments& arguments) -> tool::Outcome {
    auto policy = host::SignaturePolicy::from_environment();
    if (!policy.ok()) {
      return tool::Outcome::failed(tool::ExitCode::wrong_usage, std::move(policy).status());
    }
    host::BackendRegistry registry;
    registry.add_search(host::discovery({.installed = installed}));
    const Listing listing = make_listing(registry, arguments.tags, policy->get());
    if (arguments.json) return {.output = to_json(listing)};
    return {.output = to_text(listing, {.all = arguments.all,
                                        .places = arguments.places,
                                        .color = use_color(arguments.color)})};
  };
  return tool::main("tenon-list", argc, argv, &parse_arguments, run);
}
