// SPDX-License-Identifier: BSD-2-Clause
// hot.js SECONDS WAY: two parts of the same work, one three times as long, for so long on the CPU.
// Prints which part of the CPU time of both the first has had; of threads only what is meant.
'use strict';
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const LENGTH = 40000;
const spent = [0, 0];

const used = () => process.cpuUsage().user + process.cpuUsage().system;

function leaf(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += Math.sqrt(i) % 7;
  return sum;
}

function one(depth) {
  return depth ? one(depth - 1) : leaf(30 * LENGTH);
}

function two(depth) {
  return depth ? two(depth - 1) : leaf(10 * LENGTH);
}

function share(depth = 5, first = one, second = two) {
  const begin = used();
  first(depth);
  const middle = used();
  second(depth);
  spent[0] += middle - begin;
  spent[1] += used() - middle;
}

class Parts {
  static *produce(end) {
    while (used() < end) yield share();
  }

  #times = 3;

  async inner() {
    await null;
    share();
  }

  async outer() {
    for (let i = 0; i < this.#times; i++) await this.inner();
  }
}

function make(name, times) {
  const made = new Function('leaf', `return function ${name}(n) { return leaf(n * ${times}) }`)(leaf);
  made(0);
  return made;
}

// Functions that come and go, so that others lie where they did; objects that live on move.
function moving(end) {
  const kept = [];
  for (let i = 0; used() < end; i++) {
    const [first, second] = [make('one', 30), make('two', 10)];
    share(LENGTH, first, second);
    for (let k = 0; k < 1000; k++) kept[(i * 1000 + k) % 200000] = { made: () => i + k };
    if (i % 10 === 9) globalThis.gc();
  }
}

async function run(way, end) {
  if (way === 'threads') {
    const all = [];
    for (let i = 0; i < 3; i++)
      all.push(new Promise((done) => new Worker(__filename, { workerData: end }).on('exit', done)));
    await Promise.all(all);
  } else if (way === 'generators') {
    for (const each of Parts.produce(end)) each;
  } else if (way === 'asynchronous') {
    while (used() < end) await new Parts().outer();
  } else if (way === 'callbacks') {
    while (used() < end) [1, 2].map(() => share());
  } else if (way === 'moving') {
    moving(end);
  } else if (way === 'deep') {
    while (used() < end) share(3000);
  } else {
    while (used() < end) share();
  }
}

if (isMainThread) {
  run(process.argv[3], 1e6 * Number(process.argv[2])).then(() =>
    console.log(process.argv[3] === 'threads' ? 0.75 : spent[0] / (spent[0] + spent[1])));
} else {
  run('plain', workerData);
}
