# SPDX-License-Identifier: MIT
# In a root of Debian: Debian's own runner installs the packages, with what the control file of their tests names and nothing
# else, and runs these tests.
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends autopkgtest >/dev/null
mv samples/include/packages/debian/files samples/debian
version=$(dpkg-deb --field release/libtenon-dev_*.deb Version)
printf 'tenon (%s) unstable; urgency=medium\n\n  * Tested.\n\n -- A <a@tenon.invalid>  Fri, 15 Jan 2027 08:00:00 +0000\n' \
  "$version" >samples/debian/changelog
autopkgtest --no-built-binaries ./release/*.deb ./samples/ -- null
