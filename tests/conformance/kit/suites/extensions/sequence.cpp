// SPDX-License-Identifier: MIT
#include "tenon/abi/draft/sequence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "sequence": the state of delegates, as bytes that a host keeps and puts back
/// (abi/draft/sequence.h).
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(sequence)

namespace {

/// One part of a state, as it was listed.
struct ListedPart {
  std::string name;
  std::byte* data;
  std::uint64_t nbytes;

  /// Where it is differs from delegate to delegate.
  [[nodiscard]] bool is_like(const ListedPart& other) const {
    return name == other.name && nbytes == other.nbytes;
  }
};

struct PartLister : tenon_state_list {
  PartLister() : tenon_state_list{sizeof(tenon_state_list), 0, &add_entry} {}

  std::vector<ListedPart> parts;

  static tenon_status add_entry(const tenon_state_list* to, const tenon_state_part* part) {
    const_cast<PartLister*>(static_cast<const PartLister*>(to))
        ->parts.push_back(
            {std::string(part->name ? part->name : "", static_cast<std::size_t>(part->name_size)),
             static_cast<std::byte*>(part->data), part->nbytes});
    return TENON_STATUS_OK;
  }
};

using StateBytes = std::vector<std::vector<std::byte>>;

/// Methods of a case, whose states can be read and written. Ends the test as `not_applicable` for a
/// backend without the extension, where no delegate has a state, and where runs do not repeat.
class SequenceCase {
 public:
  /// The method and its delegates.
  struct Loaded {
    std::vector<WatchedDelegate*> delegates;
    std::unique_ptr<CaseMethod> method;
  };

  explicit SequenceCase(Context& kit) : kit_(kit), live_(kit) {
    if (!live_.backend().backend().extension<tenon_sequence_v1>(TENON_EXTENSION_SEQUENCE)) {
      kit.not_applicable("the backend does not offer " TENON_EXTENSION_SEQUENCE);
    }
    if (!kit.backend().deterministic) {
      kit.not_applicable("the backend is declared not deterministic");
    }
    const Loaded one = load(), other = load();
    std::size_t num_parts = 0;
    for (WatchedDelegate* const delegate : one.delegates) num_parts += list(*delegate).size();
    if (num_parts == 0) kit.not_applicable("no delegate of the case has a state");
    if (run(one, num_runs) != run(other, num_runs)) {
      kit.blocked("two loads give different outputs");
    }
  }
  SequenceCase(const SequenceCase&) = delete;
  SequenceCase& operator=(const SequenceCase&) = delete;

  static constexpr int num_runs = 3;

  [[nodiscard]] Loaded load() {
    Loaded out;
    live_.boundary().on_init = [&out](WatchedInit& call) {
      const tenon_status status = call.forward();
      if (status == TENON_STATUS_OK) out.delegates.push_back(&call.delegate);
      return status;
    };
    out.method = live_.load();
    live_.boundary().on_init = nullptr;
    return out;
  }

  /// The outputs of the case's first run, `times` times.
  StateBytes run(const Loaded& of, int times) {
    StateBytes out;
    for (int i = 0; i < times; ++i) {
      kit_.need(of.method->execute(*live_.runs().front()), "the case does not run");
      out.push_back(kit_.need(of.method->output_bytes(), "the outputs of the case"));
    }
    return out;
  }

  std::vector<ListedPart> list(WatchedDelegate& delegate) {
    PartLister lister;
    const tenon_status status = watch().status_of(
        "list", delegate.number, [&] { return table().list(opened(), delegate.theirs, &lister); });
    kit_.expect("TN-SEQ-1", status == TENON_STATUS_OK, "list failed with status ", status);
    for (const ListedPart& part : lister.parts) {
      kit_.expect("TN-SEQ-1", part.data || part.nbytes == 0 || (table().read && table().write),
                  "part '", part.name, "' has no address, and the backend no read and write");
    }
    return lister.parts;
  }

  /// The bytes of all parts of all delegates.
  StateBytes read(const Loaded& of) {
    StateBytes out;
    for (WatchedDelegate* const delegate : of.delegates) {
      const std::vector<ListedPart> parts = list(*delegate);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        auto& bytes = out.emplace_back(static_cast<std::size_t>(parts[i].nbytes));
        if (bytes.empty()) continue;
        if (parts[i].data) {
          std::memcpy(bytes.data(), parts[i].data, bytes.size());
          continue;
        }
        need("read", *delegate,
             [&] { return copy(table().read, *delegate, i, bytes.size(), bytes.data()); });
      }
    }
    return out;
  }

  void write(const Loaded& of, const StateBytes& bytes) {
    std::size_t next = 0;
    for (WatchedDelegate* const delegate : of.delegates) {
      const std::vector<ListedPart> parts = list(*delegate);
      for (std::size_t i = 0; i < parts.size(); ++i, ++next) {
        if (next >= bytes.size() || bytes[next].size() != parts[i].nbytes) {
          kit_.blocked("the parts of two delegates differ");
        }
        if (bytes[next].empty()) continue;
        if (parts[i].data) {
          std::memcpy(parts[i].data, bytes[next].data(), bytes[next].size());
          continue;
        }
        const std::vector<std::byte>& from = bytes[next];
        need("write", *delegate,
             [&] { return copy(table().write, *delegate, i, from.size(), from.data()); });
      }
      if (!table().written) continue;
      need("written", *delegate, [&] { return table().written(opened(), delegate->theirs); });
    }
  }

