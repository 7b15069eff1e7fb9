// SPDX-License-Identifier: BSD-2-Clause
// locale_string.js: toLocaleString() makes a format in each call.
function price(value) {
	return value.toLocaleString('de-DE', {style: 'currency', currency: 'EUR'});
}

let length = 0;
for (let i = 0; i < 25000; i++)
	length += price(i * 1.07).length;
console.log(length);
