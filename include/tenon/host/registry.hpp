// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/backend.hpp"
#include "tenon/host/backend_ref.hpp"
#include "tenon/host/candidate.hpp"
#include "tenon/host/id_table.hpp"
#include "tenon/host/near_names.hpp"
#include "tenon/host/registry_entry.hpp"

namespace tenon::host {

/// What the application adds to a backend that it registers.
struct Registration {
  std::string name{};               ///< The id to look it up by; empty: its own.
  std::vector<std::string> tags{};  ///< Added to its own.
};

/// Finds backends by the id that programs name. Two tables, as in TorchDynamo's registry
/// (torch/_dynamo/backends/registry.py): what is known, by a plugin's record alone, and what is
/// loaded. A backend is loaded when it is looked up for the first time.
///
/// Backends come from the application, which registers them, and from searches (`discovery`), which
/// run when a look-up misses or a list is asked for, once. When several offer one id, what the
/// application registered wins; then the highest priority among those whose CPU features this
/// machine has; then the one that asks most of the CPU; then the place that is searched first. Two
/// in one place that are equal in all that are an error at look-up, which names both.
///
/// The registry keeps no plugin loaded by itself: a plugin is unloaded when the last holder of one
/// of its backends (an application, a method) lets go, and loaded again at the next look-up. There
/// is no limit on the number of backends.
///
/// Any thread. A look-up of a loaded backend takes no lock.
class BackendRegistry {
 public:
  /// `info` is what plugins see of the host; its log receives why files were refused. `cpu` is
  /// what plugins are chosen for, and must outlive the registry; null: this machine.
  explicit BackendRegistry(HostInfo info = {}, const CpuFeatures* cpu = nullptr)
      : info_(std::move(info)), cpu_(cpu) {}
  BackendRegistry(const BackendRegistry&) = delete;
  BackendRegistry& operator=(const BackendRegistry&) = delete;

  /// Registers a backend that is open already. The registry holds it until it is unregistered.
  ///
  /// errors, of all four: InvalidArgument for an id that is empty, too long or not printable, and
  /// for null; RegistrationAlreadyRegistered when the application registered the id before, with
  /// both origins. Nothing is registered then.
  [[nodiscard]] Status register_backend(std::shared_ptr<const Backend> backend,
                                        Registration registration = {}) {
    if (!backend) return error(Error::InvalidArgument, "expected a backend, found null");
    Candidate candidate;
    candidate.backends = {backend->record()};
    candidate.object = std::move(backend);
    return register_candidate(std::move(candidate), registration);
  }

  /// Registers what makes a backend at its first look-up. `registration.name` must be given: the
  /// factory is not asked before.
  [[nodiscard]] Status register_backend(BackendFactory factory, Registration registration) {
    if (!factory) return error(Error::InvalidArgument, "expected a factory, found an empty one");
    Candidate candidate;
    candidate.backends.emplace_back().id = registration.name;
    candidate.factory = std::move(factory);
    return register_candidate(std::move(candidate), registration);
  }

  /// Registers the backends of a plugin file. The file is read, not loaded. The application answers
  /// for the path: who owns it is not asked (`Trust::caller`). A plugin with several backends
  /// cannot be given a name. Also fails as `open_file` and `peek` do, and with NotSupported for an
  /// ABI that does not fit.
  [[nodiscard]] Status register_backend(const std::filesystem::path& plugin,
                                        Registration registration = {}) {
    std::error_code failed;
    Candidate candidate;
    candidate.path = std::filesystem::absolute(plugin, failed);
    if (failed) {
      return error(Error::AccessFailed, "cannot resolve ", plugin.native(), ": ", failed.message());
    }
    candidate.trust = Trust::caller;
    TENON_TRY(const OpenedFile file, open_file(candidate.path, candidate.trust));
    TENON_TRY(candidate.record, peek(file));
    TENON_CHECK(check_abi(*candidate.record).with_context(candidate.path.native()));
    candidate.backends = candidate.record->backends;
    return register_candidate(std::move(candidate), registration);
  }

