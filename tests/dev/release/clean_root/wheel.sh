# SPDX-License-Identifier: MIT
# In a root of Debian: the wheel is installed into a virtual environment and runs a model.
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install --quiet --no-index release/*.whl
digits=samples/examples/applications/digits
/tmp/venv/bin/tenon-run $digits/model.pte --input $digits/input.npy --expect $digits/expected.npy --top 1
/tmp/venv/bin/python -c "import tenon; tenon.load('$digits/model.pte')"
