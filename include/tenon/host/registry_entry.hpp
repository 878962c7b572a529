// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/backend_ref.hpp"
#include "tenon/host/candidate.hpp"
#include "tenon/host/cpu_features.hpp"
#include "tenon/host/plugin.hpp"
#include "tenon/host/quoted.hpp"

/// The parts of a BackendRegistry: who offers an id, and which offer is taken.
namespace tenon::host::detail {

/// Whether `id` may stand in a table: what a plugin's record may hold (TN-BIN-5).
inline Status check_id(const std::string& id) {
  if (id.empty()) return error(Error::InvalidArgument, "the id of a backend is empty");
  if (id.size() >= TENON_ID_SIZE || id.find('\0') != std::string::npos) {
    return error(Error::InvalidArgument, "the id ", host::quoted(id), " of a backend has ",
                 id.size(), " bytes, expected at most ", TENON_ID_SIZE - 1, " and no NUL");
  }
  return check_text(id.c_str(), "the id of a backend");
}

/// A candidate that can be loaded, once for all ids that it serves.
class Source {
 public:
  explicit Source(std::shared_ptr<const Candidate> candidate) : candidate_(std::move(candidate)) {}
  [[nodiscard]] const std::shared_ptr<const Candidate>& candidate() const noexcept {
    return candidate_;
  }

  /// The backend number `index`, loaded if it is not yet. Of several threads one loads.
  [[nodiscard]] Result<std::shared_ptr<const Backend>> open(std::size_t index,
                                                            const HostInfo& info) {
    if (candidate_->object) return candidate_->object;
    if (candidate_->factory) return call_factory();
    TENON_TRY(const std::shared_ptr<Plugin> plugin, load(info));
    return plugin->backend(candidate_->record->backends[index].id);
  }

 private:
  Result<std::shared_ptr<const Backend>> call_factory() const {
    try {
      auto made = candidate_->factory();
      if (made.ok() && !*made) {
        return error(Error::Internal, "the factory of backend '", candidate_->backends[0].id,
                     "' returned null, expected a backend");
      }
      return made;
    } catch (const std::exception& thrown) {
      return error(Error::Internal, "the factory of backend '", candidate_->backends[0].id,
                   "' threw: ", std::string_view(thrown.what()));
    }
  }

  Result<std::shared_ptr<Plugin>> load(const HostInfo& info) {
    const std::lock_guard lock(mutex_);
    if (auto plugin = loaded_.lock()) return plugin;
    auto plugin =
        candidate_->linked ? Plugin::from_static(candidate_->linked, info) : load_file(info);
    if (plugin.ok()) loaded_ = *plugin;
    return plugin;
  }

  /// Everything is judged again on the descriptor that is then loaded: between listing and loading
  /// lies any time.
  [[nodiscard]] Result<std::shared_ptr<Plugin>> load_file(const HostInfo& info) const {
    TENON_TRY(OpenedFile file, open_file(candidate_->path, candidate_->trust));
    if (candidate_->sha256) {
      TENON_TRY(const Sha256 found, sha256_of_file(file.descriptor.get()));
      if (found != *candidate_->sha256) {
        return error(Error::AccessFailed, candidate_->path.native(), ": its SHA-256 is ",
                     found.to_hex(), ", ", candidate_->manifest.native(), " expects ",
                     candidate_->sha256->to_hex());
      }
    }
    return Plugin::load(std::move(file), &*candidate_->record, info);
  }

  std::shared_ptr<const Candidate> candidate_;
  std::mutex mutex_;  // Guards loaded_, and is held while loading.
  std::weak_ptr<Plugin> loaded_;
};

/// One backend of one source.
struct Offer {
  std::shared_ptr<Source> source;
  std::size_t index = 0;
  BackendState unfit = BackendState::known;  ///< Why it cannot be taken; `known`: it can.
  std::string reason{};                      ///< The sentence that belongs to `unfit`.

  [[nodiscard]] const Candidate& candidate() const noexcept { return *source->candidate(); }
  [[nodiscard]] const BackendRecord& record() const noexcept { return candidate().backends[index]; }
  [[nodiscard]] bool by_application() const noexcept {
    return candidate().place == PlaceKind::application;
  }
  [[nodiscard]] bool is_plugin() const noexcept { return candidate().record.has_value(); }

