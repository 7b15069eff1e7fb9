# SPDX-License-Identifier: BSD-2-Clause
# firefox.jq: finds faults in an export for the Firefox Profiler; prints nothing if there are none.
#
#	zcat gcprof.data.json.gz | jq -r -f tests/e2e/firefox.jq
#
# The profiler's front end checks next to nothing: a column that is too short or an index that
# points nowhere shows as a wrong or blank picture, so everything it relies on is checked here.

def fault(condition; text): if condition then text else empty end;
def keys_missing($wanted; $where): ($wanted - keys)[] | "\($where): no \(.)";

# Tables: exactly these columns, all as long as the table says.
def table($columns; $where):
	keys_missing($columns + ["length"]; $where),
	(to_entries[] | select(.value | type == "array") | .key as $key |
		fault([$key] - $columns != []; "\($where): strange column \($key)")),
	(.length as $length | to_entries[] | select(.value | type == "array") |
		fault(.value | length != $length; "\($where).\(.key): \(.value | length) of \($length) rows"));

# Numbers that point to rows.
def indexes($count; $where):
	[.[] | select(type != "number" or . < 0 or . >= $count or . != floor)] |
	fault(length > 0; "\($where): \(length) dangling, such as \(.[0])");
def sorted_times($where):
	. as $times | [range(1; length) | select($times[.] < $times[. - 1])] |
	fault(length > 0; "\($where): \(length) steps back, first at row \(.[0])");
def inside_range($last; $where):
	[.[] | select(. != null and (. < 0 or . > $last))] |
	fault(length > 0; "\($where): \(length) outside of 0 to \($last), such as \(.[0])");
def duplicates: group_by(.) | map(select(length > 1) | .[0]);
def unique_rows($where): duplicates | fault(length > 0; "\($where): twice: \(.[0] | tostring)");

def colours: ["transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown",
	"magenta", "red", "lightred", "darkgrey", "grey"];
def graph_colours: ["blue", "green", "grey", "ink", "magenta", "orange", "purple", "red", "teal", "yellow"];

def check_meta($threads):
	keys_missing(["interval", "startTime", "processType", "product", "stackwalk", "version",
		"preprocessedProfileVersion", "markerSchema", "categories", "symbolicated", "importedFrom",
		"profilingStartTime", "profilingEndTime", "usesOnlyOneStackType", "keepProfileThreadOrder",
		"initialVisibleThreads", "initialSelectedThreads", "sampleUnits", "extra",
		"sourceCodeIsNotOnSearchfox", "arguments"]; "meta"),
	fault(.preprocessedProfileVersion != 66; "meta: version \(.preprocessedProfileVersion)"),
	fault(.symbolicated != true or .keepProfileThreadOrder != true; "meta: symbolicated, keepProfileThreadOrder"),
	fault(.interval <= 0; "meta: interval"),
	fault(.profilingStartTime != 0 or .profilingEndTime <= 0; "meta: profilingStartTime, profilingEndTime"),
	fault(.sampleUnits != {time: "ms", eventDelay: "ms", threadCPUDelta: "ns"}; "meta: sampleUnits"),
	fault(.initialVisibleThreads | length == 0; "meta: no thread is visible"),
	(.initialVisibleThreads | indexes($threads; "meta.initialVisibleThreads"), unique_rows("meta.initialVisibleThreads")),
	(.initialSelectedThreads | indexes($threads; "meta.initialSelectedThreads")),
	fault(.initialSelectedThreads - .initialVisibleThreads != []; "meta: a selected thread is not visible"),
	(.extra[] | keys_missing(["label", "entries"]; "meta.extra"),
		(.entries[] | keys_missing(["label", "format", "value"]; "meta.extra.entries")));

def check_categories:
	fault(.[0].color != "grey"; "categories: the first is not grey"),
	fault([.[] | select(.name == "Idle" and .color == "transparent")] | length != 1; "categories: no Idle"),
	([.[].name] | unique_rows("categories")),
	(.[] | fault(.subcategories[0] != "Other"; "categories: \(.name) without Other"),
		fault([.color] - colours != []; "categories: \(.color) is no colour"));

