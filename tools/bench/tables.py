# SPDX-License-Identifier: BSD-2-Clause
"""tables.py: what tools/bench/run measures. A table, a program or a recorder more is a line more."""
from collections import namedtuple
from dataclasses import dataclass

# {root}, {build} and {gcprof} (the program in it) are paths; everything runs in {build}/bench. {command} times
# the {program}, unless a tool follows its first process only. {data} is
# the recorder's profile, {layout} changes with each round.
PROGRAMS = {
    "churn": "{build}/workloads/churn --bytes 10G",
    "gcbench": "{build}/workloads/gcbench 6",
    "indexer": "{build}/workloads/indexer --max-files 2000 /usr/share/doc /usr/include",
    "lisp": "{build}/workloads/lisp {root}/tests/workloads/lisp/tree.lisp depth=16",
    "find": "find /usr -name nothing",
    "tar": "tar cf out.tar /usr/include",
    "gcc": "gcc -O2 -std=c11 -D_GNU_SOURCE -I{root}/userspace -S {root}/userspace/report/summary.c"
           " {root}/userspace/report/json.c {root}/userspace/profile/again.c",
    "sort": "sort -k 2 lines.txt -o out.sorted",
    "python": "/usr/bin/python3 {root}/tools/bench/programs/allocates.py documents 3000",
    "java": "java -Xmx256m -cp . Peer gcbench 12",
    "go": "./go-peer gcbench 1",
    "node": "node {root}/tools/bench/programs/peer.js gcbench 3",
    "node server": "node {root}/tools/bench/programs/server.js 4000",
    "make": "make -s -B -j2 -C {root} O={build}/bench/made {build}/bench/made/libgcprof-gc.a",
    "getppid": "./getppid 3000000",
    "few getppid": "./getppid 30000",
    "pipe": "{build}/workloads/waits pipe 100000",
    "page faults": "{build}/workloads/waits touch 100000",
    "date": "date +%s.%N",
    "attach": "sh -c '{build}/workloads/churn --seconds 50 >&2 & sleep 0.3;"
              " {gcprof} record -v --duration 0.1 -o attach.data -p $!; status=$?; kill $!; exit $status'",
    "20 000 stacks": "{gcprof} report events.data",
    "3 million stacks": "{gcprof} report stacks.data",
    "Firefox export": "{gcprof} export -o events.json.gz events.data",
    "HTML page": "{gcprof} export -f html -o events.html events.data",
    "churn without sampler": "layouts/plain-{layout} --bytes 8G",
    **{f"depth {depth}": f"{{build}}/workloads/churn --bytes 8G --depth {depth}" for depth in (8, 32, 100)},
    **{f"malloc {way}": f"./blocks {count}" for way, count in {
        "freed at once": "pairs 60000000", "freed later": "ring 40000000", "trees": "trees 1000",
        "100 live": "live 60000000 100", "10 000 live": "live 30000000 10000", "large": "large 10000000"}.items()},
    "some trees": "./blocks trees 200",
    "some freed later": "./blocks ring 4000000",
    **{f"python {way}": f"/usr/bin/python3 {{root}}/tools/bench/programs/allocates.py {way} {count}" for way, count in {
        "trees": 2000, "lists": 5000000, "strings": 4000000, "blocks": 4000000, "large": 2000000}.items()},
}

