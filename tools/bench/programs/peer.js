// SPDX-License-Identifier: BSD-2-Clause
// peer.js: the programs of protocol.h for Node.
'use strict';
const { Worker, isMainThread } = require('worker_threads');

class Node {
	constructor(left, right) {
		this.left = left;
		this.right = right;
		this.i = 0;
		this.j = 0;
	}
}

function populate(depth, node) {
	if (depth <= 0)
		return;
	node.left = new Node(null, null);
	node.right = new Node(null, null);
	populate(depth - 1, node.left);
	populate(depth - 1, node.right);
}

function makeTree(depth) {
	if (depth <= 0)
		return new Node(null, null);
	return new Node(makeTree(depth - 1), makeTree(depth - 1));
}

function countNodes(node) {
	return node ? 1 + countNodes(node.left) + countNodes(node.right) : 0;
}

function trees(depth) {
	return Math.floor(2 * ((1 << 19) - 1) / ((1 << (depth + 1)) - 1));
}

function gcbench() {
	makeTree(18);
	const longLived = new Node(null, null);
	populate(16, longLived);
	const array = new Float64Array(500000);
	for (let i = 1; i < array.length / 2; i++)
		array[i] = 1 / i;
	for (let depth = 4; depth <= 16; depth += 2) {
		for (let i = trees(depth); i > 0; i--)
			populate(depth, new Node(null, null));
		for (let i = trees(depth); i > 0; i--)
			makeTree(depth);
	}
	if (countNodes(longLived) !== (2 << 16) - 1 || array[1000] !== 1 / 1000)
		throw new Error('the long-lived data was damaged');
}

let kept = null;

// Map, properties, elements and one field of its own: 32 bytes.
class Small {
	constructor(serial) {
		this.serial = serial;
	}
}

function allocateShort() {
	for (let i = 0; i < 20000000; i++) {
		const object = new Small(i);
		if ((i & 1023) === 0)
			kept = object;
	}
}

function churnThread() {
	const lengths = [1, 2, 3, 5, 7, 15, 63];
	const ring = new Array(256).fill(null);
	let next = 0;
	for (let i = 0; i < 4000000; i++) {
		const object = new Array(lengths[next]);
		object[0] = i;
		if ((i & 63) === 0)
			ring[(i >> 6) & 255] = object;
		if (++next === lengths.length)
			next = 0;
	}
}

// A worker has a heap of its own.
function churn(threads) {
	const others = [];
	for (let i = 1; i < threads; i++)
		others.push(new Promise((done) => new Worker(__filename).on('exit', done)));
	churnThread();
	return Promise.all(others);
}

async function main() {
	const [name, times, threads] = process.argv.slice(2);
	const work = { gcbench, short: allocateShort, churn: () => churn(Number(threads)) }[name];
	for (let n = Number(times); n > 0; n--) {
		const wall = process.hrtime.bigint(), cpu = process.cpuUsage();
		await work();
		const used = process.cpuUsage(cpu);
		console.log(`${process.hrtime.bigint() - wall} ${(used.user + used.system) * 1000}`);
	}
}

if (isMainThread)
	main();
else
	churnThread();