def check_schema:
	([.[].name] | unique_rows("markerSchema")),
	(.[] | .name as $name | keys_missing(["name", "display", "fields"]; "markerSchema \($name)"),
		fault(["GCMajor", "GCMinor", "GCSlice", "Network", "IPC", "CompositorScreenshot", "Jank", "FileIO",
			"UserTiming", "Text", "Log"] | index($name); "markerSchema: the type \($name) is Gecko's"),
		fault(.fields | map(.key) | index("cause", "type"); "markerSchema \($name): a field named cause or type"),
		fault([.fields[].format] - ["string", "unique-string", "duration", "bytes", "integer"] != [];
			"markerSchema \($name): unknown format"),
		fault(.display - ["marker-chart", "marker-table", "timeline-overview", "timeline-memory"] != [];
			"markerSchema \($name): unknown place"),
		fault([.tooltipLabel, .chartLabel, .tableLabel | scan("marker\\.data\\.([A-Za-z]+)")[0]] -
			[.fields[].key] != []; "markerSchema \($name): label of no field"),
		fault([.graphs[]?.key] - [.fields[].key] != []; "markerSchema \($name): graph of no field"));

def check_stacks($frames):
	table(["frame", "prefixOffset"]; "stackTable"),
	(.frame | indexes($frames; "stackTable.frame")),
	(.prefixOffset | [to_entries[] | select(.value < 0 or .value > .key)] |
		fault(length > 0; "stackTable.prefixOffset: \(length) point to no parent, such as \(.[0] | tostring)"));

def check_frames($functions; $categories):
	table(["func", "category", "subcategory", "line", "column", "address", "inlineDepth", "nativeSymbol",
		"innerWindowID", "originalLocation"]; "frameTable"),
	(.func | indexes($functions; "frameTable.func")),
	(.category | indexes($categories; "frameTable.category")),
	(.subcategory | indexes(1; "frameTable.subcategory")),
	fault(.nativeSymbol | any(. != null); "frameTable.nativeSymbol: there are none"),
	([.func, .category] | transpose | unique | map(.[0]) | unique_rows("frameTable: a function in two categories"));

def check_functions($strings; $resources; $sources):
	table(["name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber",
		"originalLocation"]; "funcTable"),
	(.name | indexes($strings; "funcTable.name")),
	([.resource[] | select(. != -1)] | indexes($resources; "funcTable.resource")),
	([.source[] | select(. != null)] | indexes($sources; "funcTable.source")),
	([.name, .isJS, .resource, .source] | transpose | unique_rows("funcTable")),
	fault([.isJS[], .relevantForJS[]] | any(type != "boolean"); "funcTable: isJS, relevantForJS");

# With one kind of functions the views of script and native code must not hide any; with two, types
# and fates stay where only script is shown.
def check_kinds($only_one):
	([.isJS, .relevantForJS] | transpose) as $rows |
	fault($only_one and ($rows | any(.[1] | not)); "funcTable: a view of one kind would hide functions"),
	fault(($only_one | not) and ([.isJS[]] | any | not); "funcTable: there is no script to choose"),
	fault(($only_one | not) and ($rows | any(.[0] and .[1])); "funcTable: script that is kept as if it were not"),
	fault([.relevantForJS[]] | any | not; "funcTable: types and fates vanish from the view of script");

def check_shared($categories):
	keys_missing(["stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources",
		"sourceLocationTable", "stringArray"]; "shared"),
	(.frameTable.length as $frames | .stackTable | check_stacks($frames)),
	(.funcTable.length as $functions | .frameTable | check_frames($functions; $categories)),
	(.resourceTable.length as $resources | .sources.length as $sources | (.stringArray | length) as $strings |
		(.funcTable | check_functions($strings; $resources; $sources)),
		(.resourceTable | table(["name", "host", "type", "lib"]; "resourceTable"),
			(.name | indexes($strings; "resourceTable.name"))),
		(.sources | table(["id", "filename", "startLine", "startColumn", "sourceMapURL", "content"]; "sources"),
			(.filename | indexes($strings; "sources.filename")))),
	(.nativeSymbols | table(["libIndex", "address", "name", "functionSize"]; "nativeSymbols")),
	(.sourceLocationTable | table(["source", "line", "column"]; "sourceLocationTable")),
	fault(.stringArray | any(type != "string"); "stringArray: not all are strings"),
	(.stringArray | unique_rows("stringArray"));

