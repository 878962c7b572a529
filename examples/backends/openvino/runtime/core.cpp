// SPDX-License-Identifier: MIT
#include "runtime/core.hpp"

#include <string_view>

namespace openvino_backend {
namespace {

/// IR of a model that gives its input back.
constexpr std::string_view identity_ir =
    R"(<?xml version="1.0"?><net name="identity" version="11"><layers>)"
    R"(<layer id="0" name="x" type="Parameter" version="opset1">)"
    R"(<data shape="1" element_type="f32"/>)"
    R"(<output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>)"
    R"(<layer id="1" name="y" type="Result" version="opset1">)"
    R"(<input><port id="0" precision="FP32"><dim>1</dim></port></input></layer></layers>)"
    R"(<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>)";

tenon::Result<std::string> read_requirements(const Core& core) {
  const Api& api = core.api();
  OwnedModel model(api);
  TENON_RETURN_IF_ERROR(
      check(api,
            api.core_read_model_from_memory_buffer(core.object.get(), identity_ir.data(),
                                                   identity_ir.size(), nullptr, model.out()),
            "read a model without layers"));
  OwnedCompiledModel compiled(api);
  TENON_RETURN_IF_ERROR(check(api,
                              api.core_compile_model(core.object.get(), model.get(),
                                                     core.device.c_str(), 0, compiled.out()),
                              "compile a model without layers"));
  char* said = nullptr;
  if (api.compiled_model_get_property(compiled.get(), "RUNTIME_REQUIREMENTS", &said) != ov_ok) {
    return std::string();
  }
  std::string out = said;
  api.free(said);
  return out;
}

}  // namespace

tenon::Result<std::shared_ptr<const Library>> Cores::library() {
  const std::lock_guard lock(mutex_);
  if (!library_) {
    TENON_TRY(Library loaded, Library::load());
    library_ = std::make_shared<const Library>(std::move(loaded));
  }
  return library_;
}

tenon::Result<std::shared_ptr<const Core>> Cores::find(const Settings& settings) {
  TENON_TRY(const auto openvino, library());
  const auto properties = settings.properties();
  std::string name = settings.device;
  for (const auto& [key, value] : properties) name += tenon::concat("\n", key, "=", value);

  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Core>& place = cores_[name];
  if (place) return place;
  const Api& api = openvino->api();
  auto core = std::make_shared<Core>(Core{openvino, settings.device, OwnedCore(api)});
  TENON_RETURN_IF_ERROR(check(api, api.core_create(core->object.out()), "create a core"));
  for (const auto& [key, value] : properties) {
    TENON_RETURN_IF_ERROR(
        check(api,
              api.core_set_property(core->object.get(), settings.device.c_str(), key.c_str(),
                                    value.c_str()),
              tenon::concat("set ", key, " of device ", settings.device, " to ", value),
              tenon::Error::InvalidArgument));
  }
  place = std::move(core);
  return place;
}

tenon::Result<std::string> Cores::requirements(const Core& core) {
  if (!core.device.starts_with("CPU")) return std::string();
  const std::lock_guard lock(mutex_);
  if (!requirements_) {
    TENON_TRY(requirements_, read_requirements(core));
  }
  return *requirements_;
}

}  // namespace openvino_backend
