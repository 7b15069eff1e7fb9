# SPDX-License-Identifier: BSD-2-Clause
# suite.bash: packages from a Debian suite that this machine does not install from.

need() { # PACKAGE...
	local missing=()
	for package in "$@"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' ||
			missing+=("$package")
	done
	[ ${#missing[@]} = 0 ] && return
	echo "${0##*/}: installing ${missing[*]}"
	apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
}

# Sets `lists`, the options for apt-get and apt-cache.
use_suite() { # SUITE DIRECTORY
	local apt=$2
	mkdir -p "$apt"/lists/partial "$apt"/cache/archives/partial
	# From where this machine has its own packages.
	apt-get indextargets --format "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \$(REPO_URI) $1 main" |
		grep -v -- -security | sort -u >"$apt/sources.list"
	lists=(-o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache")
	apt-get "${lists[@]}" update -q >/dev/null
}
