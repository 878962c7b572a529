// SPDX-License-Identifier: MIT
// Says of a blob what the blob's own text asks for, and ends the process when one is run, or loaded
// that does not end with "loads". "asks a b": wants the named data "a" and "b", each twice.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#define TENON_PLUGIN_VERSION "7.1"
#include <tenon/tenon.hpp>

namespace {

using tenon::BlobVerdict;
using tenon::Compatibility;

class Judge final : public tenon::Backend<Judge>,
                    public tenon::WithCheckBlob<Judge>,
                    public tenon::WithEstimate<Judge> {
 public:
  static constexpr std::string_view id = "JudgeBackend";

  struct Delegate {};
  tenon::Result<Delegate> init(tenon::InitContext&, tenon::Blob processed, tenon::CompileSpecs) {
    if (!processed.text().ends_with("loads")) std::abort();
    return Delegate{};
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { std::abort(); }

  tenon::Result<BlobVerdict> check_blob(tenon::InitContext& context, tenon::Blob processed,
                                        tenon::CompileSpecs) {
    std::string_view text = processed.text();
    if (text == "fails") return tenon::error(tenon::Error::OutOfResources, "no table of chips");
    if (text == "usable" || text == "usable, loads")
      return BlobVerdict{Compatibility::Usable, "made for an older compiler"};
    if (text == "incompatible") return BlobVerdict{Compatibility::Incompatible, "made for chip 2"};
    if (text == "drives") return BlobVerdict{Compatibility::Usable, "\x1b[2Jred\x9b"};
    if (text.starts_with("asks ")) ask_for(context, text.substr(5));
    return BlobVerdict{};
  }

  /// The bytes of the text.
  tenon::Result<tenon::MemoryUses> estimate(tenon::InitContext&, tenon::Blob processed,
                                            tenon::CompileSpecs) {
    return tenon::MemoryUses{{.weights = processed.text().size()}};
  }

 private:
  static void ask_for(tenon::InitContext& context, std::string_view keys) {
    const auto map = context.named_data_map();
    while (map && !keys.empty()) {
      const std::size_t end = std::min(keys.find(' '), keys.size());
      for (int i = 0; i < 2; ++i) static_cast<void>(map->get_data(keys.substr(0, end)).ok());
      keys.remove_prefix(std::min(end + 1, keys.size()));
    }
  }
};

}  // namespace

TENON_PLUGIN(Judge);
