// SPDX-License-Identifier: BSD-2-Clause
// object_spread.js: all properties are copied for each row.
function byId(rows) {
	return rows.reduce((all, row) => ({...all, [row.id]: row}), {});
}
const rows = [];
for (let i = 0; i < 2500; i++)
	rows.push({id: 'row' + i, value: i});
console.log(Object.keys(byId(rows)).length);
