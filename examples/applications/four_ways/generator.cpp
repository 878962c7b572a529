// SPDX-License-Identifier: MIT
// Continues a text of months by a letter at a time: generator PLUGIN.so MODEL.pte TEXT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host.hpp>

#include "print.hpp"

namespace {

constexpr std::string_view letters = " abcdefghijklmnopqrstuvwxyz";
constexpr std::size_t seen = 12, more = 16;

tenon::Status run(const char* plugin, const char* model, std::string text) {
  if (text.size() < seen || text.find_first_not_of(letters) != std::string::npos) {
    return tenon::error(tenon::Error::InvalidArgument, "the text '", text,
                        "': expected 12 letters or more, a to z or blanks");
  }
  // [run]
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  TENON_TRY(auto program, tenon::host::Program::open(model));
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
  const std::array<std::int64_t, 2> sizes{1, seen};
  std::array<std::int64_t, seen> tokens{};
  for (std::size_t i = 0; i < more; ++i) {
    std::transform(text.end() - seen, text.end(), tokens.begin(),
                   [](char letter) { return static_cast<std::int64_t>(letters.find(letter)); });
    TENON_RETURN_IF_ERROR(
        method->set_input(0, {tenon::ScalarType::Long, sizes, std::as_bytes(std::span(tokens))}));
    TENON_RETURN_IF_ERROR(method->execute());
    TENON_TRY(const auto logits, method->output<float>(0));  // For each of the letters.
    const auto last = logits.end() - static_cast<std::ptrdiff_t>(letters.size());
    const auto best = std::max_element(last, logits.end());
    text += letters[static_cast<std::size_t>(best - last)];
    print(text, *best);
  }
  // [run]
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return finish("generator", run(argv[1], argv[2], argv[3]));
  std::fputs("usage: generator PLUGIN.so MODEL.pte TEXT\n", stderr);
  return 2;
}
