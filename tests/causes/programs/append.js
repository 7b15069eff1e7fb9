// SPDX-License-Identifier: BSD-2-Clause
// append.js: a log is opened, written and closed for each line.
const fs = require('fs');

function log(i) {
	fs.appendFileSync('log.txt', `line ${i}\n`);
}

for (let i = 0; i < 60000; i++)
	log(i);
