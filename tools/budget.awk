# SPDX-License-Identifier: BSD-2-Clause
# budget.awk: finds functions and files that are too long.
function limit(file) {
	return file ~ /walk_[a-z]*\.h$/ ? 80 : 60
}
FNR == 1 {
	if (previous && lines > file_limit) {
		printf "%s: %d lines, at most %d\n", previous, lines, file_limit
		bad = 1
	}
	previous = FILENAME
	file_limit = FILENAME ~ /\.h$/ ? 320 : 600
	start = 0
}
{ lines = FNR }
/^\{/ { start = FNR }
/^\}/ {
	if (start && FNR - start - 1 > limit(FILENAME)) {
		printf "%s:%d: a function of %d lines, at most %d\n", FILENAME, start, FNR - start - 1, limit(FILENAME)
		bad = 1
	}
	start = 0
}
END {
	if (lines > file_limit) {
		printf "%s: %d lines, at most %d\n", previous, lines, file_limit
		bad = 1
	}
	exit bad
}
