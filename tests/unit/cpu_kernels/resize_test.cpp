// SPDX-License-Identifier: MIT
//
// Resized images. Expected numbers are PyTorch's (2.15.0).
#include "operators/resize.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel_support.hpp"
#include "support/catch.hpp"

using namespace kernel_test;
using namespace tenon::cpu_aoti;

namespace resize_test {
namespace {

/// Two channels of 3 x 4 elements: 7 i modulo 11.
Handle two_channels(ScalarType type, const Shape& strides) {
  Handle out = make({1, 2, 3, 4}, type, strides);
  for (std::int64_t i = 0; i < 24; ++i) out.set(i, static_cast<double>(i * 7 % 11));
  return out;
}

std::string refusal(const Handle& images, const Resize& how) {
  OwnedTensor out(nullptr);
  const tenon::Status status = resize_images(*images, how, out);
  CHECK_FALSE(status.ok());
  return std::string(status.text());
}

}  // namespace

TEST_CASE("images resized with antialiasing have PyTorch's numbers and strides", "[cpu_aoti]") {
  Fixture fixture;
  struct Case {
    ResizeFilter filter;
    Shape size;
    bool align_corners;
    std::optional<double> scale_height, scale_width;
    std::vector<double> expected;
  };
  using enum ResizeFilter;
  const Case cases[] = {
      {linear,
       {2, 2},
       false,
       {},
       {},
       {3.91071439, 6.46428585, 4.53571463, 4.14285707, 5.6071434, 6.00000048, 5.25000048,
        3.67857146}},
      {linear, {4, 3}, false, {}, {}, {2.10000014, 5,          7.90000057, 3.7874999,  5.3125,
                                       6.8375001,  4.1624999,  5.6875,     4.32499981, 3.10000014,
                                       6,          1.19999957, 5.80000019, 6.5,        7.19999981,
                                       4.73750019, 6.8125,     4.07499933, 5.11250019, 5.125,
                                       3.2125001,  6.80000019, 2,          4.90000057}},
      {linear,
       {2, 2},
       true,
       {},
       {},
       {4.78571463, 6.19047642, 4.46875, 2.58333349, 5.5, 4.80952406, 4.59375, 4.08333349}},
      {linear, {1, 1}, true, {}, {}, {0, 7}},
      {linear,
       {2, 3},
       false,
       0.7,
       0.8,
       {2.87499976, 5.18910217, 6.93910265, 3.70192313, 5.73397398, 3.78205132, 5.22115374,
        6.40705109, 5.93589735, 5.625, 4.44871807, 3.48397422}},
      {cubic,
       {2, 2},
       false,
       {},
       {},
       {3.67368627, 6.822155, 4.64625263, 4.02994633, 5.59248066, 6.16426754, 5.37286901,
        3.37205958}},
      {cubic, {1, 1}, true, {}, {}, {-1.796875, 8.296875}},
      {cubic,
       {1, 3},
       false,
       {},
       {},
       {3.30096507, 5.61784697, 5.17858934, 5.46035242, 5.3597579, 4.47169495}},
      {cubic,
       {2, 3},
       false,
       0.7,
       0.8,
       {2.68289614, 5.02129745, 7.35948896, 3.59370589, 6.05511665, 3.50794172, 4.95497417,
        6.76621103, 6.0647788, 5.79786396, 4.38821077, 3.19049215}},
  };
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    for (const Shape& strides : {Shape{}, Shape{24, 1, 8, 2}, Shape{24, 12, 1, 3}}) {
      const Handle images = two_channels(type, strides);
      for (const Case& one : cases) {
        INFO("to " << one.size[0] << " x " << one.size[1]);
        OwnedTensor result(nullptr);
        REQUIRE(resize_images(
                    *images,
                    {one.filter, one.size, one.align_corners, one.scale_height, one.scale_width},
                    result)
                    .ok());
        const Handle found(result.take());
        const std::int64_t h = one.size[0], w = one.size[1];
        CHECK(found.sizes() == Shape{1, 2, h, w});
        const bool has_channels_last = strides == Shape{24, 1, 8, 2};
        CHECK(found.strides() ==
              (has_channels_last ? Shape{2 * h * w, 1, 2 * w, 2} : Shape{2 * h * w, h * w, w, 1}));
        for (std::size_t i = 0; i < one.expected.size(); ++i) {
          CHECK_THAT(found.at(static_cast<std::int64_t>(i)),
                     Catch::Matchers::WithinAbs(one.expected[i], 3e-6));
        }
      }
    }
  }
  const Handle same = two_channels(ScalarType::Float, {});
  OwnedTensor result(nullptr);
  const std::int64_t size[] = {3, 4};
  REQUIRE(resize_images(*same, {cubic, size}, result).ok());
  CHECK(Handle(result.take()).values() == same.values());
  REQUIRE(resize_images(*make({0, 2, 3, 4}), {cubic, size}, result).ok());
  CHECK(Handle(result.take()).sizes() == Shape{0, 2, 3, 4});
  // An empty batch takes no time.
  const std::int64_t huge[] = {3, std::int64_t{1} << 40};
  REQUIRE(resize_images(*make({0, 2, 3, 4}), {cubic, huge}, result).ok());
  CHECK(Handle(result.take()).sizes() == Shape{0, 2, 3, std::int64_t{1} << 40});
}