SAMPLES = "{gcprof} record -F 0 --syscalls off -o {data} "
TIMER = "{gcprof} record --syscalls off -R 64G -o {data} "
SIZES = {"32 KiB": "32K", "128 KiB": "128K", "512 KiB": "512K", "2 MiB": "2M"}
RECORDERS = {
    "none": "{command}",
    "default": "{gcprof} record -o {data} -- {command}",
    "perf": "perf record -q -F 999 -g -o perf.data -- {command}",
    **{size: f"{SAMPLES} -R {option} -- {{command}}" for size, option in SIZES.items()},
    **{f"{hertz} Hz": f"{TIMER} -F {hertz} -- {{command}}" for hertz in (100, 999, 2000)},
    **{f"--stack {mode}": f"{TIMER} -F 4999 --stack {mode} -- {{command}}" for mode in ("off", "fp", "rows", "copy")},
    "-R 64K": "{gcprof} record -R 64K -o {data} -- {command}",
    "--no-writes": "{gcprof} record --no-writes -o {data} -- {command}",
    "JFR": "env JAVA_TOOL_OPTIONS=-XX:StartFlightRecording=filename=default.jfr {command}",
    "JFR profile": "env JAVA_TOOL_OPTIONS=-XX:StartFlightRecording=settings=profile,filename=profile.jfr {command}",
    "JVMTI agent": "env JAVA_TOOL_OPTIONS=-agentpath:./alloc_agent.so {command}",
    "Go's sampler": "./timeit times ./go-sampled gcbench 1",
    "Go's profiles": "./timeit times ./go-profiled gcbench 1",
    "system calls": "{gcprof} record -F 0 --no-off-cpu -o {data} -- {command}",
    "no limit": "{gcprof} record -F 0 --max-overhead off -o {data} -- {command}",
    "count": "{gcprof} record -F 0 --syscalls count -o {data} -- {command}",
    "bpftrace": "bpftrace -e 'tracepoint:raw_syscalls:sys_enter {{ @[args->id] = count(); }}' -c '{command}'",
    "strace -c": "strace -f -c -o strace.out {command}",
    "perf trace": "perf trace -s -o trace.out -- {command}",
    "--off-cpu": "{gcprof} record -F 0 --off-cpu -o {data} -- {command}",
    "off-CPU alone": "{gcprof} record -F 0 --syscalls off --off-cpu -o {data} -- {command}",
    "--faults": "{gcprof} record -F 0 --syscalls off --faults -o {data} -- {command}",
    "each fault": "{gcprof} record -F 0 --syscalls off --faults --fault-rate 10000000 -o {data} -- {command}",
    "with sampler": "./timeit times layouts/build-{layout} --bytes 8G",
    "malloc agent": "env LD_PRELOAD={build}/libgcprof-malloc.so {command}",
    "malloc samples": "{gcprof} record --malloc -F 0 --syscalls off -o {data} -- {command}",
    "malloc default": "{gcprof} record --malloc -o {data} -- {command}",
    "heaptrack": "./timeit times heaptrack -o heaptrack.out {program}",
    "jemalloc": "env LD_PRELOAD=libjemalloc.so.2 {command}",
    "jemalloc's profile": "env LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,lg_prof_sample:19 {command}",
    "tcmalloc": "env LD_PRELOAD=libtcmalloc.so.4 {command}",
    "tcmalloc's samples": "env LD_PRELOAD=libtcmalloc.so.4 TCMALLOC_SAMPLE_PARAMETER=524288 {command}",
    "python agent": "env LD_PRELOAD={build}/libgcprof-cpython.so {command}",
    "python samples": "{gcprof} record --agent python -F 0 --syscalls off -o {data} -- {command}",
    "python default": "{gcprof} record --agent python -o {data} -- {command}",
    "tracemalloc": "env PYTHONTRACEMALLOC=10 {command}",
    **{f"nursery {size}": f"env GC_NURSERY={size} {{command}}" for size in ("1M", "8M", "32M")},
}

# How to make the files that commands name.
C = "gcc -O2 -std=c11 -D_GNU_SOURCE {root}/tools/bench/"
GO = "GO111MODULE=off GOCACHE=$PWD/gocache go build -o "
PEER = " {root}/tools/bench/programs/peer.go"
EVENTS = "[ -x events ] || " + C + "events.c -I{root}/userspace {build}/libgcprof-user.a -lzstd -lm -o events; "
FILES = {
    "timeit": C + "timeit.c -o timeit",
    "getppid": C + "getppid.c -o getppid",
    "blocks": C + "programs/blocks.c -o blocks",
    "lines.txt": "seq 400000 | awk '{{print $1, $1 * 7919 % 400000, \"name\", $1 % 97}}' >lines.txt",
    "Peer": "javac -d . {root}/tools/bench/programs/Peer.java",
    "alloc_agent": "home=$(dirname $(dirname $(realpath $(command -v javac))))\n" + C +
                   "programs/alloc_agent.c -shared -fPIC -I$home/include -I$home/include/linux -o alloc_agent.so",
    "go-peer": GO + "go-peer" + PEER,
    "go-sampled": GO + "go-sampled" + PEER + " {root}/tools/bench/programs/sampled.go",
    "go-profiled": GO + "go-profiled" + PEER + " {root}/tools/bench/programs/profiled.go",
    "events.data": EVENTS + "./events events.data 10000000",
    "stacks.data": EVENTS + "./events stacks.data 10000000 3000000",
    # Where the linker puts functions makes a difference of several per cent, so rounds have eight orders.
    "layouts/": """mkdir -p layouts
        make -s -C {root} O=$PWD/plain CFLAGS=-DGCPROF_NO_SAMPLING=1 $PWD/plain/workloads/churn
        for i in 0 1 2 3 4 5 6 7; do
            yes $i | head -c 100000 >seed
            for from in {build} plain; do
                ls $from/tests/workloads/churn/churn.o $from/gc/*.o $from/gc/provider/whole.o |
                    shuf --random-source=seed | xargs gcc -lpthread -lm -o layouts/$(basename $from)-$i
            done
        done""",
}

