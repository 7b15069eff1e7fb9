#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# html.bats: the page that exports write, in a real browser: what it shows, and what it does when it is used.
# Parallel: no other recorder matters.

load common

setup_file() {
	[ "$(id -u)" = 0 ] && command -v chromium >/dev/null && command -v node >/dev/null || return 0
	cd "$BATS_FILE_TMPDIR" || return 1
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	build=$(cd "$root" && realpath "${BUILD_DIR:-build}")
	mkdir main # a directory is not searched for the name of a function
	cp "$build/workloads/known" main/
	"$build/gcprof" record --max-overhead off --off-cpu -o known.data -R 64K -- main/known --burn-ms 300 >/dev/null 2>known.log
	"$build/gcprof" report --json known.data >known.report
	"$build/gcprof" export -f html known.data
}

setup() {
	need_root
	command -v chromium >/dev/null || skip 'chromium is not installed'
	command -v node >/dev/null || skip 'node is not installed'
	cd "$BATS_FILE_TMPDIR" || return 1
}

# Opens known.data.html, or another, with a state in its address, and takes steps: see browse.mjs.
browse() { # [FILE]#STATE STEP...
	local at=$1
	[ "${at#\#}" = "$at" ] || at=known.data.html$at
	shift
	node "$BATS_TEST_DIRNAME/browse.mjs" "file://$PWD/$at" "$@" >said || {
		cat said
		return 1
	}
}

# The value of the page's expression, from the last browse().
said() { # LINE
	sed -n "$1p" said
}

@test "totals are the report's, by every measure" {
	browse '#' eval 'measures.map((m, i) => [m.key, costs(i).total[0]])'
	for row in 'cpu .cpu.on_cpu_ns-.cpu.recording_ns' 'alloc .alloc.bytes.estimate' \
		'gc .cpu.collector_ns' 'calls [.functions[].syscall_self_ns]|add' \
		'off-cpu .off_cpu.with_stack_ns' 'survived [.functions[].survived_bytes]|add' 'live .alloc.live.estimate'; do
		said 1 | jq -e --arg key "${row%% *}" --argjson wanted "$(jq "${row#* }" known.report)" '
			.[] | select(.[0] == $key) | .[1] - $wanted | fabs <= $wanted / 100000 + 20' >/dev/null || {
			echo "$row: $(said 1), not $(jq "${row#* }" known.report)"
			return 1
		}
	done
}

@test "the table of functions has the report's figures, and of a span those of the stacks in it" {
	browse '#tab=functions' eval '[...document.querySelectorAll("tbody tr")].map(row => row.cells[1].textContent)' \
		eval 'report.functions.map(f => f.cpu_total_ns).filter(ns => ns > 0).length' \
		eval 'select([0, snapSize() * windows.length - snapSize()]), functionRows().find(row => row.name === "main").cpu_total_ns / report.functions.find(row => row.name === "main").cpu_total_ns' \
		eval 'select(null), span'
	[ "$(said 1 | jq length)" -gt 10 ]
	said 1 | jq -e 'all(test("^[0-9.,]+ (s|ms|us|ns)$|^-$"))'
	said 3 | jq -e '. > 0.7 and . <= 1.01'
	same span "$(said 4)" null
}

@test "a drag selects a span that the stacks follow, and keys move it" {
	browse '#measure=cpu' size '1200 2000' eval 'costsOf(0).total[0]' \
		drag '(r => [r.left + gutter + 2, r.top + 40, r.left + (gutter + r.width) / 2, r.top + 40])($("time").getBoundingClientRect())' \
		eval '[span[0], span[1] / wholeNs, costsOf(0).total[0], costsOf(0).self.reduce((a, b) => a + b)]' \
		eval '$("span").textContent' eval 'location.hash' key ArrowRight eval 'span[0] > 0' key Escape eval 'span'
	local all
	all=$(said 1)
	# On a busy machine nearly all may be in one half.
	said 2 | tee half
	jq -e --argjson all "$all" '.[0] == 0 and .[1] > 0.3 and .[1] < 0.7 and .[2] >= 0 and .[2] <= $all and (.[2] - .[3] | fabs) < 1' half
	[[ $(said 3) == *Selected*CPU* ]]
	[[ $(said 4) == *time=0.000000..* ]]
	same moved "$(said 5)" true
	same cleared "$(said 6)" null
	# What is not known by time says so.
	browse '#measure=gc&time=0..0.1' eval '$("note").textContent' eval 'costsOf(2).total[0] > 0'
	[[ $(said 1) == *'whole recording'* ]]
	same whole "$(said 2)" true
}

@test "the tables follow a span: halves add up to the whole, which is the report's" {
	local sums='(from, to) => { span = snap(from * wholeNs, to * wholeNs), changed(); const of = (table, key) => sumRows(table).reduce((sum, row) => sum + (row[key] || 0), 0);
		return [of("types", "bytes"), of("types", "samples"), of("calls", "count"), of("calls", "total_ns"), of("waits", "count"), of("waits", "total_ns"), of("threads", "cpu_ns"), of("threads", "alloc_bytes"), costs(1).total[0]]; }'
	browse '#' eval "(f => { const whole = f(0, 1), half = span[1] / 2 / wholeNs, a = f(0, half), b = f(Math.round(span[1] / snapSize()) * snapSize() / wholeNs, 1); return [whole, a.map((v, i) => v + b[i])]; })($sums)" \
		eval '(span = snap(0, wholeNs), changed(), [tables.pauses.rows().length, data.pauses_count, tables.slow.rows().length, data.calls_count, tables.types.rows().length])' \
		eval 'Object.keys(tables).filter(name => !["areas", "recording"].includes(name)).map(name => { setTab(name); return [name, $("panel").textContent.includes("Covers the whole")]; })' \
		eval '(setTab("types"), $("panel").textContent)' \
		eval '(select(null), tables.types.rows() === report.alloc.types && tables.waits.rows() === report.waits)'
	said 1 | tee sums
	# Rounded values, many of them.
	jq -e '.[0] as $whole | .[1] as $halves | [$whole, $halves] | transpose | all(.[0] > 0 and (.[0] - .[1] | fabs) <= .[0] / 10000 + 100)' sums
	jq -e --slurpfile report known.report '$report[0] as $r | .[0] | def near($x): (. - $x | fabs) <= $x / 1000 + 100;
		(.[0] | near($r.alloc.bytes.estimate)) and .[1] == $r.alloc.samples and (.[7] | near($r.alloc.bytes.estimate)) and
		(.[8] | near($r.alloc.bytes.estimate)) and
		# Short waits behind the last record of a thread have no known time.
		(.[5] / ([$r.waits[].total_ns] | add) | . > 0.9 and . < 1.001)' sums
	said 2 | jq -e --slurpfile report known.report '.[0] == .[1] and .[0] == ([$report[0].gc | .minor, .major | .count] | add) and .[2] > 0 and .[2] <= .[3] and .[4] > 0'
	said 3 | jq -e 'all(.[1] | not)'
	[[ $(said 4) == *'not known by time: objects, survived, promoted, live, GC caused, without allocating, without keeping.'* ]]
	same back "$(said 5)" true
}

