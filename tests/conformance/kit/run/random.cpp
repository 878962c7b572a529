// SPDX-License-Identifier: MIT
#include "tenon/conformance/test.hpp"

#include <random>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

struct Random::Generator {
  std::mt19937_64 numbers;
};

Random::Random(std::uint64_t seed)
    : generator_(std::make_unique<Generator>(Generator{std::mt19937_64(seed)})) {}
Random::~Random() = default;
std::uint64_t Random::operator()() { return generator_->numbers(); }

}}}  // namespace tenon::TENON_RELEASE::conformance
