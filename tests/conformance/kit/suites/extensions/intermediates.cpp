// SPDX-License-Identifier: MIT
#include "tenon/abi/draft/intermediates.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"

/// Suite "intermediates": what a delegate gives of its steps (abi/draft/intermediates.h).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(intermediates)

namespace {

/// A tensor that a delegate gave.
struct Given {
  std::int64_t handle = 0;
  std::int32_t type = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;  ///< Empty when it is on a device.
  std::string wrong;             ///< Why it is not whole; empty when it is.

  friend bool operator==(const Given&, const Given&) = default;
};

/// Takes the tensors of all delegates of a case.
class Taker : public tenon_intermediate_sink {
 public:
  Taker() : tenon_intermediate_sink{sizeof(tenon_intermediate_sink), 0, &take_entry} {}
  Taker(const Taker&) = delete;
  Taker& operator=(const Taker&) = delete;

  std::vector<Given> given;

 private:
  static tenon_status take_entry(const tenon_intermediate_sink* sink, std::int64_t handle,
                                 const tenon_tensor* tensor) {
    auto& self = *const_cast<Taker*>(static_cast<const Taker*>(sink));
    self.given.push_back(look_at(handle, tensor));
    return TENON_STATUS_OK;
  }

  static Given look_at(std::int64_t handle, const tenon_tensor* tensor) {
    Given out;
    out.handle = handle;
    if (!tensor) return refused(std::move(out), "no tensor");
    out.type = tensor->scalar_type;
    const auto* const type = find_scalar_type(tensor->scalar_type);
    if (!type) return refused(std::move(out), concat("scalar type ", tensor->scalar_type));
    if (tensor->dl.ndim < 0 || static_cast<std::size_t>(tensor->dl.ndim) > max_rank) {
      return refused(std::move(out), concat("rank ", tensor->dl.ndim));
    }
    const auto rank = static_cast<std::size_t>(tensor->dl.ndim);
    if (rank != 0 && (!tensor->dl.shape || !tensor->dl.strides || !tensor->dim_order)) {
      return refused(std::move(out), "no sizes, strides or dim order");
    }
    std::uint64_t nbytes = type->size;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t size = tensor->dl.shape[i];
      out.sizes.push_back(size);
      if (size < 0 || __builtin_mul_overflow(nbytes, static_cast<std::uint64_t>(size), &nbytes)) {
        return refused(std::move(out), concat("sizes ", shape_text(out.sizes)));
      }
    }
    if (nbytes != tensor->nbytes) {
      return refused(std::move(out), concat("sizes ", shape_text(out.sizes), ", which are ", nbytes,
                                            " bytes, with ", tensor->nbytes, " bytes"));
    }
    if (nbytes == 0) return out;
    if (!tensor->dl.data) return refused(std::move(out), "no data");
    if (tensor->dl.device.device_type != TENON_DL_CPU) return out;
    const std::byte* const data = TensorView(*tensor).data();
    out.bytes.assign(data, data + nbytes);
    return out;
  }

  static Given refused(Given given, std::string why) {
    given.wrong = std::move(why);
    return given;
  }
};

/// Receives a list.
struct Lister : tenon_intermediate_list {
  Lister() : tenon_intermediate_list{sizeof(tenon_intermediate_list), 0, &add_entry} {}

  std::vector<std::int64_t> handles;

  static tenon_status add_entry(const tenon_intermediate_list* to, const tenon_intermediate* one) {
    const_cast<Lister*>(static_cast<const Lister*>(to))->handles.push_back(one->handle);
    return TENON_STATUS_OK;
  }
};

