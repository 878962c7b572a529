// SPDX-License-Identifier: MIT
//
// How a layer of the host takes part in the methods that an application loads with it. The loader
// calls what is here, and knows no layer.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/result.hpp"
#include "tenon/host/schema/forward.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

struct Kernel;
class LoadedBackend;
struct MethodOptions;
class Program;

namespace detail {

struct Loading;
struct DelegateLoad;
struct MethodState;

/// A load before anything of its method exists.
struct LoadRequest {
  const std::shared_ptr<const Program>& program;
  /// By which the application loads the method.
  std::string_view name;
  /// The plan that is loaded: before layers attach, the one with that name. A layer that chooses
  /// also sets `name`, to the method's name in the program, and `is_chosen`. Null in
  /// `add_backends`.
  const schema::ExecutionPlan* plan;
  MethodOptions& options;  ///< A layer may add to them.
  bool is_chosen = false;  ///< No other layer chooses a plan.
};

/// A layer's share of one method, which owns it. Its functions are called in the order in which the
/// layers were listed.
///
/// threads: the thread of the load, the run or the destruction. errors: a failure ends the load and
/// destroys all that was loaded.
class MethodPart {
 public:
  MethodPart() noexcept = default;
  MethodPart(const MethodPart&) = delete;
  MethodPart& operator=(const MethodPart&) = delete;
  /// After the method's delegates and memory.
  virtual ~MethodPart() = default;

  /// The address that `find_part` compares: see `PartOf`.
  [[nodiscard]] virtual const void* kind() const noexcept = 0;

  /// Nothing of the method exists but its options and plan: no memory, no backend.
  [[nodiscard]] virtual Status before_load(Loading&) { return ok(); }
  /// Every part has seen `before_load`. A part that limits memory takes here all that the method
  /// will need, or refuses the load. Backends may be opened from now on.
  [[nodiscard]] virtual Status limit_memory(Loading&) { return ok(); }
  /// Every part has seen `limit_memory`; planned memory is allocated next.
  [[nodiscard]] virtual Status before_memory(Loading&) { return ok(); }
  /// Whether `backend` may get a delegate of the method: before the blob is read, and before the
  /// backend is asked whether it can run.
  [[nodiscard]] virtual Status admit(Loading&, const LoadedBackend&) { return ok(); }
  /// The context of a delegate is filled; `init` follows.
  [[nodiscard]] virtual Status init_context(Loading&, DelegateLoad&) { return ok(); }
  /// `init` has returned `outcome`; the result is what counts. After a failure the delegate is
  /// destroyed by the loader.
  [[nodiscard]] virtual Status after_init(Loading&, DelegateLoad&, Status outcome) {
    return outcome;
  }
  /// The bytes of the external tensor `name`, which live as long as the method; nothing: this layer
  /// has none. The first layer that has them counts.
  [[nodiscard]] virtual Result<std::optional<std::span<const std::byte>>> find_external(
      Loading&, std::string_view, const schema::Tensor&) {
    return std::nullopt;
  }
  /// A kernel for one call of `op`; null: this layer has none. `args` are fixed.
  [[nodiscard]] virtual Result<const Kernel*> find_kernel(Loading&, const std::string&,
                                                          std::span<tenon_value* const>) {
    return nullptr;
  }
  /// Why this layer has no kernels, for the error that lists those missing; may be empty.
  [[nodiscard]] virtual std::string kernels_missing(Loading&) { return {}; }
  /// The table `id` that kernels of the application get from their host (`tenon_host`); null: this
  /// layer has none. The first layer that has it counts. From any thread, during runs.
  [[nodiscard]] virtual const void* find_table(std::string_view) const noexcept { return nullptr; }
  /// Whether options for a backend are right that no delegate of the method names.
  [[nodiscard]] virtual bool may_use(std::string_view) const noexcept { return false; }
  /// The load has succeeded, or failed with `outcome`; the result is what counts.
  [[nodiscard]] virtual Status after_load(Loading&, Status outcome) { return outcome; }
  /// The destruction begins; every other part is as it was in the last run. Returns when no run of
  /// this layer is pending, and none can be started.
  virtual void finish_runs(MethodState&) noexcept {}
  /// In reverse order, before the delegates of the method are destroyed.
  virtual void before_destroy(MethodState&) noexcept {}
};

/// Base of the part `Part`, which `find_part<Part>` finds by the address of `key`.
template <class Part>
class PartOf : public MethodPart {
 public:
  static constexpr char key = 0;
  [[nodiscard]] const void* kind() const noexcept final { return &key; }
};

using MethodParts = std::vector<std::unique_ptr<MethodPart>>;

}  // namespace detail

/// A layer, as an application lists it in `MethodOptions::layers`.
///
/// threads: any, at the same time.
class MethodLayer {
 public:
  virtual ~MethodLayer() = default;

  /// Adds to `request.options.backends`, before any layer attaches: layers that choose ask what is
  /// there. Called for `MethodOptions::layers` alone.
  [[nodiscard]] virtual Status add_backends(detail::LoadRequest&) const { return ok(); }

  /// The layer's share of the method that is loaded; null: it has none.
  [[nodiscard]] virtual Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const = 0;

 protected:
  MethodLayer() noexcept = default;
  MethodLayer(const MethodLayer&) = default;
  MethodLayer& operator=(const MethodLayer&) = default;
};

/// The layers of a method, in their order: `{pool, Budget(...)}`. A named object is borrowed, and
/// must outlive the method; a temporary is kept.
class Layers {
 public:
  /// A layer of the list.
  class Item {
   public:
    template <class Layer>
      requires std::derived_from<std::remove_cvref_t<Layer>, MethodLayer>
    Item(Layer&& layer)  // NOLINT(google-explicit-constructor): a list of layers is written so.
        : layer_(hold(std::forward<Layer>(layer))) {}

   private:
    friend class Layers;

    template <class Layer>
    static std::shared_ptr<const MethodLayer> hold(Layer&& layer) {
      if constexpr (std::is_lvalue_reference_v<Layer>) {
        return {std::shared_ptr<const MethodLayer>(), &layer};
      } else {
        return std::make_shared<const std::remove_cvref_t<Layer>>(std::move(layer));
      }
    }

    std::shared_ptr<const MethodLayer> layer_;
  };

  Layers() noexcept = default;
  Layers(std::initializer_list<Item> items) {
    for (const Item& item : items) layers_.push_back(item.layer_);
  }

  void add(const Item& item) { layers_.push_back(item.layer_); }

  /// The layers that are not of class `Layer`.
  template <std::derived_from<MethodLayer> Layer>
  [[nodiscard]] Layers without() const {
    Layers out = *this;
    std::erase_if(out.layers_, [](const auto& each) {
      return dynamic_cast<const Layer*>(each.get()) != nullptr;
    });
    return out;
  }

  [[nodiscard]] auto begin() const noexcept { return layers_.begin(); }
  [[nodiscard]] auto end() const noexcept { return layers_.end(); }
  [[nodiscard]] bool empty() const noexcept { return layers_.empty(); }

 private:
  std::vector<std::shared_ptr<const MethodLayer>> layers_;
};

namespace detail {

/// Calls `each` with the layers of class `Layer` among `layers`.
template <std::derived_from<MethodLayer> Layer, class Each>
void for_each_layer(const Layers& layers, const Each& each) {
  for (const auto& layer : layers) {
    if (const auto* const found = dynamic_cast<const Layer*>(layer.get())) each(*found);
  }
}

}  // namespace detail

}}}  // namespace tenon::TENON_RELEASE::host
