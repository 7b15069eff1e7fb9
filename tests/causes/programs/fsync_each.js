// SPDX-License-Identifier: BSD-2-Clause
// fsync_each.js: each line is made durable, by the threads of the runtime.
const fs = require('fs').promises;

async function save(file, i) {
	await file.write(`line ${i}\n`);
	await file.sync();
}

(async () => {
	const file = await fs.open('log.txt', 'w'), end = Date.now() + 2500;
	for (let i = 0; Date.now() < end; i++)
		await save(file, i);
	await file.close();
})();