  /// Registers the backends of a plugin that is linked into the application
  /// (`registry.register_backend(tenon_static_plugin_Add)`).
  [[nodiscard]] Status register_backend(const tenon_plugin_head* plugin,
                                        Registration registration = {}) {
    TENON_TRY(const auto linked, Plugin::from_static(plugin, info_));
    Candidate candidate;
    candidate.linked = plugin;
    candidate.record = linked->record();
    candidate.backends = candidate.record->backends;
    return register_candidate(std::move(candidate), registration);
  }

  /// `register_backend` with the tag "debug": not in lists unless asked for.
  template <class What>
  [[nodiscard]] Status register_debug_backend(What&& what, Registration registration = {}) {
    registration.tags.emplace_back("debug");
    return register_backend(std::forward<What>(what), std::move(registration));
  }

  /// `register_backend` with the tag "experimental": not in lists unless asked for.
  template <class What>
  [[nodiscard]] Status register_experimental_backend(What&& what, Registration registration = {}) {
    registration.tags.emplace_back("experimental");
    return register_backend(std::forward<What>(what), std::move(registration));
  }

  /// Forgets `id`, whoever offers it. NotFound when it is not known; InvalidState while somebody
  /// holds the backend, with the number of holders.
  [[nodiscard]] Status unregister_backend(std::string_view id) {
    search();
    detail::Known* known = table_.find(id);
    bool offered = false;
    std::vector<detail::Offer> dropped;  // Let go without the lock: an object may unload a plugin.
    const bool unused = known && known->slot.if_unused([&] {
      const std::lock_guard lock(mutex_);
      offered = !known->offers.empty();
      dropped.swap(known->offers);
      known->in_use = nullptr;
    });
    if (known && !unused) {
      return error(Error::InvalidState, "backend '", id, "' is in use, ", known->slot.users(),
                   " times; let go of it before it is unregistered");
    }
    return offered ? ok() : explain(id).status();
  }

  /// Adds a search for backends. It runs once, at the next look-up that misses or the next list,
  /// without any lock held. Places of an earlier search come first.
  void add_search(std::function<SearchReport()> search) {
    const std::lock_guard lock(mutex_);
    searches_.push_back(std::move(search));
    searched_.store(false, std::memory_order_release);
  }

  /// The backend with `id`, loaded and opened if it is not yet; of several threads one loads it.
  /// Fails as `InvalidBackend::status` says when there is none that can be used, and otherwise with
  /// what loading it failed with: no other candidate is tried in silence. The registry must outlive
  /// what it returns.
  [[nodiscard]] Result<BackendRef> lookup_backend(std::string_view id) const {
    detail::Known* known = table_.find(id);
    if (known && known->slot.try_acquire()) [[likely]]
      return BackendRef(&known->slot);
    return load(id);
  }

  /// A backend that is at hand already is returned as it is.
  [[nodiscard]] static Result<BackendRef> lookup_backend(BackendRef backend) {
    if (!backend) return error(Error::InvalidArgument, "expected a backend, found none");
    return backend;
  }
  [[nodiscard]] static Result<BackendRef> lookup_backend(std::shared_ptr<const Backend> backend) {
    return lookup_backend(BackendRef(std::move(backend)));
  }

  /// Whether a look-up of `id` would find a backend to load; loads nothing.
  [[nodiscard]] bool contains(std::string_view id) const {
    search();
    const std::lock_guard lock(mutex_);
    const detail::Known* known = table_.find(id);
    return known && known->chosen();
  }

  /// The ids that can be looked up, sorted, without those that have one of `exclude_tags`. Loads
  /// nothing.
  [[nodiscard]] std::vector<std::string> list_backends(
      std::span<const std::string_view> exclude_tags = default_exclude_tags) const {
    search();
    const std::lock_guard lock(mutex_);
    return list_locked(exclude_tags);
  }
  [[nodiscard]] std::vector<std::string> list_backends(
      std::initializer_list<std::string_view> exclude_tags) const {
    return list_backends(std::span(exclude_tags.begin(), exclude_tags.size()));
  }

