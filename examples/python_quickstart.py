# SPDX-License-Identifier: Apache-2.0
"""python_quickstart.py - a model tuned, run, kept and profiled.
usage: python_quickstart.py [MODEL.onnx]      default: SqueezeNet 1.1 with seeded weights"""
import sys

import hone

model = sys.argv[1] if len(sys.argv) > 1 else hone.zoo("squeezenet1_1")
engine = hone.build(model, "quickstart.hone", level=1)
feeds = hone.random_inputs(engine)                     # yours come from a camera, a file, a tokenizer
results = hone.Session(engine).run(feeds)
for name, result in results.items():
    print(f"{name} {result.dtype}{list(result.shape)}: element {result.argmax()} is the largest")
print(hone.profile(hone.load("quickstart.hone"), duration=0.5))
