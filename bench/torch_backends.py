#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch_backends.py - modules of PyTorch as they are, by torch.compile's own backend, and by hone, in turns: medians, the
outputs' largest difference, and what the first call took. PYTHONPATH has the package; tests/torch/requirements.txt.
usage: bench/torch_backends.py [TIMING_CACHE] [SECONDS] [MODULE...]"""
import statistics
import sys
import time
import warnings

import torch
import torchvision

import hone.torch

MODULES = {
    "mlp": lambda: (torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(),
                                        torch.nn.Linear(256, 10)), torch.rand(1, 64)),
    "transformer block": lambda: (torch.nn.TransformerEncoderLayer(384, 12, 1536, batch_first=True), torch.rand(1, 128, 384)),
    "resnet18": lambda: (torchvision.models.resnet18(weights=None), torch.rand(1, 3, 224, 224)),
    "mobilenet_v3_large": lambda: (torchvision.models.mobilenet_v3_large(weights=None), torch.rand(1, 3, 224, 224)),
}


def first(call, x):
    begin = time.perf_counter()
    y = call(x)
    return y, time.perf_counter() - begin


def turns(calls, x, seconds):
    """Medians of the calls in ms, in turns of some runs each, for so long each."""
    times = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end:
        for name, call in calls.items():
            for run in range(12):
                begin = time.perf_counter_ns()
                call(x)
                if run >= 2:  # the caches are the former's
                    times[name].append(time.perf_counter_ns() - begin)
    return {name: statistics.median(all_of) * 1e-6 for name, all_of in times.items()}


def main(cache, seconds, names):
    warnings.filterwarnings("error", category=hone.torch.FallbackWarning)
    torch.manual_seed(1)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"{'module':20} {'eager ms':>9} {'inductor':>9} {'hone':>9} {'of eager':>9} {'of induct.':>10} {'first call s, both':>20} {'difference':>11}")
    options = {"timing_cache": cache} if cache else {}
    for name, make in ((name, MODULES[name]) for name in names or MODULES):
        torch._dynamo.reset()
        module, x = make()
        module = module.eval()
        with torch.no_grad():
            want = module(x)
            inductor, ours = torch.compile(module), torch.compile(module, backend="hone", options=options)
            theirs_first = first(inductor, x)[1]
            got, ours_first = first(ours, x)
            times = turns({"eager": module, "inductor": inductor, "hone": ours}, x, seconds)
        print(f"{name:20} {times['eager']:9.3f} {times['inductor']:9.3f} {times['hone']:9.3f} {times['hone'] / times['eager']:9.2f} "
              f"{times['hone'] / times['inductor']:10.2f} {theirs_first:9.1f} {ours_first:10.1f} {(got - want).abs().max():11.1e}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None, float(sys.argv[2]) if len(sys.argv) > 2 else 3, sys.argv[3:])
