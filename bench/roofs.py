#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""roofs.py - the roofs that `hone peaks` measures against those of bench/roofs.c, whose loops are its own.

Both run in turns, the first of each round changing. A roof is the most that was reached, so the table has the best of the
rounds of each, their ratio, and the ratio of the medians, which tells how quiet the machine was. Exit code 1: a ratio is more
than 5 % from one.

    cmake --build build/release --target bench_roofs
    bench/roofs.py [--threads 1,2] [--rounds 5] [--hone build/release/hone] [--roofs build/release/bench_roofs]
"""
import argparse
import json
import statistics
import subprocess
import sys

LIMIT = 0.05


def by_hone(hone, threads):
    done = subprocess.run([hone, "peaks", "--threads", str(threads), "--measure", "--json"], check=True, capture_output=True, text=True)
    return {roof["roof"]: roof["measured"] for roof in json.loads(done.stdout)["roofs"] if "measured" in roof}


def by_loops(program, threads):
    done = subprocess.run([program, str(threads)], check=True, capture_output=True, text=True)
    return {name: float(best) for name, best, _ in (line.split() for line in done.stdout.splitlines())}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--threads", default="1,2")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--hone", default="build/release/hone")
    options.add_argument("--roofs", default="build/release/bench_roofs")
    args = options.parse_args()
    apart = 0
    print("| roof | threads | hone peaks | bench/roofs.c | ratio | of medians |")
    print("|---|---|---|---|---|---|")
    for threads in (int(word) for word in args.threads.split(",")):
        measured = {"hone": [], "loops": []}
        for turn in range(args.rounds):
            sides = [("hone", lambda: by_hone(args.hone, threads)), ("loops", lambda: by_loops(args.roofs, threads))]
            for side, measure in sides if turn % 2 == 0 else reversed(sides):
                measured[side].append(measure())
        for roof in measured["hone"][0]:
            if roof not in measured["loops"][0]:
                print(f"| {roof} | {threads} | {measured['hone'][0][roof] * 1e-9:.1f} | no loop | | |")
                continue
            a, b = ([round_of[roof] for round_of in measured[side]] for side in ("hone", "loops"))
            ratio = max(a) / max(b)
            apart += abs(ratio - 1) > LIMIT
            unit = "GB/s" if roof in ("L1", "L2", "L3", "memory") else "GOP/s"
            print(f"| {roof} | {threads} | {max(a) * 1e-9:.1f} {unit} | {max(b) * 1e-9:.1f} | {ratio:.3f} | "
                  f"{statistics.median(a) / statistics.median(b):.3f} |", flush=True)
    print(f"\n{apart} of them more than {LIMIT:.0%} apart; best of {args.rounds} rounds in turns")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
