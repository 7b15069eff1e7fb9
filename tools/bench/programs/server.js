// SPDX-License-Identifier: BSD-2-Clause
// server.js REQUESTS: an HTTP server that answers with JSON, and its client in the same process.
'use strict';
const http = require('http');

const items = Array.from({length: 50}, (_, i) => ({id: i, name: `item ${i}`, price: i * 1.25, tags: ['a', 'b']}));
const server = http.createServer((request, response) => {
	const wanted = Number(new URL(request.url, 'http://localhost').searchParams.get('from'));
	response.setHeader('content-type', 'application/json');
	response.end(JSON.stringify({items: items.filter((item) => item.id >= wanted), count: items.length}));
});

async function ask(agent, from) {
	return new Promise((resolve, reject) => {
		http.get({port: server.address().port, path: `/items?from=${from}`, agent}, (response) => {
			let text = '';
			response.on('data', (part) => { text += part; });
			response.on('end', () => resolve(JSON.parse(text).items.length));
		}).on('error', reject);
	});
}

server.listen(0, '127.0.0.1', async () => {
	const agent = new http.Agent({keepAlive: true, maxSockets: 4});
	let sum = 0;
	for (let left = Number(process.argv[2]); left > 0; left -= 4)
		sum += (await Promise.all([0, 10, 20, 30].map((from) => ask(agent, from)))).reduce((a, b) => a + b);
	console.log(sum);
	agent.destroy();
	server.close();
});