 private:
  /// `read` or `write` of all bytes of a part, in two ranges where it has two bytes.
  template <class Function, class Byte>
  tenon_status copy(Function function, const WatchedDelegate& delegate, std::uint64_t part,
                    std::size_t nbytes, Byte* bytes) {
    const std::size_t first = nbytes / 2;
    tenon_status status = TENON_STATUS_OK;
    if (first != 0) status = function(opened(), delegate.theirs, part, 0, first, bytes);
    if (status != TENON_STATUS_OK) return status;
    return function(opened(), delegate.theirs, part, first, nbytes - first, bytes + first);
  }

  template <class Call>
  void need(const char* name, const WatchedDelegate& delegate, const Call& call) {
    const tenon_status status = watch().status_of(name, delegate.number, call);
    kit_.expect("TN-SEQ-2", status == TENON_STATUS_OK, name, " failed with status ", status);
  }
  [[nodiscard]] Watch& watch() { return live_.boundary().watched().watch(); }
  [[nodiscard]] const tenon_sequence_v1& table() {
    return live_.boundary().watched().extension<tenon_sequence_v1>();
  }
  [[nodiscard]] tenon_backend* opened() { return live_.boundary().opened(); }

  Context& kit_;
  LiveCase live_;
};

bool are_like_parts(const std::vector<ListedPart>& some, const std::vector<ListedPart>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const ListedPart& a, const ListedPart& b) { return a.is_like(b); });
}

}  // namespace

TENON_CONFORMANCE_TEST("sequence/list", "a delegate lists the same parts each time",
                       "[sequence][level-5][case][TN-SEQ-1]") {
  SequenceCase sequences(kit);
  const auto one = sequences.load(), other = sequences.load();
  for (std::size_t i = 0; i < one.delegates.size(); ++i) {
    const std::vector<ListedPart> parts = sequences.list(*one.delegates[i]);
    std::set<std::string> names;
    for (const ListedPart& part : parts) names.insert(part.name);
    kit.expect("TN-SEQ-1", names.size() == parts.size(), "of ", parts.size(),
               " parts that are listed, ", names.size(), " have different names");
    kit.expect(
        "TN-SEQ-1",
        i < other.delegates.size() && are_like_parts(parts, sequences.list(*other.delegates[i])),
        "another delegate of the blob lists other parts");
  }
  static_cast<void>(sequences.run(one, 1));
  for (std::size_t i = 0; i < one.delegates.size(); ++i) {
    kit.expect(
        "TN-SEQ-1",
        are_like_parts(sequences.list(*one.delegates[i]), sequences.list(*other.delegates[i])),
        "after a run, a delegate lists other parts");
  }
}

TENON_CONFORMANCE_TEST("sequence/replay", "with the bytes of before, runs compute the same again",
                       "[sequence][level-5][case][TN-SEQ-2]") {
  SequenceCase sequences(kit);
  const auto one = sequences.load();
  const auto start = sequences.read(one);
  const auto all = sequences.run(one, SequenceCase::num_runs);
  // Back to each place, also to later ones than the last.
  sequences.write(one, start);
  kit.expect("TN-SEQ-2", sequences.run(one, 1).front() == all[0],
             "with the bytes that the state had after init, a run computes something else than the "
             "first run did");
  const auto after_one = sequences.read(one);
  static_cast<void>(sequences.run(one, SequenceCase::num_runs));
  sequences.write(one, after_one);
  const auto again = sequences.run(one, SequenceCase::num_runs - 1);
  kit.expect("TN-SEQ-2", std::equal(again.begin(), again.end(), all.begin() + 1),
             "with the bytes that the state had after the first run, runs compute something else "
             "than the ones after it did");
}

TENON_CONFORMANCE_TEST("sequence/restore", "another delegate continues with the bytes of one",
                       "[sequence][level-5][case][TN-SEQ-3]") {
  SequenceCase sequences(kit);
  auto one = sequences.load();
  static_cast<void>(sequences.run(one, 1));
  const auto after_one = sequences.read(one);
  const auto expected = sequences.run(one, SequenceCase::num_runs - 1);
  sequences.write(one, after_one);
  if (sequences.run(one, SequenceCase::num_runs - 1) != expected) {
    kit.blocked("the delegate itself computes something else with its bytes");
  }
  // Destroyed, so that nothing of it is found.
  one = {};
  const auto other = sequences.load();
  static_cast<void>(sequences.run(other, SequenceCase::num_runs));
  sequences.write(other, after_one);
  kit.expect("TN-SEQ-3", sequences.run(other, SequenceCase::num_runs - 1) == expected,
             "with the bytes of a delegate that was destroyed, another one computes something else "
             "than that one did");
}

TENON_CONFORMANCE_TEST("sequence/separate", "only its own runs change the state of a delegate",
                       "[sequence][level-5][case][TN-SEQ-4]") {
  SequenceCase sequences(kit);
  const auto one = sequences.load(), other = sequences.load();
  static_cast<void>(sequences.run(one, 1));
  const auto before = sequences.read(one);
  static_cast<void>(sequences.run(other, SequenceCase::num_runs));
  sequences.write(other, before);
  static_cast<void>(sequences.run(other, 1));
  kit.expect("TN-SEQ-4", sequences.read(one) == before,
             "runs of another delegate change the bytes of a state");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
