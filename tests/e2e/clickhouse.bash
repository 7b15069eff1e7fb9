# SPDX-License-Identifier: BSD-2-Clause
# clickhouse.bash: a ClickHouse server for the tests of a file, on loopback.

need_clickhouse() {
	[ -x /usr/sbin/clickhouse-server ] || command -v clickhouse-server >/dev/null ||
		skip 'clickhouse-server is not installed (make setup-runtimes)'
	command -v clickhouse-client >/dev/null || skip 'clickhouse-client is not installed'
	command -v curl >/dev/null || skip 'curl is not installed'
	unset http_proxy https_proxy all_proxy
	PATH=$PATH:/usr/sbin
}

# The server keeps its files in the folder NAME; user alice has a password.
write_config() { # NAME
	local folder
	mkdir -p "$1/data" "$1/tmp"
	folder=$(realpath "$1")
	cat >"$1/config.xml" <<-END
		<yandex>
		<logger><level>warning</level><log>$folder/log</log><errorlog>$folder/errors</errorlog></logger>
		<listen_host>127.0.0.1</listen_host><http_port>$port</http_port><tcp_port>$((port + 1))</tcp_port>
		$(cat "$1/more.xml" 2>/dev/null)
		<path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path>
		<users_config>users.xml</users_config><default_profile>default</default_profile>
		<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
		</yandex>
	END
	cat >"$1/users.xml" <<-END
		<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
		<quota>default</quota></default>
		<alice><password>wonder'land</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
		<quota>default</quota></alice></users></yandex>
	END
}

answers() {
	! kill -0 "$server" 2>/dev/null || [ "$(curl -s "127.0.0.1:$port/")" = Ok. ]
}

# Starts the server, on the same port if it ran before; sets $server (its pid) and $url.
start_server() { # NAME
	local try
	for try in $(seq 20); do
		[ -e "$1/config.xml" ] || {
			port=$((10000 + 3 * (RANDOM % 7000))) # below those of connections
			write_config "$1"
		}
		(cd "$1" && exec clickhouse-server --config-file=config.xml >output 2>&1 3>&-) &
		server=$!
		disown "$server"
		wait_until answers || return 1
		url=http://127.0.0.1:$port
		! kill -0 "$server" 2>/dev/null || {
			echo "server=$server port=$port url=$url" >"$1/running"
			return 0
		}
		# The port was in use.
		[ -z "$(ls -A "$1/data/data/gcprof" 2>/dev/null)" ] && rm "$1/config.xml"
	done
	echo "no server after $try tries"
	cat "$1/output" "$1/errors"
	return 1
}

is_gone() { # PID
	! kill -0 "$1" 2>/dev/null
}

# The server of the file, with empty tables; it is started again where a test has killed it.
use_server() { # NAME
	# shellcheck source=/dev/null
	! [ -e "$1/running" ] || . "$1/running"
	if [ -z "${server:-}" ] || is_gone "$server"; then
		start_server "$1" || return 1
	fi
	curl -sS "$url/" --data-binary 'DROP DATABASE IF EXISTS gcprof' && make_tables
}

kill_server() {
	kill -KILL "$server"
	wait_until is_gone "$server"
}

# Runs a query and prints the response.
ask_server() { # SQL
	curl -sS "$url/?database=gcprof&output_format_json_quote_64bit_integers=0" --data-binary "$1"
}

make_tables() {
	"$GCPROF" push --schema | clickhouse-client --port $((port + 1)) --multiquery
}
