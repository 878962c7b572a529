#!/bin/sh
# SPDX-License-Identifier: MIT
#
# openvino.sh: compiles models with the plugin of build/gcc and runs them in tenon-run, alone and as one
# variant of several; exports models with ExecuTorch's own exporter for OpenVINO and runs them with the
# plugin in stock Python. `./dev live` calls it, after PyTorch and ExecuTorch are installed.
#
# OpenVINO and what the exporter imports are installed into build/live/openvino-venv, which sees the
# packages of build/live/venv. Exit status: 0 also where they cannot be installed, with a line.
set -eu
cd "$(dirname "$0")/../../.."

venv=build/live/openvino-venv
skip() {
  echo "live: skipped: $1" >&2
  exit 0
}

library=$(.ci/fetch-openvino-wheel) || skip "OpenVINO's wheel is not available here"
build/live/venv/bin/python tests/live/checks/openvino_models.py build/gcc "$library"
# One program with variants for it and three other backends.
build/live/venv/bin/python tests/live/checks/variants.py export build/live/variants
python3 tests/live/checks/variants.py check build/live/variants build/gcc "$library"
build/live/venv/bin/python tests/live/checks/variants.py stock build/live/variants
if [ ! -f $venv/complete ]; then
  python3 -m venv $venv
  for packages in build/live/venv/lib/python3*/site-packages; do
    (cd "$packages" && pwd) >"$(echo $venv/lib/python3*/site-packages)/live.pth"
  done
  $venv/bin/pip install --quiet --disable-pip-version-check openvino==2026.4.1 nncf ||
    skip "OpenVINO and nncf cannot be installed here"
  touch $venv/complete
fi
$venv/bin/python tests/live/exporters/export_openvino.py --cache build/live/openvino
OPENVINO_LIB=$library $venv/bin/python tests/live/checks/openvino_python.py build/gcc build/live/openvino