# What a cell says of a run and of the unrecorded one beside it; how it is shown; from which width on,
# relative to the figure, it is too noisy to be shown.
Measure = namedtuple("Measure", "of what unit digits noisy")
MEASURES = {
    "cpu": Measure(lambda run, base: run.cpu / base.cpu, "CPU time ratio", "", 2, 0.1),
    "wall": Measure(lambda run, base: run.wall / base.wall, "run time ratio", "", 2, 0.5),
    "printed": Measure(lambda run, base: run.printed / base.printed, "CPU time ratio", "", 2, 0.1),
    "seconds": Measure(lambda run, base: run.cpu, "CPU time, s", " s", 2, 0.2),
    "memory": Measure(lambda run, base: run.mib, "peak memory, MiB", " MiB", 0, 0.1),
    "rate": Measure(lambda run, base: run.samples / run.wall, "samples a second", "", 0, 0.5),
    "bytes": Measure(lambda run, base: run.bytes / run.samples, "bytes of profile for each sample", " bytes", 1, 0.2),
    "sample": Measure(lambda run, base: (run.cpu - base.cpu) / run.samples * 1e6,
                      "CPU time of the program for each sample, µs", " µs", 2, 0.5),
    "start": Measure(lambda run, base: (run.printed - run.began) * 1e3, "start of gcprof to that of the program, ms", " ms", 0, 0.3),
    "end": Measure(lambda run, base: (run.ended - run.printed) * 1e3, "end of the program to that of gcprof, ms", " ms", 0, 0.5),
    "own": Measure(lambda run, base: run.own * 1e3, "CPU time of the recorder, ms", " ms", 0, 0.2),
    "attach": Measure(lambda run, base: run.told(r"([\d.]+) ms  probes attached"), "start of gcprof to sampling, ms", " ms", 0, 0.3),
}

# Goals hold for cells in which gcprof runs.
@dataclass(eq=False)
class Table:
    name: str
    measure: str
    goal: float
    programs: list
    recorders: list
    title: str
    remark: str = ""
    quick: bool = False
    log: bool = False
    single: bool = False  # of a few figures with a unit of their own: rows of one table


