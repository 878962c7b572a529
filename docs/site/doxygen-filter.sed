# SPDX-License-Identifier: MIT
s,^( */// ?) *(threads|ownership|errors|lifetime): +,\1- \2: ,
s,^( */// ?) *(TN-[A-Z]{3}-[0-9]+) +,\1- \2: ,
s,^namespace tenon \{ inline namespace TENON_RELEASE \{ namespace ([a-z_0-9:]+) \{,namespace tenon::\1 {,
s,^namespace tenon \{ inline namespace TENON_RELEASE \{,namespace tenon {,
s,^\}\}(\}+  // namespace tenon)::TENON_RELEASE::,\1::,
s,^\}(\}+  // namespace tenon)::TENON_RELEASE$,\1,
