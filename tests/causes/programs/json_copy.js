// SPDX-License-Identifier: BSD-2-Clause
// json_copy.js: a value is copied by way of JSON.
const state = {users: []};
for (let i = 0; i < 300; i++)
	state.users.push({id: i, name: 'user ' + i, tags: ['a', 'b', 'c']});
function update(old, i) {
	const next = JSON.parse(JSON.stringify(old));
	next.users[i % 300].name = 'changed ' + i;
	return next;
}
let now = state;
for (let i = 0; i < 12000; i++)
	now = update(now, i);
console.log(now.users.length);
