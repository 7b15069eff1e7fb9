// SPDX-License-Identifier: BSD-2-Clause
// regex.js: an expression is made for each line.
function hasUser(line, user) {
	return new RegExp(`^\\[(\\d+)-(\\d+)\\] (GET|PUT) /${user}(/[a-z]+)*$`).test(line);
}

let found = 0;
for (let i = 0; i < 500000; i++)
	found += hasUser(`[12-11] GET /user${i}/profile`, `user${i}`);
console.log(found);
