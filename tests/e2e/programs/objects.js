// SPDX-License-Identifier: BSD-2-Clause
// objects.js N [workers]: functions allocate known numbers of bytes, or do so in workers, one after
// the other. Prints the bytes of each function as JSON.
'use strict';

const { Worker, isMainThread } = require('worker_threads');

const n = Number(process.argv[2]);
const ITEM = 48; // three words that all objects have, and three fields
const WORDS = 32 + 16; // of an array and of what holds its items
const kept = new Array(n >> 2);
let sink;
module.exports = kept; // to the end

class Item {
  constructor(number) {
    this.number = number;
    this.half = number >> 1;
    this.last = 1;
  }
}

function items() {
  for (let i = 0; i < n; i++) sink = new Item(i);
}

function arrays() {
  for (let i = 0; i < n >> 3; i++) sink = new Array(100);
}

function large() {
  for (let i = 0; i < n >> 13; i++) sink = new Array(50000);
}

function keeps() {
  for (let i = 0; i < n >> 2; i++) kept[i] = new Item(i);
}

function callback(number) {
  return new Item(number);
}

// The builtin function lies between both on the stack.
function maps() {
  for (let i = 0; i < n >> 6; i++) sink = kept.slice(0, 16).map(callback);
}

function work() {
  keeps();
  items();
  arrays();
  large();
  maps();
}

if (isMainThread && process.argv[3] === 'workers') {
  let left = 2;
  (function next() {
    if (left--) new Worker(__filename, { argv: [process.argv[2]] }).on('exit', next);
  })();
} else {
  work();
}
if (isMainThread)
  console.log(JSON.stringify({
    items: n * ITEM,
    arrays: (n >> 3) * (WORDS + 800),
    large: (n >> 13) * (WORDS + 400000),
    keeps: (n >> 2) * ITEM,
    callback: (n >> 6) * 16 * ITEM,
  }));
