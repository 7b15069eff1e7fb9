#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# users.bats: what an ordinary user does beside root's programs costs these nothing: their names stay theirs, and what the recorder keeps of them stays complete.

load common
load attacks

setup_file() {
	export PROGRAMS=$BATS_FILE_TMPDIR
	build_attacks "$PROGRAMS"
	cp "$ROOT/tests/e2e/programs/honest.py" "$PROGRAMS"
	chmod -R a+rX "$BATS_RUN_TMPDIR"
}

# Two programs that claim to be the same: path, size of the path's file, build-id. One is root's.
setup_claims() {
	need_root
	unshare -m true 2>/dev/null || skip 'there are no mount namespaces'
	mkdir at mine theirs
	for name in mine theirs; do
		gcc -O1 -g "-Dwork=${name}_work" -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 \
			"$ROOT/tests/e2e/programs/claims.c" -o "$name/app"
	done
	chown -R "$ATTACKER" theirs
	chmod a+rx .
	cat >run <<-END
		mine() {
			unshare -m sh -c "mount --bind '$PWD/mine' '$PWD/at' && exec '$PWD/at/app' \$1"
		}
		theirs() {
			${AS_ATTACKER[*]} unshare -Urm sh -c "mount --bind '$PWD/theirs' '$PWD/at' && exec '$PWD/at/app' \$1"
		}
	END
	"${AS_ATTACKER[@]}" unshare -Urm true 2>/dev/null || skip 'users have no mount namespaces'
}

# Each has its own name, and what it computed.
own_names() { # PROFILE
	"$GCPROF" report --json "$1" >report.json
	for name in mine theirs; do
		jq -e "[.functions[] | select(.name == \"${name}_work\" and .cpu_samples > 50)] | length == 1" report.json
	done
}

@test "two programs of one path and build-id, another user's first: each has its own names" {
	setup_claims
	"$GCPROF" record --max-overhead off -o a.data -- bash -c '. ./run; theirs 3 & sleep 0.5; mine 3; wait'
	own_names a.data
}

@test "two programs of one path and build-id, root's first: each has its own names" {
	setup_claims
	"$GCPROF" record --max-overhead off -o a.data -- bash -c '. ./run; mine 3 & sleep 0.5; theirs 3; wait'
	own_names a.data
}

@test "profiles of two programs of one path and build-id are merged: each has its own names" {
	setup_claims
	"$GCPROF" record --max-overhead off -o a.data -- bash -c '. ./run; theirs 2'
	"$GCPROF" record --max-overhead off -o b.data -- bash -c '. ./run; mine 2'
	"$GCPROF" merge -o both.data a.data b.data
	own_names both.data
}

@test "an image in ten overlay mounts is one file" {
	need_root
	mkdir lower
	gcc -O1 -g "$ROOT/tests/e2e/programs/claims.c" -o lower/app
	for i in 0 1 2 3 4 5 6 7 8 9; do
		mkdir -p $i/at $i/upper $i/work
	done
	unshare -m mount -t overlay overlay -o lowerdir=lower,upperdir=0/upper,workdir=0/work 0/at || skip 'there is no overlay here'
	"$GCPROF" record --max-overhead off -- unshare -m bash -c '
		for i in 0 1 2 3 4 5 6 7 8 9; do
			mount -t overlay overlay -o "lowerdir=lower,upperdir=$i/upper,workdir=$i/work" $i/at
			$i/at/app 1 &
			sleep 0.1
		done
		wait'
	"$GCPROF" dump >dump
	# On a busy machine a mapping may be stored before its file was read: that has no build-id.
	same modules "$(grep '"record":"module"' dump | grep "\"path\":$(path_id /app)," | grep -vc '"build_id":""')" 1
	holds '[.functions[] | select(.name == "work" and .cpu_samples > 100)] | length == 1'
}

# The id of the only text that ends so.
path_id() { # END
	jq -r "select(.record == \"string\" and (.text | test(\"^/[^ ]*$1\$\"))) | .id" dump
}

# What another user may do without end: new files with long paths, all of root's files, and functions.
hog() {
	local as=${AS_ATTACKER[*]}
	echo "for i in 1 2; do $as mapper -n . -d 17 plain.so & $as mapper -a /usr plain.so & done
		for i in 1 2 3; do $as /usr/bin/python3 $PROGRAMS/functions.py & done"
}

# Two programs beside it that mean no harm; the first run only has their files known.
beside() { # HOG
	echo "churn --bytes 64M >/dev/null; $1
		sleep 3; churn --seconds 3 >churn.out & /usr/bin/python3 $PROGRAMS/honest.py 3 & wait %?churn %?honest; >over"
}

record_beside() { # HOG
	mkdir folder
	chown "$ATTACKER" folder
	chmod a+rx .
	cd folder || return 1
	"${AS_ATTACKER[@]}" "$PROGRAMS/elfbomb" plain plain.so
	printf 'echo $$ >driver\nPATH=%s:$PATH\n%s\n' "$PROGRAMS" "$(beside "$1")" >script
	"$GCPROF" record -v -R 256K --max-overhead off -- setsid --wait bash script >out 2>record.log 3>&- &
	recorder=$!
	started+=("$recorder")
	wait_until test -s driver
	started+=("-$(cat driver)")
	wait_until test -e over
	kill -INT "$recorder"
	wait "$recorder"
	grep -v copy- record.log
	"$GCPROF" report --json >report.json
}

# Their names, samples and collections are there, to 2 %.
complete() {
	local collections
	collections=$(sed -n 's/.*minor=\([0-9]*\).*/\1/p' churn.out)
	echo "$collections collections"
	jq -c '[.gc.minor.count, (.functions[] | select(.name | test("^(add_up|make_lists|churn_round|descend)$")) | [.name, .runtime, .cpu_samples])]' report.json
	jq -e ".gc.minor.count >= $collections * 0.98" report.json
	jq -e '[.functions[] | select(.name == "add_up" or .name == "make_lists")] | length == 2 and all(.cpu_samples > 4)' report.json
	jq -e '[.functions[] | select(.name == "churn_round" and .file != null and .cpu_samples > 10)] | length == 1' report.json
	jq -e '[.functions[] | select(.name == "descend" and .runtime == "managed")] | length == 1' report.json
	jq -e '.alloc.samples > 1000' report.json
}

@test "user who maps files and makes functions without end: honest programs have their names, samples and collections" {
	need_root
	record_beside "$(hog)"
	complete
}
