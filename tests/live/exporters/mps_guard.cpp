// SPDX-License-Identifier: MIT
//
// Makes PyTorch on Linux see one MPS device and that nothing has to be done to switch to
// it, so that a model can be compiled for Metal there. Loaded by export_metal.py.
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

struct Guard : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::MPS> {
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};

const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::MPS, new Guard);

}  // namespace