/// The case, whose delegates are asked before they run. Ends the test as `not_applicable` for a
/// backend without the extension, and where no delegate has anything to give.
class RecordedCase {
 public:
  explicit RecordedCase(Context& kit) : kit_(kit), live_(kit), method_(live_.load()) {
    const auto found =
        live_.backend().backend().extension<tenon_intermediates_v1>(TENON_EXTENSION_INTERMEDIATES);
    if (!found) kit.not_applicable("the backend does not offer " TENON_EXTENSION_INTERMEDIATES);
    before_ = run(0);
    live_.boundary().on_execute = [this](WatchedExecute& call) { return before(call); };
    run(0);
    std::size_t known = 0;
    for (const auto& [delegate, handles] : handles_) known += handles.size();
    if (known == 0) kit.not_applicable("no delegate of the case has an intermediate result");
  }
  ~RecordedCase() { live_.boundary().on_execute = nullptr; }
  RecordedCase(const RecordedCase&) = delete;
  RecordedCase& operator=(const RecordedCase&) = delete;

  /// By delegate.
  [[nodiscard]] const std::map<WatchedDelegate*, std::vector<std::int64_t>>& handles() const {
    return handles_;
  }
  /// The outputs of a run that gave nothing.
  [[nodiscard]] const std::vector<std::byte>& before() const noexcept { return before_; }
  [[nodiscard]] std::size_t num_runs() const { return live_.runs().size(); }
  [[nodiscard]] bool repeats() {
    return kit_.backend().deterministic && run(0) == before_ && run(0) == before_;
  }

  /// The outputs of run `index` of the case.
  std::vector<std::byte> run(std::size_t index) {
    taker.given.clear();
    executed_.clear();
    kit_.need(method_->execute(*live_.runs()[index]), "the case does not run");
    return kit_.need(method_->output_bytes(), "the outputs of the case");
  }

  std::vector<std::int64_t> list(WatchedDelegate& delegate) {
    Lister lister;
    const tenon_status status = watch().status_of(
        "list", delegate.number, [&] { return tables().list(opened(), delegate.theirs, &lister); });
    kit_.expect("TN-INT-1", status == TENON_STATUS_OK, "list failed with status ", status);
    return lister.handles;
  }
  tenon_status record(WatchedDelegate& delegate, const std::vector<std::int64_t>& handles) {
    return watch().status_of("record", delegate.number, [&] {
      return tables().record(opened(), delegate.theirs, handles.empty() ? nullptr : handles.data(),
                             handles.size(), handles.empty() ? nullptr : &taker);
    });
  }
  /// All that there is, or nothing.
  void record_all(bool all) {
    for (const auto& [delegate, handles] : handles_) {
      const auto status = record(*delegate, all ? handles : std::vector<std::int64_t>());
      kit_.expect("TN-INT-2", status == TENON_STATUS_OK, "record failed with status ", status,
                  " for handles of the list");
    }
  }

  /// Judges what the last run gave, of which `asked` is what was asked for.
  void judge_given(const std::map<WatchedDelegate*, std::vector<std::int64_t>>& asked) {
    std::set<std::int64_t> wanted;
    for (const auto& [delegate, handles] : asked) {
      if (executed_.contains(delegate)) wanted.insert(handles.begin(), handles.end());
    }
    std::set<std::int64_t> found;
    for (const Given& one : taker.given) {
      found.insert(one.handle);
      kit_.expect("TN-INT-2", one.wrong.empty(), "the tensor of handle ", one.handle,
                  " is not whole: ", one.wrong);
      kit_.expect("TN-INT-2", wanted.contains(one.handle), "handle ", one.handle,
                  " was given, and not asked for");
    }
    for (const std::int64_t handle : wanted) {
      kit_.expect("TN-INT-2", found.contains(handle), "handle ", handle,
                  " was asked for, and not given");
    }
  }

  Taker taker;

 private:
  tenon_status before(WatchedExecute& call) {
    if (!handles_.contains(&call.delegate)) {
      handles_.emplace(&call.delegate, list(call.delegate));
    }
    executed_.insert(&call.delegate);
    return call.forward();
  }
  [[nodiscard]] WatchedBackend& watched() { return live_.boundary().watched(); }
  [[nodiscard]] Watch& watch() { return watched().watch(); }
  [[nodiscard]] const tenon_intermediates_v1& tables() {
    return watched().extension<tenon_intermediates_v1>();
  }
  [[nodiscard]] tenon_backend* opened() { return live_.boundary().opened(); }

