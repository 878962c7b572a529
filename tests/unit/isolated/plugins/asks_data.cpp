// SPDX-License-Identifier: MIT
//
// Its delegates have numbers, from 0, in the order of `init`. A run asks the named data of delegate
// a[0] for "weight", in a thread of its own when a[1] is not 0, and fills the output with the first
// byte of it.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tenon/tenon.hpp>
#include <thread>
#include <vector>

namespace {

class AsksData final : public tenon::Backend<AsksData>, public tenon::WithSessions<AsksData> {
 public:
  static constexpr std::string_view id = "Add";

  struct Delegate {};

  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob, tenon::CompileSpecs) {
    const auto map = context.named_data_map();
    if (!map) return tenon::error(tenon::Error::InvalidArgument, "no named data");
    maps_.push_back(*map);
    return Delegate{};
  }
  tenon::Result<Delegate> create_session(const Delegate&) { return Delegate{}; }

  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args args) {
    TENON_TRY(auto a, args.tensor<const float>(0));
    TENON_TRY(auto out, args.tensor<float>(2));
    const tenon::NamedDataMap map = maps_.at(static_cast<std::size_t>(a[0]));
    std::optional<tenon::Result<tenon::NamedData>> found;
    const auto ask = [&] { found.emplace(map.get_data("weight")); };
    if (a[1] != 0) {
      std::thread(ask).join();
    } else {
      ask();
    }
    if (!found->ok()) return std::move(*found).status();
    std::ranges::fill(out, static_cast<float>((*found)->bytes()[0]));
    return tenon::ok();
  }

 private:
  std::vector<tenon::NamedDataMap> maps_;
};

}  // namespace

TENON_PLUGIN(AsksData);