# Whether each sample ends in what counts as idle.
def idle($shared; $categories): ($categories | map(.name) | index("Idle")) as $idle |
	[.stack[] | $shared.frameTable.category[$shared.stackTable.frame[.]? // 0] == $idle];

# Samples of a thread have CPU time, others must not: the profiler would add it to the process.
def check_samples($stacks; $last; $idle; $where):
	(.weightType == "tracing-ms") as $real |
	table(["stack", "time", "weight"] + if $real then ["threadCPUDelta"] else [] end; $where),
	fault([.weightType] - ["tracing-ms", "bytes", "samples"] != []; "\($where): weightType \(.weightType)"),
	fault(.weightType == "samples" and (.weight | any(. != floor)); "\($where).weight: no whole numbers"),
	(.stack | indexes($stacks; "\($where).stack")),
	(.time | sorted_times("\($where).time"), inside_range($last; "\($where).time")),
	fault(.weight | any(. < 0); "\($where).weight: below 0"),
	fault(($real | not) and ($idle[0] | not); "\($where): no idle sample before the first, so the graph is full"),
	(select($real and (.threadCPUDelta | length) == .length and (.time | length) == .length) |
		fault(.threadCPUDelta | any(. < 0 or . != floor); "\($where).threadCPUDelta: no whole numbers of ns"),
		fault(.length > 0 and .threadCPUDelta[0] != 0; "\($where).threadCPUDelta: the first is never looked at, so it must be 0"),
		# The height of a graph is CPU time: never above all of the time that passed.
		([.time, .threadCPUDelta] as [$times, $deltas] |
		[range(1; .length) | select($deltas[.] > ($times[.] - $times[. - 1]) * 1e6 + 1)] |
		fault(length > 0; "\($where).threadCPUDelta: \(length) above the time that passed")));

# All CPU time that samples stand for is in the graphs, unless a thread had more of it than time.
def check_cpu_time($shared; $categories):
	[.[] | .samples | select(.weightType == "tracing-ms" and .length > 0) | . as $samples |
		idle($shared; $categories) as $idle |
		([range(.length) | select($idle[.] | not) | $samples.weight[.]] | add // 0) as $weight |
		{wanted: ([$weight, .time[-1] - .time[0]] | min), shown: ((.threadCPUDelta | add) / 1e6)}] |
	(map(.wanted) | add // 0) as $wanted | (map(.shown) | add // 0) as $shown |
	fault($shown < $wanted * 0.95 - 2; "threadCPUDelta: \($shown) ms of CPU time, not \($wanted)");

def check_allocations($stacks; $last; $where):
	table(["time", "stack", "weight", "memoryAddress", "threadId"]; $where),
	fault(.length == 0; "\($where): empty, which blanks the profile"),
	fault(.weightType != "bytes"; "\($where): weightType"),
	(.stack | indexes($stacks; "\($where).stack")),
	(.time | sorted_times("\($where).time"), inside_range($last; "\($where).time")),
	([.memoryAddress, .weight] | transpose | map({object: .[0], bytes: .[1]}) |
		([.[] | select(.bytes >= 0) | .object] | unique_rows("\($where): allocated")),
		([.[] | select(.bytes < 0) | .object] | unique_rows("\($where): freed")),
		(reduce .[] as $row ({live: {}, bad: []};
			($row.object | tostring) as $key |
			if $row.bytes >= 0 then .live[$key] = $row.bytes
			elif .live[$key] == -$row.bytes then . else .bad += [$row] end) |
			fault(.bad | length > 0; "\($where): freed before or otherwise than allocated: \(.bad[0] | tostring)")));

def check_markers($strings; $categories; $stacks; $last; $schemas; $graphs; $where):
	table(["data", "name", "startTime", "endTime", "phase", "category"]; $where),
	(.name | indexes($strings; "\($where).name")),
	(.category | indexes($categories; "\($where).category")),
	(.startTime | sorted_times("\($where).startTime"), inside_range($last; "\($where).startTime")),
	(.endTime | inside_range($last; "\($where).endTime")),
	([.phase, .startTime, .endTime] | transpose |
		map(select(if .[0] == 0 then .[2] != null elif .[0] == 1 then .[2] == null or .[2] < .[1] else true end)) |
		fault(length > 0; "\($where): phase and times disagree: \(.[0] | tostring)")),
	([.data[] | select(.cause != null) | .cause | if type == "object" then . else {} end] |
		fault(any(.time == null or .stack == null); "\($where): cause is not {time, stack}"),
		([.[].stack] | indexes($stacks; "\($where).data.cause.stack"))),
	fault([.data[] | select(.causedBy != null and .cause == null)] != []; "\($where): a cause without a stack"),
	([.data[] | select(.what != null) | .what] | indexes($strings; "\($where).data.what")),
	(.data | map(.type as $type | (keys - ["type", "cause"] - ($schemas[$type] // []))[] | "\($type).\(.)") | unique[] |
		"\($where): not in the schema: \(.)"),
	([.data[] | select(($graphs[.type] // []) - keys != []) | .type] | unique[] |
		"\($where): a \(.) is not on its graph"),
	([.data[].type] | unique - ($schemas | keys) | fault(length > 0; "\($where): no schema for \(.[0])"));

def check_thread($root; $where):
	$root.meta.profilingEndTime as $last | $root.shared.stackTable.length as $stacks |
	($root.shared.stringArray | length) as $strings | ($root.meta.categories | length) as $categories |
	($root.meta.markerSchema | map({(.name): [.fields[].key]}) | add) as $schemas |
	($root.meta.markerSchema | map({(.name): [.graphs[]?.key]}) | add) as $graphs |
	keys_missing(["name", "isMainThread", "processType", "processName", "processStartupTime",
		"processShutdownTime", "registerTime", "unregisterTime", "pausedRanges", "pid", "tid",
		"showMarkersInTimeline", "samples", "markers"]; $where),
	fault(.pid | type != "string"; "\($where): the pid is no string"),
	fault(.samples.eventDelay; "\($where): eventDelay would make up janks"),
	(.samples | check_samples($stacks; $last; idle($root.shared; $root.meta.categories); "\($where).samples")),
	(.markers | check_markers($strings; $categories; $stacks; $last; $schemas; $graphs; "\($where).markers")),
	fault(.showMarkersInTimeline != true; "\($where): showMarkersInTimeline"),
	(.nativeAllocations // empty | check_allocations($stacks; $last; "\($where).nativeAllocations")),
	fault(.jsAllocations; "\($where): jsAllocations alone show nothing");

def check_counter($root; $where):
	keys_missing(["name", "category", "description", "pid", "mainThreadIndex", "samples", "display"]; $where),
	fault([.pid] - [$root.threads[].pid] != []; "\($where): no thread has its pid"),
	([.mainThreadIndex] | indexes($root.threads | length; "\($where).mainThreadIndex")),
	fault(.category == "CPU"; "\($where): a counter of this category is hidden"),
	fault($root.threads[.mainThreadIndex].pid != .pid; "\($where): its thread is of another process"),
	(.samples | table(["time", "count"]; "\($where).samples"),
		(.time | sorted_times("\($where).samples.time"), inside_range($root.meta.profilingEndTime; "\($where).samples.time"))),
	fault(.samples.count[0] != 0; "\($where): the first count is never looked at, so it must be 0"),
	($root.threads[.mainThreadIndex].unregisterTime // $root.meta.profilingEndTime) as $until |
	fault(.samples.time[-1] < $until - 1; "\($where): it stops before its process"),
	(.display // {} | fault(any(.tooltipRows[]?; .source == "accumulated" and .label != "above the lowest in view");
		"\($where).display: an absolute level after zooming")),
	(.display // {} | keys_missing(["graphType", "unit", "color", "markerSchemaLocation", "sortWeight", "label",
		"tooltipRows"]; "\($where).display"),
		fault([.color] - graph_colours != []; "\($where).display: \(.color) is no colour"),
		fault([.graphType] - ["line-accumulated", "line-rate"] != []; "\($where).display.graphType"),
		fault([.markerSchemaLocation] - [null, "timeline-memory"] != []; "\($where).display.markerSchemaLocation"),
		fault([.tooltipRows[]?.source] - ["count", "rate", "accumulated", "count-range", "selection-total",
			"committed-range-total"] != []; "\($where).display.tooltipRows")),
	(.samples.count as $counts | select(.display.graphType == "line-accumulated") |
		[foreach $counts[] as $count (0; . + $count)] | fault(any(. < 0); "\($where): a level below 0"));

. as $root |
keys_missing(["meta", "libs", "threads", "counters", "shared"]; "profile"),
fault(.libs != []; "libs: names are all there, so there must be none to look up"),
fault(.threads | length == 0; "threads: none"),
(.meta | check_meta($root.threads | length)),
(.shared.funcTable | check_kinds($root.meta.usesOnlyOneStackType)),
(.meta.categories | check_categories),
(.meta.markerSchema | check_schema),
((.meta.categories | length) as $categories | .shared | check_shared($categories)),
([.threads[].tid] | unique_rows("threads: tid")),
([.threads[] | [.pid, .name]] | unique_rows("threads: name")),
([.threads[] | select(.isMainThread) | .pid] | unique_rows("threads: main thread of")),
(.threads | check_cpu_time($root.shared; $root.meta.categories)),
(.threads | to_entries[] | "threads[\(.key)]" as $where | .value | check_thread($root; $where)),
(.counters | to_entries[] | "counters[\(.key)]" as $where | .value | check_counter($root; $where)),
([.counters[] | [.pid, .display.label]] | unique_rows("counters: label"))
