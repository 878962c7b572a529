// SPDX-License-Identifier: MIT
//
// The definitions of the layer variants: variants of methods. A part of
// <tenon/host/implementation.hpp>.
#pragma once

#include "tenon/host/layers/variants/impl/choose_variant.hpp"
#include "tenon/host/layers/variants/impl/requirements.hpp"
#include "tenon/host/layers/variants/impl/variant.hpp"
#include "tenon/host/layers/variants/impl/variants.hpp"
