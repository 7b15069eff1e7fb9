// SPDX-License-Identifier: BSD-2-Clause
// scavenge.js SECONDS: allocates objects for so much CPU time, some of which live on, and asks
// for two collections if it may.
'use strict';

let kept = [];
const end = 1e6 * Number(process.argv[2]);

function allocate() {
  for (let i = 0; i < 100000; i++) {
    const object = { number: i, text: 'x' + i };
    if (i % 8 === 0) kept.push(object);
  }
  if (kept.length > 500000) kept = [];
}

function work() {
  while (process.cpuUsage().user < end) allocate();
}

work();
if (global.gc) {
  global.gc();
  global.gc();
}
