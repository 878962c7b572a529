// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/conformance/test.hpp"
#include "tenon/host/layers/prepared/prepared_store.hpp"

/// Suite "prepare": backends that keep what they prepared from a blob (abi/extensions/prepare.h).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(prepare)

namespace {

using Outputs = std::vector<std::vector<std::byte>>;
using Key = std::array<std::uint8_t, sizeof(Sha256::bytes)>;

/// A store in memory that observes how it is used.
class ProbeStore final : public host::PreparedStore {
 public:
  /// The function that fails.
  enum class Fails { nothing, open, store };

  Fails fails = Fails::nothing;
  mutable std::atomic<int> num_found = 0;
  mutable std::atomic<int> num_stored = 0;
  mutable std::atomic<int> num_opened = 0;
  mutable std::atomic<int> num_held = 0;  ///< Objects that were not released.

  void forget_counts() const { num_found = num_stored = num_opened = 0; }

  [[nodiscard]] Status open(const host::PreparedKey& key, const tenon_host&,
                            tenon_prepared** out) const override {
    ++num_opened;
    if (fails == Fails::open) return error(Error::AccessFailed, "the kit's store cannot be read");
    Key bytes;
    std::copy(std::begin(key.digest.bytes), std::end(key.digest.bytes), bytes.begin());
    auto held = std::make_unique<Held>(*this, bytes);
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(bytes); found != kept_.end()) {
      // As large and as aligned as its page, so that a plugin that reads beyond it is seen by
      // tools.
      held->bytes = found->second;
      held->memory.reset(
          static_cast<std::byte*>(::operator new(held->bytes.size() + 1, std::align_val_t(4096))));
      std::copy(held->bytes.begin(), held->bytes.end(), held->memory.get());
      held->data = held->memory.get();
      held->nbytes = held->bytes.size();
      ++num_found;
    }
    ++num_held;
    *out = held.release();
    return ok();
  }

 private:
  struct Free {
    void operator()(std::byte* block) const noexcept {
      ::operator delete(block, std::align_val_t(4096));
    }
  };
  struct Held : tenon_prepared {
    Held(const ProbeStore& its_store, const Key& its_key)
        : tenon_prepared{sizeof(tenon_prepared), 0,      0, nullptr, &store_parts,
                         &release_this,          nullptr},
          store(its_store),
          key(its_key) {}
    const ProbeStore& store;
    Key key;
    std::vector<std::byte> bytes;
    std::unique_ptr<std::byte, Free> memory;
  };

  static tenon_status store_parts(tenon_prepared* prepared, const tenon_span* parts,
                                  std::uint64_t num_parts) {
    const auto& held = *static_cast<const Held*>(prepared);
    const ProbeStore& self = held.store;
    ++self.num_stored;
    if (self.fails == Fails::store) return TENON_STATUS_OUT_OF_RESOURCES;
    std::vector<std::byte> bytes;
    for (std::uint64_t i = 0; i < num_parts; ++i) {
      const auto* const data = static_cast<const std::byte*>(parts[i].data);
      bytes.insert(bytes.end(), data, data + parts[i].size);
    }
    const std::lock_guard lock(self.mutex_);
    self.kept_[held.key] = std::move(bytes);
    return TENON_STATUS_OK;
  }
  static void release_this(tenon_prepared* prepared) {
    const std::unique_ptr<const Held> held(static_cast<Held*>(prepared));
    --held->store.num_held;
  }

  mutable std::mutex mutex_;
  mutable std::map<Key, std::vector<std::byte>> kept_;
};

/// `store` must outlive the method.
host::MethodOptions with(const ProbeStore& store) { return {.layers = {store}}; }

/// The case of a backend that keeps what it prepares.
class PreparingCase {
 public:
  explicit PreparingCase(Context& kit) : kit_(kit), live_(kit) {
    live_.boundary().watched().watch().watch_process(false);
  }

  /// The outputs of the case with `store`, which may be null. What the backend stores in `destroy`
  /// is stored.
  [[nodiscard]] Outputs outputs(const ProbeStore* store) {
    return live_.run(*live_.load(store ? with(*store) : host::MethodOptions()));
  }
  /// Why the case does not load or run with `store`; empty when it does.
  [[nodiscard]] std::string failure_with(const ProbeStore& store) {
    auto method = CaseMethod::load(live_.program(), live_.backend(), kit_.backend(), with(store));
    if (!method.ok()) return describe(std::move(method).status());
    const Status outcome = (*method)->execute(*live_.runs().front());
    return outcome.ok() ? std::string() : describe(outcome);
  }
  /// The first output of a run with `store` that is not the expected one; empty without one.
  [[nodiscard]] std::string first_difference(const ProbeStore& store) {
    return live_.first_difference(*live_.load(with(store)));
  }

  /// Ends the test where the backend keeps nothing of the case.
  void need_use(const ProbeStore& store) {
    if (store.num_opened == 0) {
      kit_.not_applicable("the backend does not use " TENON_EXTENSION_PREPARE);
    }
    if (store.num_stored == 0) kit_.not_applicable("the backend keeps nothing of the case");
  }

 private:
  Context& kit_;
  LiveCase live_;
};

}  // namespace

TENON_CONFORMANCE_TEST("prepare/found", "what a load prepared is found by the next one",
                       "[prepare][level-5][case][TN-PRP-1][TN-PRP-2][TN-PRP-4]") {
  PreparingCase preparing(kit);
  const Outputs without = preparing.outputs(nullptr);
  const ProbeStore store;
  const Outputs first = preparing.outputs(&store);
  preparing.need_use(store);
  kit.expect("TN-PRP-2", store.num_held == 0, "after destroy ", int{store.num_held},
             " of the objects that open gave were not released");
  store.forget_counts();
  const Outputs second = preparing.outputs(&store);
  kit.expect("TN-PRP-4", store.num_found != 0,
             "a second load of the case found nothing of what the first one stored: it opened with "
             "another identity");
  if (store.num_found == 0) return;
  kit.expect("TN-PRP-4", store.num_stored == 0, "a load that found a stored result stored ",
             int{store.num_stored}, " times");
  if (kit.backend().deterministic) {
    kit.expect("TN-PRP-1", first == without, "the outputs of a load that stores differ");
    kit.expect("TN-PRP-1", second == without,
               "the outputs of a load that found a stored result differ from the outputs of a load "
               "without it");
    return;
  }
  const std::string difference = preparing.first_difference(store);
  kit.expect("TN-PRP-1", difference.empty(),
             "after a load that found a stored result: ", difference);
}

TENON_CONFORMANCE_TEST("prepare/failure", "what was prepared can be neither found nor kept",
                       "[prepare][level-5][case][TN-PRP-2][TN-PRP-3]") {
  PreparingCase preparing(kit);
  {
    const ProbeStore store;
    static_cast<void>(preparing.outputs(&store));
    preparing.need_use(store);
  }
  for (const ProbeStore::Fails fails : {ProbeStore::Fails::open, ProbeStore::Fails::store}) {
    ProbeStore store;
    store.fails = fails;
    const std::string_view what = fails == ProbeStore::Fails::open ? "open" : "store";
    const std::string failure = preparing.failure_with(store);
    kit.expect("TN-PRP-3", failure.empty(), what, " failed, and so did the plugin: ", failure);
    kit.expect("TN-PRP-2", store.num_held == 0, "after a failed ", what, " ", int{store.num_held},
               " of the objects that open gave were not released");
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
