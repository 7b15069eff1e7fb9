// SPDX-License-Identifier: BSD-2-Clause
// healthy.js: a timer, and a little work.
let sum = 0, turns = 0;
const timer = setInterval(() => {
	for (let i = 0; i < 100000; i++)
		sum += i % 7;
	if (++turns === 25)
		clearInterval(timer), console.log(sum);
}, 80);