@test "long: costs without a known time are named while a span is selected, and preempted threads wait for a CPU" {
	"$GCPROF" record --off-cpu -o crowd.data -- taskset -c 0 sh -c 'for n in 1 2; do (i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done) & done; wait' 2>crowd.log
	"$GCPROF" export -f html crowd.data
	browse 'crowd.data.html#measure=cpu' eval '(span = snap(0, wholeNs), changed(), sumRows("waits").filter(row => row.reason === "preempted").map(row => [row.total_ns, row.queued_ns]).concat((span = snap(0, wholeNs / 2), changed(), sumRows("waits").filter(row => row.reason === "preempted").map(row => [row.total_ns, row.queued_ns])), (span = snap(0, wholeNs), changed(), [])))' \
		eval '[["waits", "total_ns", report.waits], ["threads", "cpu_ns", report.threads]].map(([name, key, rows]) => (setTab(name), [[sumRows(name), rows].map(of => of.reduce((sum, row) => sum + (row[key] || 0), 0)), $("panel").textContent]))' \
		eval '[[costsOf(0).total[0], costs(0, span = null).total[0]], $("note").textContent]' \
		eval '(changed(), [$("note").textContent, $("panel").textContent].some(text => text.includes("All spans together")))'
	said 1 | tee waits
	jq -e 'length == 2 and all(.[0] > 0 and (.[0] - .[1] | fabs < 100))' waits
	said 2 | tee tables
	jq -e 'map((.[0] | (.[0] - .[1] | fabs) > .[1] / 1e4) == (.[1] | contains("All spans together have"))) | all' tables
	said 3 | tee flame
	jq -e '(.[0] | (.[0] - .[1] | fabs) > .[1] / 1e4) == (.[1] | contains("All spans together have"))' flame
	same whole "$(said 4)" false
}

