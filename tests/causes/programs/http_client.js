// SPDX-License-Identifier: BSD-2-Clause
// http_client.js: a page for each item, one after the other, from a slow server.
const http = require('http');
const {fork} = require('child_process');

if (process.argv[2] === 'server') {
	http.createServer((request, response) => setTimeout(() => response.end('7'), 30))
		.listen(0, '127.0.0.1', function () { process.send(this.address().port); });
} else {
	const server = fork(__filename, ['server']);
	const fetchPrice = (port, item) => new Promise(done => http.get({port, path: '/' + item, host: '127.0.0.1'}, response => {
		response.resume();
		response.on('end', done);
	}));

	server.on('message', async port => {
		for (let item = 0; item < 70; item++)
			await fetchPrice(port, item);
		server.kill();
	});
}
