// SPDX-License-Identifier: MIT
// Says which shape a picture has: classifier PLUGIN.so MODEL.pte PICTURE.ppm
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host.hpp>
#include <vector>

#include "print.hpp"

namespace {

constexpr std::array<const char*, 5> shapes{"circle", "cross", "ring", "square", "triangle"};
constexpr std::size_t points = 32 * 32, channels = 3;
constexpr std::ptrdiff_t top = 3;

/// Numbers from 0 to 1, all of a channel in a row.
tenon::Result<std::vector<float>> read_picture(const char* path) {
  constexpr std::string_view header = "P6\n32 32\n255\n";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!bytes.starts_with(header) || bytes.size() != header.size() + points * channels) {
    return tenon::error(tenon::Error::InvalidArgument, path,
                        ": expected a PPM picture of 32 by 32, found ", bytes.size(), " bytes");
  }
  std::vector<float> picture(points * channels);
  for (std::size_t i = 0; i < picture.size(); ++i) {
    const auto value = static_cast<unsigned char>(bytes[header.size() + i]);
    picture[i % channels * points + i / channels] = static_cast<float>(value) / 255;
  }
  return picture;
}

tenon::Status run(const char* plugin, const char* model, const char* path) {
  TENON_TRY(const std::vector<float> picture, read_picture(path));
  // [run]
  tenon::host::BackendRegistry registry;
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  TENON_TRY(auto program, tenon::host::Program::open(model));
  TENON_TRY(auto method, tenon::host::Method::load(program, "forward", {.registry = &registry}));
  const std::array<std::int64_t, 4> sizes{1, 3, 32, 32};
  TENON_RETURN_IF_ERROR(
      method->set_input(0, {tenon::ScalarType::Float, sizes, std::as_bytes(std::span(picture))}));
  TENON_RETURN_IF_ERROR(method->execute());
  TENON_TRY(const auto found, method->output<float>(0));
  // [run]
  std::array<std::size_t, shapes.size()> best{};
  std::iota(best.begin(), best.end(), std::size_t{0});
  std::partial_sort(best.begin(), best.begin() + top, best.end(),
                    [&](std::size_t a, std::size_t b) { return found[a] > found[b]; });
  for (const std::size_t i : std::span(best).first(top)) print(shapes[i], found[i]);
  return tenon::ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) return finish("classifier", run(argv[1], argv[2], argv[3]));
  std::fputs("usage: classifier PLUGIN.so MODEL.pte PICTURE.ppm\n", stderr);
  return 2;
}
