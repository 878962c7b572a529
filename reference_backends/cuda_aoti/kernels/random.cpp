// SPDX-License-Identifier: MIT
#include "checks.hpp"
#include "philox.hpp"

namespace tenon::cuda_aoti::kernels {
namespace {

/// Smallest and largest value of an integer type; empty for other types.
struct Bounds {
  std::int64_t least, most;
};

template <class T>
constexpr Bounds bounds_of{std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};

[[nodiscard]] const Bounds* find_bounds(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Byte:
      return &bounds_of<std::uint8_t>;
    case ScalarType::Char:
      return &bounds_of<std::int8_t>;
    case ScalarType::Short:
      return &bounds_of<std::int16_t>;
    case ScalarType::Int:
      return &bounds_of<std::int32_t>;
    case ScalarType::Long:
      return &bounds_of<std::int64_t>;
    default:
      return nullptr;
  }
}

[[nodiscard]] Status check_out(const ModelTensor& out, const RandomState* state) {
  TENON_RETURN_IF_ERROR(check_device("out", out, out.device_index));
  if (!out.is_contiguous()) {
    return error(Error::NotSupported, "out: expected a contiguous tensor, found strides ",
                 shape_text(out.step()), " for sizes ", shape_text(out.shape()));
  }
  if (state == nullptr) return error(Error::InvalidArgument, "state: expected an address");
  return ok();
}

/// Draws `numel` numbers and advances the state by the blocks used.
[[nodiscard]] Status draw(const char* function, RandomArguments arguments, std::int64_t per_block,
                          const Launcher& launcher) {
  if (arguments.numel == 0) return ok();
  const std::int64_t blocks = ceil_div(arguments.numel, per_block);
  TENON_RETURN_IF_ERROR(launch_blocks(launcher, function, {ceil_div(blocks, random_threads), 1},
                                      {random_threads, 1, 1}, arguments));
  const auto used = static_cast<std::uint64_t>(blocks);
  return launch_blocks(launcher, "tenon_random_advance", {1, 1}, {1, 1, 1}, arguments.state, used);
}

}  // namespace

Status rand(const ModelTensor& out, RandomState* state, const Launcher& launcher) {
  TENON_RETURN_IF_ERROR(check_out(out, state));
  switch (out.scalar_type) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float:
    case ScalarType::Double:
      break;
    default:
      return error(Error::NotSupported, "dtype: expected Half, BFloat16, Float or Double, found ",
                   name_of(out.scalar_type));
  }
  const auto type = static_cast<std::int32_t>(out.scalar_type);
  return draw("tenon_rand", {state, out.data, out.numel, 0, 1, type}, rand_per_block(type),
              launcher);
}

Status randint_low_out(const ModelTensor& out, std::int64_t low, std::int64_t high,
                       std::span<const std::int64_t> size, RandomState* state,
                       const Launcher& launcher) {
  TENON_RETURN_IF_ERROR(check_out(out, state));
  TENON_RETURN_IF_ERROR(check_sizes("out", out, size));
  const Bounds* bounds = find_bounds(out.scalar_type);
  if (bounds == nullptr) {
    return error(Error::NotSupported, "out: expected Byte, Char, Short, Int or Long, found ",
                 name_of(out.scalar_type));
  }
  if (low >= high) {
    return error(Error::InvalidArgument, "expected low below high, found ", low, " and ", high);
  }
  if (low < bounds->least || high - 1 > bounds->most) {
    return error(Error::InvalidArgument, "expected bounds that ", name_of(out.scalar_type),
                 " holds (", bounds->least, " to ", bounds->most, "), found ", low, " to ",
                 high - 1);
  }
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return draw("tenon_randint",
              {state, out.data, out.numel, low, range, static_cast<std::int32_t>(out.scalar_type)},
              randint_per_block, launcher);
}

}  // namespace tenon::cuda_aoti::kernels
