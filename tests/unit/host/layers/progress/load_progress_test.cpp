// SPDX-License-Identifier: MIT
//
// How far a load is, and which delegate made it fail.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "unit/host/loader/method/method_support.hpp"

using namespace tenon;
using namespace tenon::test;
using host::LoadProgress;

namespace {

/// Notes what `progress` says after each `init`; refuses the delegate `refused`.
class Watch final : public host::MethodLayer {
 public:
  Watch(const LoadProgress& progress, std::vector<std::size_t>& seen,
        std::optional<std::size_t> refused = {})
      : progress_(progress), seen_(seen), refused_(refused) {}

  Result<std::unique_ptr<host::detail::MethodPart>> attach(
      host::detail::LoadRequest&) const override {
    return std::make_unique<Part>(*this);
  }

 private:
  struct Part final : host::detail::PartOf<Part> {
    explicit Part(const Watch& from) : watch(from) {}
    Status after_init(host::detail::Loading&, host::detail::DelegateLoad&,
                      Status outcome) override {
      watch.seen_.push_back(watch.progress_.num_loaded());
      if (watch.refused_ != watch.seen_.size() - 1) return outcome;
      return error(Error::AccessFailed, "refused");
    }
    const Watch& watch;
  };

  const LoadProgress& progress_;
  std::vector<std::size_t>& seen_;
  std::optional<std::size_t> refused_;
};

/// The error of a load with `progress`, which must fail.
Error failure(const ProgramBuilder& builder, const LoadProgress& progress,
              host::MethodOptions options = with_registry()) {
  options.layers.add(progress);
  const auto method = load(builder, std::move(options));
  REQUIRE_FALSE(method.ok());
  return method.error();
}

}  // namespace

TEST_CASE("a load says how many delegates it has loaded", "[method][progress]") {
  const LoadProgress progress;
  CHECK(progress.num_loaded() == 0);
  CHECK_FALSE(progress.failed_delegate());
  std::vector<std::size_t> seen;
  const Watch watch(progress, seen);
  auto options = with_registry();
  options.layers.add(progress);
  options.layers.add(watch);
  const auto method = load_ok(chain_of({"a", "b", "c"}), std::move(options));
  CHECK(seen == std::vector<std::size_t>{1, 2, 3});
  CHECK(progress.num_loaded() == 3);
  CHECK_FALSE(progress.failed_delegate());
}

TEST_CASE("a failed load says which delegate is the reason", "[method][progress]") {
  const LoadProgress progress;
  SECTION("its init fails") {
    CHECK(failure(chain_of({"a", "b", "fail-init", "d"}), progress) ==
          Error::DelegateInvalidCompatibility);
    CHECK(progress.failed_delegate() == 2);
    CHECK(progress.num_loaded() == 2);
  }
  SECTION("its backend is not registered") {
    CHECK(failure(chain_of({"a", "b"}, "Tset"), progress) == Error::NotFound);
    CHECK(progress.failed_delegate() == 0);
    CHECK(progress.num_loaded() == 0);
  }
  SECTION("its backend is not registered, and a budget asks first") {
    auto options = with_registry();
    options.layers.add(host::Budget({{{TENON_DL_CPU, 0}, std::uint64_t{1} << 30}}));
    CHECK(failure(chain_of({"a"}, "Tset"), progress, std::move(options)) == Error::NotFound);
    CHECK(progress.failed_delegate() == 0);
  }
  SECTION("there is no registry") {
    CHECK(failure(chain_of({"a"}), progress, {}) == Error::NotFound);
    CHECK(progress.failed_delegate() == 0);
  }
  SECTION("its backend cannot run here") {
    CHECK(failure(chain_of({"a"}, "Unavailable"), progress) == Error::NotFound);
    CHECK(progress.failed_delegate() == 0);
  }
}

TEST_CASE("a delegate that a later layer refuses is not loaded", "[method][progress]") {
  const LoadProgress progress;
  std::vector<std::size_t> seen;
  const Watch watch(progress, seen, 1);
  auto options = with_registry();
  options.layers = {progress, watch};
  CHECK(load(chain_of({"a", "b", "c"}), std::move(options)).error() == Error::AccessFailed);
  CHECK(progress.num_loaded() == 1);
  CHECK(progress.failed_delegate() == 1);
}

TEST_CASE("a load that fails for another reason names no delegate, and each load begins anew",
          "[method][progress]") {
  const LoadProgress progress;
  CHECK(failure(chain_of({"fail-init"}), progress) == Error::DelegateInvalidCompatibility);
  CHECK(progress.failed_delegate() == 0);
  auto options = with_registry();
  options.limits.planned_bytes = 1;
  CHECK(failure(chain_of({"a"}), progress, std::move(options)) != Error::Ok);
  CHECK_FALSE(progress.failed_delegate());
  CHECK(progress.num_loaded() == 0);
}
