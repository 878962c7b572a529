// SPDX-License-Identifier: MIT
#include "variants_support.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>

#include "unit/host/loader/method/test_backend.hpp"

namespace {

using tenon::BlobVerdict;
using tenon::Compatibility;
using tenon::test::record;

struct LoadedBlob {};

tenon::Result<LoadedBlob> load(tenon::InitContext& context, const tenon::Blob& processed) {
  record(tenon::concat("init ", processed.text(), " ", context.method_name()));
  return LoadedBlob{};
}

tenon::Result<BlobVerdict> judge(tenon::InitContext& context, const tenon::Blob& processed) {
  const std::string_view text = processed.text();
  record(tenon::concat("check ", text));
  if (text == "fails") return tenon::error(tenon::Error::OutOfResources, "no table of chips");
  if (text.starts_with("usable")) return BlobVerdict{Compatibility::Usable, "made for chip 1"};
  if (text.starts_with("incompatible")) {
    return BlobVerdict{Compatibility::Incompatible, "made for chip 2"};
  }
  if (text.starts_with("later")) {
    return BlobVerdict{static_cast<Compatibility>(7), "a verdict of a later header"};
  }
  if (text.starts_with("for chip ")) {
    for (std::size_t i = 0; i < context.num_runtime_specs(); ++i) {
      const auto chip = tenon::OptionView(context.runtime_spec(i)).string();
      if (chip == text.substr(9)) return BlobVerdict{};
    }
    return BlobVerdict{Compatibility::Incompatible, "made for another chip"};
  }
  if (text.starts_with("asks ")) {
    const auto map = context.named_data_map();
    if (map) static_cast<void>(map->get_data(text.substr(5)).ok());
  }
  return BlobVerdict{};
}

struct Judging {
  using Delegate = LoadedBlob;
  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    return load(context, processed);
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
  tenon::Result<BlobVerdict> check_blob(tenon::InitContext& context, tenon::Blob processed,
                                        tenon::CompileSpecs) {
    return judge(context, processed);
  }
};

class FirstBackend final : public tenon::Backend<FirstBackend>,
                           public tenon::WithCheckBlob<FirstBackend>,
                           public Judging {
 public:
  static constexpr std::string_view id = "First";
};

class SecondBackend final : public tenon::Backend<SecondBackend>,
                            public tenon::WithCheckBlob<SecondBackend>,
                            public Judging {
 public:
  static constexpr std::string_view id = "Second";
};

class VersionedBackend final : public tenon::Backend<VersionedBackend>,
                               public tenon::WithCheckBlob<VersionedBackend>,
                               public Judging {
 public:
  static constexpr std::string_view id = "Versioned";
  static constexpr tenon::PayloadVersions payload_versions = {2, 3};
};

class CodeBackend final : public tenon::Backend<CodeBackend>,
                          public tenon::WithCheckBlob<CodeBackend>,
                          public Judging {
 public:
  static constexpr std::string_view id = "Code";
  static constexpr bool runs_embedded_code = true;
};

class MuteBackend final : public tenon::Backend<MuteBackend> {
 public:
  static constexpr std::string_view id = "Mute";
  using Delegate = LoadedBlob;
  tenon::Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                               tenon::CompileSpecs) {
    return load(context, processed);
  }
  tenon::Status execute(tenon::ExecutionContext&, Delegate&, tenon::Args) { return tenon::ok(); }
};

}  // namespace

TENON_PLUGIN(FirstBackend, SecondBackend, VersionedBackend, CodeBackend, MuteBackend);