  /// Tags of backends that are not for everybody.
  static constexpr std::string_view default_exclude_tags[] = {"debug", "experimental"};

  /// Everything that was found or registered, with what became of it: sorted by id, what was
  /// refused as a whole at the end. Loads nothing.
  [[nodiscard]] std::vector<BackendInfo> enumerate_backends() const {
    search();
    const std::lock_guard lock(mutex_);
    return enumerate_locked();
  }

  /// Where was searched, in order.
  [[nodiscard]] std::vector<Place> searched_places() const {
    search();
    const std::lock_guard lock(mutex_);
    return places_;
  }

  /// All that is known about why `id` cannot be looked up.
  [[nodiscard]] InvalidBackend explain(std::string_view id) const {
    search();
    const std::lock_guard lock(mutex_);
    InvalidBackend out;
    out.id = id;
    out.known = list_locked({});
    std::vector<std::string> offered;
    for (const detail::Known& known : known_) {
      if (!known.offers.empty()) offered.emplace_back(known.id());
    }
    out.near = near_names(id, offered);
    out.places = places_;
    for (BackendInfo& info : enumerate_locked()) {
      const bool refused = info.state == BackendState::refused ||
                           info.state == BackendState::unsupported ||
                           info.state == BackendState::disabled;
      if (info.backend() && info.id() == id) {
        out.offers.push_back(std::move(info));
      } else if (refused) {
        out.refused.push_back(std::move(info));
      }
    }
    return out;
  }

 private:
  Status register_candidate(Candidate candidate, const Registration& registration) {
    if (!registration.name.empty()) {
      if (candidate.backends.size() != 1) {
        return error(Error::InvalidArgument, candidate.origin(), ": a plugin of ",
                     candidate.backends.size(), " backends cannot be named '", registration.name,
                     "'; register it under its own ids");
      }
      candidate.backends[0].id = registration.name;
    }
    for (BackendRecord& record : candidate.backends) {
      TENON_CHECK(detail::check_id(record.id).with_context(candidate.origin()));
      record.tags.insert(record.tags.end(), registration.tags.begin(), registration.tags.end());
    }
    auto source =
        std::make_shared<detail::Source>(std::make_shared<const Candidate>(std::move(candidate)));
    const std::lock_guard lock(mutex_);
    std::vector<detail::Offer> offers = offers_of(source);
    for (const detail::Offer& offer : offers) {
      const detail::Known* known = table_.find(offer.record().id);
      if (!known) continue;
      for (const detail::Offer& other : known->offers) {
        const bool either_unfit =
            offer.unfit != BackendState::known || other.unfit != BackendState::known;
        const bool ordered = offer.is_plugin() && other.is_plugin() && offer.rank() != other.rank();
        if (!other.by_application() || either_unfit || ordered) continue;
        return error(Error::RegistrationAlreadyRegistered, "backend '", known->id(), "' of ",
                     offer.candidate().origin(), " is registered already, by ",
                     other.candidate().origin());
      }
    }
    add(std::move(offers));
    return ok();
  }

  [[nodiscard]] std::vector<detail::Offer> offers_of(
      const std::shared_ptr<detail::Source>& source) const {
    const Candidate& candidate = *source->candidate();
    std::vector<detail::Offer> offers;
    for (std::size_t i = 0; i < candidate.backends.size(); ++i) {
      detail::Offer offer{source, i};
      if (candidate.error != Error::Ok) {
        offer.unfit = candidate.error == Error::NotSupported ? BackendState::unsupported
                                                             : BackendState::refused;
        offer.reason = candidate.reason;
      } else if (i < candidate.disabled.size() && !candidate.disabled[i].empty()) {
        offer.unfit = BackendState::disabled;
        offer.reason = candidate.disabled[i];
      }
      detail::judge_cpu(offer, cpu_);
      offers.push_back(std::move(offer));
    }
    return offers;
  }

  void add(std::vector<detail::Offer> offers) const {
    for (detail::Offer& offer : offers) {
      const std::string& id = offer.record().id;
      detail::Known* known = table_.find(id);
      if (!known) {
        known = &known_.emplace_back(id);
        table_.insert(known);
      }
      known->offers.push_back(std::move(offer));
    }
  }