@test "long: survivors can be limited to those of several collections, in the flame graph and in tables" {
	browse '#measure=survived&tab=types' eval 'data.survived' eval 'data.survived.map((n, i) => { least = i; changed(); return [costsOf(5).total[0], [...$("panel").querySelectorAll("tbody tr")].length]; })' \
		eval '(least = 0, changed(), [costs(5).total[0], sumSites(5).values().reduce((sum, site) => sum + site.sum, 0), report.alloc.types.reduce((sum, type) => sum + typeSurvived(type), 0), report.functions.reduce((sum, f) => sum + functionSurvived(f), 0)])' \
		eval '($("least").value = 2, $("least").onchange(), [least, location.hash, $("note").textContent])'
	same classes "$(said 1)" '[1,2,3,4,8,16,32,64]'
	said 2 | jq -e 'map(.[0]) | . == (sort | reverse) and .[0] > 0'
	# By stack, by site, by type and by function.
	said 3 | jq -e --argjson wanted "$(jq '[.functions[].survived_bytes] | add' known.report)" 'all(. - $wanted | fabs < $wanted / 1000 + 100)'
	said 4 | jq -e '.[0] == 2 and (.[1] | contains("least=3")) and (.[2] | contains("survived at least 3 collections"))'
	browse '#measure=survived&least=3&time=0..0.1' eval '[least, $("note").textContent]'
	said 1 | jq -e '.[0] == 2 and (.[1] | contains("by the time of allocation"))'
}

@test "long: the areas of a heap have a table, with the report's figures" {
	command -v javac >/dev/null || skip 'no javac: default-jdk-headless'
	javac -d java "$BATS_TEST_DIRNAME/programs/Allocate.java"
	"$GCPROF" record -F 0 -o java.data -- java -Xmx128m -XX:+UseSerialGC -cp java Allocate 4 1000000 >/dev/null 2>java.log
	"$GCPROF" report --json java.data >java.report
	"$GCPROF" export -f html java.data
	browse 'java.data.html#tab=areas' \
		eval '[...$("panel").querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent))' \
		eval 'report.gc.areas.map(area => [area.name + (area.in_heap ? "" : " (not heap)"), bytes(area.peak_bytes), bytes(area.left_bytes)])' \
		eval '(select([0, snapSize()]), $("panel").textContent.includes("Covers the whole"))'
	jq -e -n --argjson rows "$(said 1)" --argjson wanted "$(said 2)" --slurpfile report java.report '
		($rows | map([.[7], .[0], .[4]]) | sort) == ($wanted | sort) and
		([$wanted[][0] | sub(" [(]not heap[)]$"; "")] | contains(["Eden Space", "Tenured Gen", "Metaspace"])) and
		([$report[0].gc.areas[].name] | length) == ($rows | length)'
	same 'not by time' "$(said 3)" true
	browse '#' eval '[...$("tabs").children].some(tab => tab.id === "tab-areas")'
	same 'no areas, no table' "$(said 1)" false
}

@test "long: a program without a collector has no card of its time" {
	"$GCPROF" record -o plain.data -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' 2>plain.log
	"$GCPROF" export -f html plain.data
	browse 'plain.data.html#' eval '$("cards").textContent'
	[[ $(said 1) == *'on the CPU'* && $(said 1) != *collector* ]]
	browse '#' eval '$("cards").textContent'
	[[ $(said 1) == *'in the collector'* ]]
}

@test "long: the line of the memory ends with the process, also in a merged profile" {
	"$GCPROF" record -o first.data -- "$WORKLOADS/churn" --bytes 64M >/dev/null 2>first.log
	"$GCPROF" record -o second.data -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' 2>second.log
	"$GCPROF" merge -o both.data first.data second.data 2>both.log
	"$GCPROF" export -f html both.data
	browse 'both.data.html#' eval '(line => [Math.max(...line) > 0, line.at(-1), data.heaps_end_ns < report.duration_ns])(held("rss_bytes"))'
	same line "$(said 1)" '[true,0,true]'
	# It goes on after the last collection as long as the process does, which takes CPU time to its end,
	# and for a while after that, when its memory is freed.
	browse '#' eval '(last => [held("rss_bytes")[last] > 0, windows.findLastIndex(w => w.rss_bytes > 0) < last])(windows.findLastIndex((w, i) => w.cpu_ns > 0 && i * step < data.heaps_end_ns))'
	same goes-on "$(said 1)" '[true,true]'
}

