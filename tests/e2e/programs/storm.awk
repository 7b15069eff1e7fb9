# SPDX-License-Identifier: BSD-2-Clause
# storm.awk: checks a dump of storm.c: is each sample that of one firing, and are all accounted for?
#
#	gcprof dump PROFILE | awk -v fired=COUNT -f storm.awk
#
# Prints one line of JSON. Of samples: how many there are, are not what one thread fired
# (`mixed`), come `twice`, have another stack than they were fired from (`wrong`), are neither
# there nor lost (`missing`). Events that had no buffer (`busy`), and how many of them were no
# samples (`starved`). Calls of getppid neither counted nor known to be skipped (`unseen`).

function text(key, at, rest) {
	at = index($0, "\"" key "\":\"")
	rest = substr($0, at + length(key) + 4)
	return at ? substr(rest, 1, index(rest, "\"") - 1) : ""
}

function number(key, at) {
	at = index($0, "\"" key "\":")
	return at ? substr($0, at + length(key) + 3) + 0 : 0
}

/"record":"string"/ { string[number("id")] = text("text") }
/"record":"symbol"/ { symbol[number("frame")] = number("name") }
/"record":"stack"/ { parent[number("id")] = number("parent"); frame[number("id")] = number("frame") }
/"record":"loss_kind"/ { loss_kind[text("name")] = number("kind") }
/"record":"loss",/ { lost[number("kind")] += number("count") }
/"record":"syscall_total"/ { if (number("number") == 110) called += number("count") }
/"record":"alloc"/ {
	sample = number("sample")
	type = number("type")
	samples++
	# As text: not every awk keeps large numbers apart.
	twice += seen[substr($0, index($0, "\"sample\":"), 24)]++ > 0
	mixed += type % 10 != 1 + int(sample / 4294967296) % 2 || number("size") != 64 * type
	count[number("stack") " " type " " number("quality")]++
}

# Is the stack what `type` says? One that is known to be cut may end early.
function right(at, type, cut, chain, depth, want, i) {
	chain = type % 10 == 2 ? "odd_chain" : "even_chain"
	depth = int(type / 10)
	for (i = 0; i <= depth + 2 && !(cut && !at); i++) {
		want = i == 0 ? "fire" : i <= depth + 1 ? chain : "run"
		if (string[symbol[frame[at]]] != want) return 0
		at = parent[at]
	}
	return 1
}

# Losses of a kind that this recorder has.
function loss(name) { return name in loss_kind ? lost[loss_kind[name]] + 0 : 0 }

END {
	for (key in count) {
		split(key, of, " ")
		if (!right(of[1], of[2], of[3])) wrong += count[key]
	}
	lost_here = fired - samples - loss("ALLOC_RING") - loss("ALLOC_SHARE")
	busy = loss("SCRATCH_BUSY")
	if (lost_here > busy || lost_here < 0) missing = lost_here - busy
	else starved = busy - lost_here
	unseen = fired - called - loss("SYSCALL_SKIPPED")
	if (unseen < 0) unseen = 0
	printf "{\"samples\":%d,\"mixed\":%d,\"twice\":%d,\"wrong\":%d,", samples, mixed, twice, wrong
	printf "\"missing\":%d,\"busy\":%d,\"starved\":%d,\"unseen\":%d}\n", missing, busy, starved, unseen
}
