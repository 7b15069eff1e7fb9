// SPDX-License-Identifier: BSD-2-Clause
// functions.js SECONDS: three quarters of its CPU time are in first(), one in second(), both in share().
'use strict';

function step(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Math.sqrt(i) % 7;
  return sum;
}

function first() {
  return step(90000);
}

function second() {
  return step(30000);
}

function share(seconds) {
  let sum = 0;
  while (process.cpuUsage().user < 1e6 * seconds) sum += first() + second();
  return sum;
}

share(Number(process.argv[2]));