@test "a click zooms, a double click keeps one function's stacks, and both lead back" {
	local at='(b => { const r = $("flame").getBoundingClientRect(); return [r.left + b.x + b.width / 2, r.top + (b.row + .5) * ROW]; })'
	browse '#measure=alloc' size '1200 2000' \
		eval 'boxes.length' click "$at(boxes.find(b => b.row === 3))" eval '[nameOf(zoomed.fn), zoomed.total, root.total]' \
		eval 'boxes.find(b => b.at === zoomed).width - $("flame-box").clientWidth' \
		click '(r => [r.left + 5, r.top + 5])($("zoom-off").getBoundingClientRect())' eval 'zoomed === root' \
		double "$at(boxes.find(b => b.row === 3))" eval '[state.focus != null, boxes[1].at.fn === state.focus, $("focus-off").hidden]' \
		click '(r => [r.left + 5, r.top + 5])($("focus-off").getBoundingClientRect())' eval 'state.focus'
	[ "$(said 1)" -gt 4 ]
	said 2 | jq -e '.[1] > 0 and .[1] <= .[2]'
	same 'wide as the box' "$(said 3)" 0
	same out "$(said 4)" true
	same focused "$(said 5)" '[true,true,false]'
	same all "$(said 6)" null
}

@test "the inverse begins with who costs, and has the same total" {
	browse '#measure=cpu&up=1' eval '[state.up, root.total, costs(0).total[0]]' \
		eval 'kids(root).every((kid, i, all) => !i || all[i - 1].total >= kid.total)' \
		eval 'kids(root)[0].total === data.name.reduce((sum, name, i) => sum + (name === kids(root)[0].fn ? costs(0).self[i] : 0), 0)'
	said 1 | jq -e '.[0] and (.[1] - .[2] | fabs) < 1'
	same sorted "$(said 2)" true
	same 'sum of the first' "$(said 3)" true
}

@test "long: a search marks functions, says their share, and picks rows of the tables" {
	browse '#measure=cpu&search=main' eval '[pattern.filter(Boolean).length > 0, $("found").textContent]' \
		eval '[...document.querySelectorAll("tbody tr")].every(row => /main/.test([...row.cells].at(-1).textContent))' \
		key / eval 'document.activeElement.id'
	said 1 | jq -e '.[0] and (.[1] | test("^(100.0|9[0-9][.][0-9])%"))'
	same rows "$(said 2)" true
	same focus "$(said 3)" '"search"'
	browse '#search=%2F%5Emain%24%2F' eval '$("found").textContent'
	[[ $(said 1) == *'in 1 function"' ]]
	browse '#search=%2F(' eval '$("found").textContent'
	same fault "$(said 1)" '"invalid regular expression"'
}

@test "keys go through the flame graph, and what is chosen is read out" {
	browse '#measure=cpu' eval '$("flame").focus()' key ArrowDown key ArrowDown eval '[chosen.parent === root, $("detail").textContent]' \
		key Enter eval 'zoomed === chosen' key Escape eval 'zoomed === root' key f eval 'state.focus'
	said 2 | jq -e '.[0] and (.[1] | test("CPU time, [0-9.]+% of the total"))'
	same zoomed "$(said 3)" true
	same back "$(said 4)" true
}

@test "long: light and dark follow the system and the button" {
	browse '#' eval 'document.documentElement.dataset.theme' eval 'getComputedStyle(document.body).backgroundColor' dark \
		eval 'document.documentElement.dataset.theme' eval 'getComputedStyle(document.body).backgroundColor' \
		eval '$("theme").click()' eval 'document.documentElement.dataset.theme'
	same light "$(said 1)" '"light"'
	same dark "$(said 3)" '"dark"'
	[ "$(said 2)" != "$(said 4)" ]
	same light "$(said 6)" '"light"'
}

@test "long: what is drawn is as sharp as the screen, and no larger than what is seen" {
	browse '#' size '1000 700 2' eval '(c => [c.width - 2 * c.clientWidth, c.clientHeight <= innerHeight, c.height - 2 * c.clientHeight])($("flame"))' \
		eval 'document.querySelectorAll("*").length'
	same sharp "$(said 1)" '[0,true,0]'
	[ "$(said 2)" -lt 2000 ]
}

