# SPDX-License-Identifier: MIT
import array
import tenon

method = tenon.load("model.pte", plugins=["scale.so"])["forward"]
y = method(array.array("f", [1, 2, 3, 4]))
print(memoryview(y).tolist())
