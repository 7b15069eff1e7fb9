// SPDX-License-Identifier: BSD-2-Clause
// cache.js: a cache keeps every answer.
const answers = new Map();

function answer(question) {
	let found = answers.get(question);
	if (!found)
		answers.set(question, found = {text: `answer ${question}`, words: [question, {n: question}]});
	return found;
}

let length = 0;
for (let i = 0; i < 2500000; i++)
	length += answer(i).text.length;
console.log(length);
