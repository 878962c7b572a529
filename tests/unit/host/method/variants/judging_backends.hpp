// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/static_plugin.h"

/// Backends that judge blobs by their text: "optimal NAME", "usable NAME", "incompatible NAME",
/// "asks KEY" (wants named data); "fails" cannot be judged. Their calls are in `test::calls`:
/// "check TEXT", "init TEXT METHOD".
///
/// "First" and "Second" judge. "Versioned" does as well and reads payload versions 2 and 3.
/// "Mute" has no check_blob. "Code" runs code of the program.
TENON_DECLARE_STATIC_PLUGIN(FirstBackend);
