# SPDX-License-Identifier: MIT
"""What the package costs a process: footprint.py BUILD SOURCE

Prints the time of `import tenon`, the least of 20 processes, by the clock and of the processor (on a
busy machine the second is what the package costs), and the resident memory after running
examples/applications/digits, without NumPy.
"""

import subprocess
import sys

BUILD, SOURCE = sys.argv[1:3]

IMPORT = """
import time
clock, processor = time.perf_counter(), time.process_time()
import tenon
print(time.perf_counter() - clock, time.process_time() - processor)
"""
DIGITS = f"""
import resource, struct
import tenon

raw = open("{SOURCE}/examples/applications/digits/input.npy", "rb").read()
x = memoryview(raw[-256:]).cast("f", (1, 1, 8, 8))
method = tenon.load("{SOURCE}/examples/applications/digits/model.pte",
                    plugins=["{BUILD}/reference_backends/cpu_aoti/cpu_aoti.so"])["forward"]
[row] = method(x).tolist()
print(max(range(10), key=row.__getitem__))
[resident] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS")]
print(resident, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True,
                          env={"PYTHONPATH": f"{BUILD}/examples/python"})
    return done.stdout.split()


found = [list(map(float, run(IMPORT))) for _ in range(20)]
clock, processor = (min(each) * 1e3 for each in zip(*found))
print(f"import tenon: {clock:.1f} ms by the clock, {processor:.1f} ms of the processor")
[digit, resident, peak] = run(DIGITS)
print(f"digits: read {digit}; {int(resident) / 1024:.1f} MiB resident, {int(peak) / 1024:.1f} MiB at most")
