// SPDX-License-Identifier: BSD-2-Clause
// concat.js: a buffer is copied for each chunk that is added.
function receive(chunks) {
	let body = Buffer.alloc(0);
	for (let i = 0; i < chunks; i++)
		body = Buffer.concat([body, Buffer.alloc(700, i)]);
	return body;
}

console.log(receive(7000).length);
