# SPDX-License-Identifier: MIT
s,^( */// ?) *(threads|ownership|errors|lifetime): +,\1- \2: ,
s,^( */// ?) *(TN-[A-Z]{3}-[0-9]+) +,\1- \2: ,
s,^( *namespace tenon)::inline TENON_RELEASE,\1,
