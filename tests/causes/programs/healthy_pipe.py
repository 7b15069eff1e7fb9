# SPDX-License-Identifier: BSD-2-Clause
"""healthy_pipe.py: one compressor works on all that this process writes."""
import subprocess

compressor = subprocess.Popen(["gzip", "-6"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
for i in range(120000):
    compressor.stdin.write(b"line %d with some words to compress\n" % (i * i % 100003))
compressor.stdin.close()
compressor.wait()