  /// Runs the searches that have not run.
  void search() const {
    if (searched_.load(std::memory_order_acquire)) return;
    const std::lock_guard one_at_a_time(search_mutex_);
    std::vector<std::function<SearchReport()>> searches;
    {
      const std::lock_guard lock(mutex_);
      searches.swap(searches_);
    }
    for (const auto& run : searches) adopt(run());
    const std::lock_guard lock(mutex_);
    searched_.store(searches_.empty(), std::memory_order_release);
  }

  void adopt(SearchReport report) const {
    for (const auto& candidate : report.candidates) {
      if (candidate->error == Error::Ok || !info_.log) continue;
      info_.log(TENON_LOG_INFO, candidate->origin(), concat("refused: ", candidate->reason));
    }
    const std::lock_guard lock(mutex_);
    // Numbers of places go on where those of the search before ended; 0 is the application.
    const std::size_t first_place = places_.size() + 1;
    places_.insert(places_.end(), report.places.begin(), report.places.end());
    for (std::shared_ptr<Candidate>& candidate : report.candidates) {
      candidate->place_order += first_place;
      if (candidate->backends.empty()) {
        refused_.push_back(std::move(candidate));
      } else {
        add(offers_of(std::make_shared<detail::Source>(std::move(candidate))));
      }
    }
  }

  /// The slow way of a look-up: the backend is not loaded, or not known yet.
  Result<BackendRef> load(std::string_view id) const {
    for (int attempt = 0; attempt < 2; ++attempt) {
      detail::Known* known = table_.find(id);
      bool usable = false;
      const auto open = [&]() -> Result<std::shared_ptr<const Backend>> {
        std::shared_ptr<detail::Source> source;
        std::size_t index = 0;
        {
          const std::lock_guard lock(mutex_);
          const detail::Offer* chosen = known->chosen();
          if (!chosen) return error(Error::NotFound, "");
          source = chosen->source;
          index = chosen->index;
          known->in_use = source.get();
        }
        usable = true;
        return source->open(index, info_);
      };
      if (known) {
        Status loaded = known->slot.acquire(open);
        if (loaded.ok()) return BackendRef(&known->slot);
        if (usable) return loaded;
      }
      search();  // Does nothing the second time.
    }
    return explain(id).status();
  }

  [[nodiscard]] std::vector<std::string> list_locked(
      std::span<const std::string_view> exclude_tags) const {
    std::vector<std::string> ids;
    for (const detail::Known& known : known_) {
      const detail::Offer* chosen = known.chosen();
      const auto excluded = [&](std::string_view tag) {
        return std::ranges::find(chosen->record().tags, tag) != chosen->record().tags.end();
      };
      if (chosen && std::ranges::none_of(exclude_tags, excluded)) ids.emplace_back(known.id());
    }
    std::ranges::sort(ids);
    return ids;
  }

  [[nodiscard]] std::vector<BackendInfo> enumerate_locked() const {
    std::vector<BackendInfo> out;
    for (const detail::Known& known : known_) {
      for (const detail::Offer& offer : known.offers) {
        out.push_back(detail::describe_offer(known, offer));
      }
    }
    std::ranges::stable_sort(out, {}, &BackendInfo::id);
    for (const auto& candidate : refused_) {
      out.push_back({candidate, 0, BackendState::refused, candidate->reason, 0});
    }
    return out;
  }

  HostInfo info_;
  const CpuFeatures* cpu_;
  mutable std::mutex search_mutex_;  // Held while searching; taken before mutex_.
  mutable std::atomic<bool> searched_ = true;
  mutable std::mutex mutex_;  // Guards all below, and writing to table_. Taken after a slot's.
  mutable std::vector<std::function<SearchReport()>> searches_;
  mutable std::vector<Place> places_;
  mutable std::vector<std::shared_ptr<const Candidate>> refused_;
  mutable std::deque<detail::Known> known_;
  mutable detail::IdTable<detail::Known> table_;
};

}  // namespace tenon::host