@test "all that can be used has a name" {
	browse '#' eval '[...document.querySelectorAll("button, input, canvas, [role]")].filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length || ["cards"].includes(e.id) || ["status", "tabpanel"].includes(e.role))).map(e => e.outerHTML)'
	same nameless "$(said 1)" '[]'
}

@test "long: the page may ask for nothing, and browse.mjs would tell" {
	run browse '#' eval 'new Promise(done => { document.onsecuritypolicyviolation = event => done(event.effectiveDirective); new Image().src = "http://127.0.0.1:9/"; })'
	same status "$status" 1
	[[ $output == *img-src*fault:*'Content Security Policy'* ]]
	run browse '#' eval 'undefined.nothing'
	same status "$status" 1
}

@test "hostile names are shown as they are, and do nothing" {
	local evil='</script><script>alert(1)</script><img src=x onerror=alert(2)>'
	cat >hostile.c <<'C'
#include <stdlib.h>
#include <sys/prctl.h>
__attribute__((noinline)) int hostile(volatile int *x) { for (long i = 0; i < 300000000; i++) *x += 1; return *x; }
int main(void) { volatile int x = 0; prctl(PR_SET_NAME, "<!--<script>"); return hostile(&x) == 1; }
C
	gcc -O1 -c hostile.c
	objcopy --redefine-sym hostile='</script><script>alert(3)</script>' hostile.o
	gcc -o hostile hostile.o
	"$GCPROF" record -o hostile.data -- ./hostile "$evil" '--><b>' 2>hostile.log
	"$GCPROF" export -f html hostile.data
	same 'scripts' "$(grep -c '</script>' hostile.data.html)" "$(grep -c '</script>' known.data.html)"
	browse 'hostile.data.html#search=alert(3)' eval '[document.scripts.length, document.images.length]' \
		eval '$("title").textContent' eval '$("found").textContent' eval 'report.threads.some(t => t.name === "<!--<script>")'
	same elements "$(said 1)" '[2,0]'
	said 2 | jq -e --arg evil "./hostile $evil --><b>" '. == $evil'
	said 3 | jq -e 'test("^[0-9.]+% .* in 1 function$")'
	same thread "$(said 4)" true
}

@test "a state that makes no sense is none" {
	browse '#measure=no&time=5..2&focus=%3Cb%3E&tab=constructor&search=%00' eval '[state.measure, span, state.focus, state.tab]' eval 'document.documentElement.dataset.ready'
	said 1 | jq -e '. == [0, null, null, "functions"]'
	same ready "$(said 2)" '"yes"'
}

@test "long: profiles of extreme values, cut off and without anything are pages too" {
	cp "$BATS_TEST_DIRNAME/../golden/profile.gcprof" extreme.data
	head -c "$(($(stat -c %s known.data) * 2 / 3))" known.data >cut.data
	"$GCPROF" record -F 0 --no-syscalls -o bare.data -- true 2>bare.log || "$GCPROF" record -o bare.data -- true 2>bare.log
	for name in extreme cut bare; do
		"$GCPROF" export -f html "$name.data"
		browse "$name.data.html#" eval 'document.documentElement.dataset.ready' eval '$("warning").hidden'
		same "$name" "$(said 1)" '"yes"'
		[ "$name" != cut ] || same 'it says what is missing' "$(said 2)" false
	done
}

@test "long: two million events make a page that a browser opens" {
	gcc -O2 -std=c11 -D_GNU_SOURCE -I"$ROOT/userspace" "$ROOT/tools/bench/events.c" "$BUILD/libgcprof-user.a" -lzstd -lm -o events
	./events many.data 2000000 600000
	"$GCPROF" export -f html many.data
	echo "$(stat -c %s many.data.html) bytes"
	[ "$(stat -c %s many.data.html)" -lt 15000000 ]
	browse 'many.data.html#measure=alloc&time=5..10' size '1400 1000' eval '[boxes.length > 100, nodes <= 100000]' \
		eval 'state.up = true, zoomed = null, changed(), boxes.length > 10' eval 'performance.now()'
	same drawn "$(said 1)" '[true,true]'
	same inverse "$(said 2)" true
	echo "after $(said 3) ms"
}
