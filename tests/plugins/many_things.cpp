// SPDX-License-Identifier: MIT
// Says all that a plugin can say of itself. Its second backend cannot be used, and says so in a way
// that would drive a terminal.
#define TENON_PLUGIN_VERSION "1.2.3"
#define TENON_PLUGIN_VENDOR "Tenon tests"
#include <array>
#include <cstdint>
#include <tenon/tenon.hpp>
#include <vector>

#include "support/idle_backend.hpp"

namespace {

constexpr std::array table{std::byte{0x01}, std::byte{0xff}};

class Many final : public tenon::Backend<Many>,
                   public tenon::test::IdleDelegates,
                   public tenon::WithOptions<Many>,
                   public tenon::WithDevices<Many>,
                   public tenon::WithCheckBlob<Many>,
                   public tenon::WithMemoryInfo<Many> {
 public:
  static constexpr std::string_view id = "ManyBackend";
  static constexpr std::string_view tags = "experimental,npu";
  static constexpr std::string_view cpu_features = "avx2,fma";
  static constexpr std::string_view description = "Has one of everything";
  static constexpr int priority = -3;
  static constexpr tenon::PayloadVersions payload_versions{1, 4};
  static constexpr std::array options{
      tenon::OptionSpec{"fast", true, "less exact", TENON_OPTION_AT_RUNTIME},
      tenon::OptionSpec{"threads", std::int64_t{4}, "worker threads", TENON_OPTION_AT_LOAD}.between(
          1, 16),
      tenon::OptionSpec{"scale", 0.5, "of all outputs"}.at_least(0.0).in("dB"),
      tenon::OptionSpec{"mode", "careful", ""}.one_of("careful", "fast").deprecated(),
      tenon::OptionSpec{"table", tenon::Bytes(table), "of the first layer"}};

  tenon::Result<std::vector<tenon::DeviceInfo>> devices() {
    constexpr std::uint64_t memory = std::uint64_t{512} << 20;
    return std::vector<tenon::DeviceInfo>{
        {{TENON_DL_CPU, 0}, "host", "the machine's own cores", memory},
        {{TENON_DL_CUDA, 1}, "second\x1b[31m accelerator", "", 0, "uuid:07"}};
  }
  tenon::Result<tenon::BlobVerdict> check_blob(tenon::InitContext&, tenon::Blob,
                                               tenon::CompileSpecs) {
    return tenon::BlobVerdict{};
  }
  tenon::MemoryUses memory_info(const Delegate*) { return {}; }
};

class Shy final : public tenon::Backend<Shy>,
                  public tenon::test::IdleDelegates,
                  public tenon::WithDevices<Shy> {
 public:
  static constexpr std::string_view id = "ShyBackend";
  tenon::Status is_available() {
    return tenon::error(tenon::Error::AccessFailed, "no \x1b[2J\adriver");
  }
  tenon::Result<std::vector<tenon::DeviceInfo>> devices() {
    return tenon::error(tenon::Error::AccessFailed, "the bus is off");
  }
};

}  // namespace

TENON_PLUGIN(Many, Shy);
