# SPDX-License-Identifier: MIT
# In a root of Debian: the packages are installed with what they recommend, run a model, make a plugin with pkg-config, which
# runs and is judged by the kit, and one with CMake, run applications in C++ and C, and are removed without a trace.
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq ./release/python3-tenon_*.deb ./release/tenon-tools_*.deb >/dev/null
tenon-list
for program in compile conformance doctor inspect list new pack run; do
  tenon-$program --version
done
digits=samples/examples/applications/digits
python3 -c "
import tenon
numbers = bytearray(open('$digits/input.npy', 'rb').read()[128:])
method = tenon.load('$digits/model.pte')['forward']
y = memoryview(method(memoryview(numbers).cast('f', shape=[1, 1, 8, 8]))).tolist()[0]
assert y.index(max(y)) == 7, y"

apt-get install -y -qq --no-install-recommends ./release/libtenon-dev_*.deb ./release/libtenon1_*.deb g++ cmake make pkg-config >/dev/null
AUTOPKGTEST_TMP=/tmp sh samples/include/packages/debian/files/tests/hello samples
cases=samples/tests/conformance/cases/hello
apt-get install -y -qq --no-install-recommends python3-pytest >/dev/null
python3 -m pytest -q -p no:cacheprovider --tenon-plugin /tmp/hello.so --tenon-cases $cases --tenon-level 1
mkdir /tmp/project
cp samples/examples/applications/embed/embed.cpp samples/examples/backends/demo_backend/demo_backend.cpp \
  samples/examples/backends/demo_backend/demo_blob.hpp /tmp/project
cat >/tmp/project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.17)
project(consumer LANGUAGES C CXX)
find_package(Tenon 0.1 REQUIRED COMPONENTS host)
add_executable(embed embed.cpp)
target_link_libraries(embed PRIVATE Tenon::host)
tenon_add_plugin(demo_backend demo_backend.cpp)
END
cmake -S /tmp/project -B /tmp/project/build
cmake --build /tmp/project/build
/tmp/project/build/embed /tmp/project/build/demo_backend.so samples/tests/fixtures/demo_sin_inline/model.pte |
  grep -x 0.389418
# shellcheck disable=SC2046
cc -std=c11 samples/examples/applications/c_host/sines.c -o /tmp/sines $(pkg-config --cflags --libs tenon-c)
/tmp/sines /tmp/project/build/demo_backend.so samples/tests/fixtures/demo_sin_inline/model.pte | grep -x 0.389418
cd /tmp
tenon-new acme
cd /tenon

apt-get purge -y -qq libtenon-dev libtenon1 tenon-tools python3-tenon >/dev/null
left=$(find /usr /etc /var/lib/tenon -iname '*tenon*' 2>/dev/null || true)
test -z "$left"
