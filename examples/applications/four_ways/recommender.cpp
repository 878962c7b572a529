// SPDX-License-Identifier: MIT
// Recommends items to who has seen some: recommender PLUGIN.so MODEL.pte ITEM ITEM ITEM ITEM
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tenon/host.hpp>
#include <vector>

#include "print.hpp"

namespace {

using Items = std::array<std::int64_t, 4>;

constexpr std::ptrdiff_t top = 5;

tenon::Status run(const char* plugin, const char* model, const Items& seen) {
  // [run]
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  TENON_TRY(auto program, tenon::host::Program::open(model));
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
  const std::array<std::int64_t, 2> sizes{1, 4};
  TENON_RETURN_IF_ERROR(
      method->set_input(0, {tenon::ScalarType::Long, sizes, std::as_bytes(std::span(seen))}));
  TENON_RETURN_IF_ERROR(method->execute());  // Refuses items that the model does not have.
  TENON_TRY(const auto output, method->output<float>(0));

  std::vector<float> scores(output.begin(), output.end());
  for (const std::int64_t item : seen) {
    scores[static_cast<std::size_t>(item)] = -std::numeric_limits<float>::infinity();
  }
  std::vector<std::size_t> items(scores.size());
  std::iota(items.begin(), items.end(), std::size_t{0});
  std::partial_sort(items.begin(), items.begin() + top, items.end(),
                    [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  for (const std::size_t item : std::span(items).first(top)) {
    print("item " + std::to_string(item), scores[item]);
  }
  // [run]
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  Items seen{};
  if (argc == 3 + static_cast<int>(seen.size())) {
    std::transform(argv + 3, argv + argc, seen.begin(), std::atoll);
    return finish("recommender", run(argv[1], argv[2], seen));
  }
  std::fputs("usage: recommender PLUGIN.so MODEL.pte ITEM ITEM ITEM ITEM\n", stderr);
  return 2;
}
