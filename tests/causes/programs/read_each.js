// SPDX-License-Identifier: BSD-2-Clause
// read_each.js: a file is read for each request.
const fs = require('fs');
fs.writeFileSync('config.json', JSON.stringify({rate: 3, name: 'x'}));
function rate() {
	return JSON.parse(fs.readFileSync('config.json', 'utf8')).rate;
}
let sum = 0;
for (let i = 0; i < 150000; i++)
	sum += rate() * i;
console.log(sum);
