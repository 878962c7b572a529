// SPDX-License-Identifier: MIT
//
// Lists the backends that a host would find. docs/tools/inspecting.md describes it.
#include <utility>

#include "arguments.hpp"
#include "color.hpp"
#include "installed_plugins.hpp"
#include "listing.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/layers/discovery/discovery.hpp"
#include "tenon/host/signatures.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::list { namespace {

tool::Outcome run(const Arguments& arguments) {
  auto policy = host::SignaturePolicy::from_environment();
  if (!policy.ok()) {
    return tool::Outcome::failed(tool::ExitCode::wrong_usage, std::move(policy).status());
  }
  host::BackendRegistry registry;
  registry.add_search(host::discovery({.installed = installed_plugins()}));
  const Listing listing = make_listing(registry, arguments.tags, policy->get());
  if (arguments.json) return {.output = to_json(listing)};
  return {.output = to_text(listing, {.all = arguments.all,
                                      .places = arguments.places,
                                      .color = use_color(arguments.color)})};
}

}}  // namespace tenon::list

int main(int argc, char** argv) {
  return tenon::tool::main("tenon-list", argc, argv, &tenon::list::parse_arguments,
                           &tenon::list::run);
}
