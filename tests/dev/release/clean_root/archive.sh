# SPDX-License-Identifier: MIT
# In a root of Debian: the archive of the sources is configured with the smallest options and installed, its headers make a
# plugin, and CMake takes an application and a plugin of it.
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends cmake flatbuffers-compiler g++ libflatbuffers-dev make meson \
  nlohmann-json3-dev pkg-config >/dev/null
mkdir /tmp/sources
tar -xf release/tenon-*.tar.gz -C /tmp/sources --strip-components=1
meson setup /tmp/build /tmp/sources --prefix /opt/tenon -Dhost=disabled
meson install -C /tmp/build
PKG_CONFIG_PATH=$(dirname "$(find /opt/tenon -name tenon.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
c++ -std=c++20 samples/examples/backends/hello/hello.cpp -o /tmp/hello.so $(pkg-config --cflags tenon) \
  $(pkg-config --variable=plugin_cflags tenon) $(pkg-config --variable=plugin_ldflags tenon)

# The folder to copy takes the archive, and prints what its README shows.
cp -r samples/examples/applications/consumer /tmp/project
cmake -S /tmp/project -B /tmp/project/build "-DTENON=$(echo "$PWD"/release/tenon-*.tar.gz)"
cmake --build /tmp/project/build --parallel 2
/tmp/project/build/consumer /tmp/project/build/scale.so /tmp/project/model.pte | grep -x 7.5
