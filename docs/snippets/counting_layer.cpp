// SPDX-License-Identifier: MIT
// A layer of the host, and a load with it (docs/project/layers.md).
#include <cstddef>
#include <memory>
#include <string_view>
#include <tenon/host.hpp>
#include <utility>

namespace host = tenon::host;
using tenon::Result;
using tenon::Status;

// [layer]
/// Counts the delegates that the loads with it initialised. For one thread.
class DelegateCount final : public host::MethodLayer {
 public:
  explicit DelegateCount(std::size_t& count) : count_(count) {}

  Result<std::unique_ptr<host::detail::MethodPart>> attach(
      host::detail::LoadRequest&) const override {
    return std::make_unique<Part>(count_);
  }

 private:
  struct Part final : host::detail::PartOf<Part> {
    explicit Part(std::size_t& its_count) : count(its_count) {}
    Status after_init(host::detail::Loading&, host::detail::DelegateLoad&,
                      Status outcome) override {
      if (outcome.ok()) ++count;
      return outcome;
    }
    std::size_t& count;
  };
  std::size_t& count_;
};
// [layer]

namespace docs {

/// The delegates of method `name`.
Result<std::size_t> count_delegates(const host::BackendRegistry& registry,
                                    std::shared_ptr<const host::Program> program,
                                    std::string_view name) {
  // [use]
  std::size_t count = 0;
  TENON_TRY(const auto method,
            host::Method::load(std::move(program), name,
                               {.registry = &registry, .layers = {DelegateCount(count)}}));
  // [use]
  return count;
}

}  // namespace docs
