// SPDX-License-Identifier: BSD-2-Clause
// live.js: one function makes objects that stay alive for some collections, another one garbage.
// live.js [nolive | nogarbage]: without one of the two.
const without = process.argv[2] || '';
const KEPT = 200000;
const kept = new Array(KEPT);
let next = 0, sink;

function keep(n) {
  for (let i = 0; i < n; i++) {
    kept[next] = { value: i, more: [i] };
    next = (next + 1) % KEPT;
  }
}

function garbage(n) {
  for (let i = 0; i < n; i++)
    sink = { value: i, more: [i, i] };
}

for (let round = 0; round < 200; round++) {
  if (without !== 'nolive')
    keep(5000);
  if (without !== 'nogarbage')
    garbage(40000);
}