SHAPES = ["churn", "gcbench", "indexer", "lisp"]
TABLES = [
    Table("tools", "cpu", 1.10, ["find", "tar", "gcc", "sort"], ["default", "perf"], "Tools, default settings",
          "`perf` is `perf record -F 999 -g`, without system calls; `find` and `tar` do little else.", quick=True),
    Table("runtimes", "cpu", 1.02, ["python", "java", "go", "node"], ["default", "perf"], "Unchanged runtimes, default settings",
          "Java and Go programs are also sampled for allocations, and do little but allocate.", quick=True),
    Table("collected", "cpu", 1.02, SHAPES, ["default", "perf"], "Programs with our collector, default settings",
          "The default ceiling of 2000 allocation samples a second holds."),
    Table("periods", "cpu", 1.15, SHAPES, list(SIZES), "Allocation samples alone, by mean distance",
          "Without a ceiling. `churn` allocates many gigabytes a second and is the worst case."),
    Table("rate", "rate", None, SHAPES, list(SIZES), "Allocation samples a second in the same runs", log=True),
    Table("size", "bytes", 8, SHAPES, list(SIZES)[:3], "Size of profiles in the same runs",
          "The whole file, with outcomes, divided by its samples. Names and stacks weigh most where samples are few, and"
          " in `lisp`, whose stacks rarely repeat.", log=True),
    Table("timer", "cpu", 1.01, SHAPES, ["100 Hz", "999 Hz", "2000 Hz"], "Timer samples alone, by rate"),
    Table("sample", "sample", 2, ["depth 8", "depth 32", "depth 100"], ["32 KiB"], "One allocation sample, by stack depth",
          "The difference to the unrecorded run, divided by the samples."),
    Table("tick", "sample", None, ["depth 8", "depth 32", "depth 100"], [f"--stack {mode}" for mode in ("off", "fp", "rows", "copy")],
          "One timer sample, by stack depth and kind of walk",
          "As above, with the interrupt and the walk of the managed stack. A dump (`copy`) costs the recorder more."),
    Table("syscalls", "cpu", 1.5, ["getppid"], ["system calls", "no limit", "count", "bpftrace"],
          "The tightest loop of system calls",
          "Most of it is the kernel's path into tracepoints. The default limit soon turns to estimates."),
    Table("ptrace", "wall", None, ["few getppid"], ["system calls", "bpftrace", "strace -c", "perf trace"],
          "The same beside strace, run time", "What `ptrace` does to a program is not its CPU time.", log=True),
    Table("waits", "cpu", None, ["pipe"], ["system calls", "--off-cpu", "off-CPU alone"], "A byte to another thread and back"),
    Table("faults", "cpu", None, ["page faults"], ["--faults", "each fault"], "Page faults and nothing else"),
    Table("java", "cpu", 1.02, ["java"], ["default", "-R 64K", "JFR", "JFR profile", "JVMTI agent"], "Java, beside its own profilers",
          "The JVMTI agent samples every 512 KiB, with stacks. Runs take a second, with JFR's own start."),
    Table("go", "cpu", 1.02, ["go"], ["default", "-R 64K", "--no-writes", "Go's sampler", "Go's profiles"],
          "Go, beside its own profiler"),
    Table("malloc", "printed", 1.05, [p for p in PROGRAMS if p.startswith("malloc ")],
          ["malloc agent", "malloc samples", "malloc default"], "`malloc()` and `free()` and nothing else",
          "The worst case. *Agent* is the library alone, not recorded."),
    Table("malloc-peers", "printed", 1.05, ["some trees", "some freed later"],
          ["malloc default", "heaptrack", "jemalloc", "jemalloc's profile", "tcmalloc", "tcmalloc's samples"],
          "The same beside heaptrack and other allocators with profiles",
          "heaptrack records every call. jemalloc and tcmalloc sample every 512 KiB: compare with the allocator alone.", log=True),
    Table("cpython", "printed", 1.03, ["python"] + [p for p in PROGRAMS if p.startswith("python ")],
          ["python agent", "python samples", "python default", "tracemalloc"], "Python objects and nothing else",
          "The worst case. tracemalloc records every allocation."),
    Table("idle", "cpu", 1.01, ["churn without sampler"], ["with sampler"], "The sampler in the collector, no consumer attached"),
    Table("nursery", "seconds", None, SHAPES, ["none"] + [r for r in RECORDERS if r.startswith("nursery")],
          "The collector with nurseries of several sizes, not recorded", "The default begins with 4 MiB."),
    Table("start", "start", 100, ["date"], ["default", "perf"],
          "start of gcprof to that of the program (mostly the kernel's BPF verifier)", quick=True, single=True),
    Table("end", "end", 50, ["date"], ["default", "perf"],
          "end of the program to that of gcprof (the profile is complete earlier)", quick=True, single=True),
    Table("own", "own", None, ["date"], ["default", "perf"], "CPU time of the recorder of a program that does nothing", single=True),
    Table("attach", "attach", 100, ["attach"], ["none"], "start of gcprof to sampling of a running program", single=True),
    Table("report", "seconds", 3, ["20 000 stacks"], ["none"], "CPU time of the report of 10 million events", single=True),
    Table("stacks", "seconds", 5, ["3 million stacks"], ["none"], "the same with 3 million stacks", single=True),
    Table("exports", "seconds", 20, ["Firefox export", "HTML page"], ["none"], "CPU time of exports of the first", single=True),
    Table("memory", "memory", 512, ["20 000 stacks", "3 million stacks", "Firefox export", "HTML page"], ["none"],
          "peak memory", single=True),
]

# What README.md quotes.
HEADLINES = [
    ("`find /usr`, default settings", "tools: find, default"),
    ("the same, `perf record -F 999 -g`", "tools: find, perf"),
    ("`gcc -O2`, default settings", "tools: gcc, default"),
    ("the same, `perf record -F 999 -g`", "tools: gcc, perf"),
    ("a Java program that allocates, default settings", "runtimes: java, default"),
    ("a Go program that allocates, default settings", "runtimes: go, default"),
    ("`lisp` on our collector, default settings", "collected: lisp, default"),
    ("`churn` (many GB/s), allocation samples every 32 KiB", "periods: churn, 32 KiB"),
    ("one allocation sample at stack depth 32", "sample: depth 32, 32 KiB"),
    ("bytes of profile for a sample and its outcome, `gcbench`", "size: gcbench, 32 KiB"),
    ("tightest loop of system calls, default limit", "syscalls: getppid, system calls"),
    ("from calling gcprof to the start of the program", "start: date, default"),
    ("report on 10 million events", "report: 20 000 stacks"),
]
