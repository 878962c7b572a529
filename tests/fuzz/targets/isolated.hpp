// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace tenon::fuzz {

void worker_messages(std::span<std::byte> bytes);
void application_messages(std::span<std::byte> bytes);

}  // namespace tenon::fuzz
