// SPDX-License-Identifier: MIT
#include "runtime/core.hpp"

namespace openvino_backend {

tenon::Result<std::shared_ptr<const Library>> Cores::library() {
  const std::lock_guard lock(mutex_);
  if (!library_) {
    TENON_TRY(Library loaded, Library::load());
    library_ = std::make_shared<const Library>(std::move(loaded));
  }
  return library_;
}

std::shared_ptr<const Library> Cores::loaded() const {
  const std::lock_guard lock(mutex_);
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

}  // namespace openvino_backend