TEST_CASE("a dimension whose size stays is not resized, whatever its scale", "[cpu_aoti]") {
  Fixture fixture;
  const Handle images = two_channels(ScalarType::Float, {});
  const std::int64_t same[] = {3, 4}, wider[] = {3, 8};
  for (const auto filter : {ResizeFilter::linear, ResizeFilter::cubic}) {
    OwnedTensor result(nullptr);
    REQUIRE(resize_images(*images, {filter, same, false, 1.2, 1.2}, result).ok());
    CHECK(Handle(result.take()).values() == images.values());
    REQUIRE(resize_images(*images, {filter, wider, false, 1.2, 2.0}, result).ok());
    const Handle with_scale(result.take());
    REQUIRE(resize_images(*images, {filter, wider, false, {}, 2.0}, result).ok());
    CHECK(with_scale.values() == Handle(result.take()).values());
    // As no scale.
    REQUIRE(resize_images(*images, {filter, wider, false, 0.0, -1.0}, result).ok());
    CHECK(with_scale.values() == Handle(result.take()).values());
  }
}

TEST_CASE("an image of one column has the numbers of the image turned by a right angle",
          "[cpu_aoti]") {
  // PyTorch has 2, 2, 2 for the first: only the other image is resized as documented.
  Fixture fixture;
  Handle square = make({1, 1, 2, 2}, ScalarType::Float, {});
  const double values[] = {1, 3, 5, 7}, turned[] = {1, 5, 3, 7};
  for (const auto& [given, size] :
       {std::pair{values, Shape{3, 1}}, std::pair{turned, Shape{1, 3}}}) {
    for (std::int64_t i = 0; i < 4; ++i) square.set(i, given[i]);
    OwnedTensor result(nullptr);
    REQUIRE(resize_images(*square, {ResizeFilter::linear, size}, result).ok());
    const Handle found(result.take());
    for (std::int64_t i = 0; i < 3; ++i) {
      CHECK_THAT(found.at(i), Catch::Matchers::WithinAbs(static_cast<double>(2 * i + 2), 3e-6));
    }
  }
}

TEST_CASE("more elements than a Float counts are resized within the image", "[cpu_aoti]") {
  // One element, 2^24 + 3 times: as a Float that size is 2^24 + 4.
  Fixture fixture;
  constexpr std::int64_t count = (std::int64_t{1} << 24) + 3;
  Handle element = make({1, 1, 1, 1}, ScalarType::Float, {});
  element.set(0, 3);
  tenon::aoti::ModelTensor wide = *element;
  wide.sizes[3] = wide.numel = count;
  wide.strides[3] = 0;
  const std::int64_t size[] = {1, 1};
  OwnedTensor result(nullptr);
  REQUIRE(resize_images(wide, {ResizeFilter::linear, size}, result).ok());
  CHECK_THAT(Handle(result.take()).at(0),
             Catch::Matchers::WithinAbs(3.0, 0.1));  // Sums of so many.
}

TEST_CASE("images and sizes that cannot be resized are refused", "[cpu_aoti]") {
  Fixture fixture;
  const auto linear = ResizeFilter::linear;
  const Handle images = make({1, 1, 3, 4});
  const std::int64_t size[] = {2, 2}, one[] = {2}, none[] = {2, 0}, negative[] = {-1, 2};
  CHECK_THAT(refusal(make({1, 3, 4}), {linear, size}), ContainsSubstring("four dimensions"));
  CHECK_THAT(refusal(make({1, 1, 0, 4}), {linear, size}), ContainsSubstring("[1, 1, 0, 4]"));
  CHECK_THAT(refusal(images, {linear, one}), ContainsSubstring("resized to [2]"));
  CHECK_THAT(refusal(images, {linear, none}), ContainsSubstring("resized to [2, 0]"));
  CHECK_THAT(refusal(images, {linear, negative}), ContainsSubstring("resized to [-1, 2]"));
  CHECK_THAT(refusal(make({1, 1, 3, 4}, ScalarType::Byte), {linear, size}),
             ContainsSubstring("images of Byte: expected Float or Double"));
  for (const double scale : {1e-300, 0.2}) {
    CHECK_THAT(refusal(images, {linear, size, false, {}, scale}),
               ContainsSubstring("for 4 elements: expected a scale that leaves at least one"));
  }
}

}  // namespace resize_test