  /// What the application registered comes first. Then the highest priority wins, then the offer
  /// that asks most of the CPU: it was made for fewer machines, and this is one of them.
  [[nodiscard]] auto rank() const noexcept {
    return std::tuple(by_application(), record().priority, record().cpu_features.size());
  }
};

/// An id, its place for a loaded backend, and those who offer it. Stays when nobody does any more.
struct Known {
  explicit Known(std::string_view name) : id_size(static_cast<std::uint8_t>(name.size())) {
    name.copy(id_text, sizeof id_text);
  }
  [[nodiscard]] std::string_view id() const noexcept { return {id_text, id_size}; }

  /// The offer that a look-up takes: the first of the highest rank, unless another of the same rank
  /// stands in the same place. Null when there is none.
  [[nodiscard]] const Offer* chosen() const noexcept {
    const Offer* best = nullptr;
    bool tie = false;
    for (const Offer& offer : offers) {
      if (offer.unfit != BackendState::known) continue;
      if (!best || offer.rank() > best->rank()) {
        best = &offer;
        tie = false;
      } else if (offer.rank() == best->rank()) {
        tie |= offer.candidate().place_order == best->candidate().place_order;
      }
    }
    return tie ? nullptr : best;
  }

  /// The offer that claims the id with the same right as `other`, if there is one.
  [[nodiscard]] const Offer* rival_of(const Offer& other) const noexcept {
    const auto rival = std::ranges::find_if(offers, [&](const Offer& offer) {
      return &offer != &other && offer.unfit == BackendState::known &&
             offer.rank() == other.rank() &&
             offer.candidate().place_order == other.candidate().place_order;
    });
    return rival == offers.end() ? nullptr : &*rival;
  }

  // The id stands here and not behind a pointer, so that comparing it touches one cache line.
  char id_text[TENON_ID_SIZE] = {};
  std::uint8_t id_size;
  BackendSlot slot;
  const Source* in_use = nullptr;  ///< Where what is in the slot came from, or was last.
  std::vector<Offer> offers;       ///< In the order of the search. Guarded by the registry.
};

/// Why `offer` cannot run on this machine at all; nothing when it can.
inline void judge_cpu(Offer& offer, const CpuFeatures* cpu) {
  const std::vector<std::string>& wanted = offer.record().cpu_features;
  if (wanted.empty() || offer.unfit != BackendState::known) return;
  const CpuFeatures& features = cpu ? *cpu : CpuFeatures::of_this_machine();
  std::string missing;
  for (const std::string& name : features.missing(wanted)) {
    missing += concat(missing.empty() ? "" : ", ", name);
  }
  if (missing.empty()) return;
  offer.unfit = BackendState::unsupported;
  offer.reason = concat(offer.candidate().origin(), ": backend '", offer.record().id,
                        "' needs CPU features that this CPU lacks: ", missing);
}

/// State and reason of `offer` among all that offer its id.
inline BackendInfo describe_offer(const Known& known, const Offer& offer) {
  BackendInfo info{offer.source->candidate(), offer.index, offer.unfit, offer.reason, 0};
  const bool in_slot = known.slot.users() != 0 && known.in_use == offer.source.get();
  if (in_slot) info.num_users = known.slot.users();
  if (offer.unfit != BackendState::known) return info;
  const Offer* chosen = known.chosen();
  if (in_slot || (chosen == &offer && offer.candidate().object)) {
    info.state = BackendState::loaded;
  } else if (chosen == &offer) {
    info.state = BackendState::known;
  } else if (const Offer* rival = chosen ? nullptr : known.rival_of(offer)) {
    info.state = BackendState::duplicate;
    info.reason = concat(offer.candidate().origin(), ": its backend '", known.id(), "' is also in ",
                         rival->candidate().origin(),
                         ", with the same priority; disable or remove one of them, or set "
                         "priorities in a manifest");
  } else {
    const Offer* winner = chosen;
    info.state = BackendState::shadowed;
    info.reason = winner ? concat(offer.candidate().origin(), ": backend '", known.id(),
                                  "' is taken from ", winner->candidate().origin())
                         : concat(offer.candidate().origin(), ": others claim backend '",
                                  known.id(), "' with more right");
  }
  return info;
}

}  // namespace tenon::host::detail