  Context& kit_;
  LiveCase live_;
  std::unique_ptr<CaseMethod> method_;
  std::vector<std::byte> before_;
  std::map<WatchedDelegate*, std::vector<std::int64_t>> handles_;
  std::set<WatchedDelegate*> executed_;  ///< In the last run.
};

}  // namespace

TENON_CONFORMANCE_TEST("intermediates/list",
                       "a delegate lists each handle once, and the same again",
                       "[intermediates][level-5][case][TN-INT-1]") {
  RecordedCase recorded(kit);
  for (const auto& [delegate, handles] : recorded.handles()) {
    const std::set<std::int64_t> once(handles.begin(), handles.end());
    kit.expect("TN-INT-1", once.size() == handles.size(), "of ", handles.size(),
               " handles that are listed, ", once.size(), " are different");
    kit.expect("TN-INT-1", once.empty() || *once.begin() >= 0, "the handle ",
               once.empty() ? 0 : *once.begin(), " is negative");
    kit.expect("TN-INT-1", recorded.list(*delegate) == handles,
               "a second list has other handles than the first");
  }
}

TENON_CONFORMANCE_TEST("intermediates/record",
                       "a run gives what was asked for, and outputs stay what they are",
                       "[intermediates][level-5][case][TN-INT-2][TN-INT-4]") {
  RecordedCase recorded(kit);
  const bool repeats = recorded.repeats();
  recorded.record_all(true);
  const auto outputs = recorded.run(0);
  recorded.judge_given(recorded.handles());
  kit.expect("TN-INT-4", !repeats || outputs == recorded.before(),
             "a run whose intermediate results are given has other outputs");

  // A handle of each delegate, which replaces all.
  auto last = recorded.handles();
  for (auto& [delegate, handles] : last) {
    if (handles.size() > 1) handles.erase(handles.begin(), handles.end() - 1);
    kit.expect("TN-INT-2", recorded.record(*delegate, handles) == TENON_STATUS_OK,
               "record failed for one handle of the list");
  }
  recorded.run(0);
  recorded.judge_given(last);

  recorded.record_all(false);
  const auto after = recorded.run(0);
  recorded.judge_given({});
  kit.expect("TN-INT-4", !repeats || after == recorded.before(),
             "after intermediate results were given, a run has other outputs");
}

TENON_CONFORMANCE_TEST("intermediates/current", "what a run gives was computed by it",
                       "[intermediates][level-5][case][TN-INT-3]") {
  RecordedCase recorded(kit);
  if (!recorded.repeats()) kit.not_applicable("runs of the case do not repeat");
  recorded.record_all(true);
  recorded.run(0);
  const auto first = recorded.taker.given;
  recorded.run(0);
  kit.expect("TN-INT-3", recorded.taker.given == first,
             "two runs with equal inputs and outputs give different intermediate results");
  // A run between them, with other inputs where the case has some.
  recorded.run(recorded.num_runs() - 1);
  recorded.run(0);
  kit.expect("TN-INT-3", recorded.taker.given == first,
             "a run gives other intermediate results after a run with other inputs");
}

TENON_CONFORMANCE_TEST("intermediates/unknown", "a handle that is not listed is refused",
                       "[intermediates][level-5][case][TN-INT-5]") {
  RecordedCase recorded(kit);
  recorded.record_all(true);
  for (const auto& [delegate, handles] : recorded.handles()) {
    std::int64_t unknown = 0;
    for (const std::int64_t handle : handles) unknown = std::max(unknown, handle + 1);
    auto asked = handles;
    asked.push_back(unknown);
    const tenon_status status = recorded.record(*delegate, asked);
    kit.expect("TN-INT-5", status == TENON_STATUS_NOT_FOUND, "record returned status ", status,
               " for handle ", unknown, ", which is not listed, expected NotFound");
  }
  recorded.run(0);
  for (const auto& [delegate, handles] : recorded.handles()) {
    for (const std::int64_t handle : handles) {
      kit.expect("TN-INT-5", std::ranges::count(recorded.taker.given, handle, &Given::handle) != 0,
                 "handle ", handle, " is not given any more after a call of record that failed");
    }
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
