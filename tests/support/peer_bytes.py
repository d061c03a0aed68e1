# SPDX-License-Identifier: Apache-2.0
"""peer_bytes.py - whether ONNX Runtime multiplies bytes as ONNX says it: without VNNI it adds pairs of products in 16
bits, which saturate, and rounds elsewhere. Results are held against hone's reference there (HONE_BIN)."""
import os
import subprocess

with open("/proc/cpuinfo", encoding="utf-8") as file:
    SATURATES = "vnni" not in file.read()


def by_reference(path, inputs, folder):
    """Runs a model by each operator's definition; outputs are NAME.npy in the folder. inputs: NAME=FILE.npy"""
    arguments = [argument for text in inputs for argument in ("--input", text)]
    subprocess.run([os.environ.get("HONE_BIN", "hone"), "run", path, "--quiet", "--device", "ref", "--output-dir", folder, *arguments],
                   check=True, stdout=subprocess.DEVNULL)
