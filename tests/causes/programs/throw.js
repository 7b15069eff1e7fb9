// SPDX-License-Identifier: BSD-2-Clause
// throw.js: words are told from numbers by an exception.
function isNumber(word) {
	try {
		JSON.parse(word);
		return true;
	} catch (error) {
		return false;
	}
}

let numbers = 0;
for (let i = 0; i < 500000; i++)
	numbers += isNumber('word' + i);
console.log(numbers);
