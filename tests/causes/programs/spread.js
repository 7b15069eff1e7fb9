// SPDX-License-Identifier: BSD-2-Clause
// spread.js: an array is copied for each element that is added.
function collect(n) {
	let rows = [];
	for (let i = 0; i < n; i++)
		rows = [...rows, i];
	return rows;
}

console.log(collect(30000).length);
