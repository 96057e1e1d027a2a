# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154
#
# Sourced by the commands that build a kernel for the lab's guests from Debian's source, into the
# cache (lab/debug-kernel, lab/low-kernel). They set:
#
#   root          the repository
#   command       name of the command, for messages
#   version       of the new kernel, as the lab names it; its work folder is the command's name
#   base          version of the stock kernel whose configuration it begins with
#   config        files with the differences, each line of which has to take effect
#   needed_mib    of the source, its package and the objects, unpacked
#   last_line     of the command's head, which is its help
#
# and define:
#
#   prepare_source         changes in the unpacked source
#   install_headers FOLDER what modules are built against
#
# then call build_kernel "$@".

cache=${FGIO_CACHE:-$root/build/cache}
package=linux-source-$base

fail() {
	echo "$command: $*" >&2
	exit 1
}

say() {
	echo "$command: $*" >&2
}

usage() {
	sed -n "s/^# \{0,1\}//; 4,${last_line}p" "$0"
}

need_tools() {
	local tool missing=()

	# Tool and the package that brings it.
	for tool in apt-get:apt bc:bc bison:bison cpio:cpio dpkg-deb:dpkg flex:flex flock:util-linux \
		gcc:gcc make:make depmod:kmod lz4:lz4 pahole:dwarves perl:perl python3:python3 xz:xz-utils; do
		command -v "${tool%:*}" >/dev/null || missing+=("${tool#*:}")
	done
	[ -e /usr/include/gelf.h ] || missing+=(libelf-dev)
	[ -e /usr/include/openssl/ssl.h ] || missing+=(libssl-dev)
	[ ${#missing[@]} = 0 ] || fail "needs more packages; run: sudo apt-get install ${missing[*]}"
}

need_space() {
	local free

	free=$(df --output=avail --block-size=1M "$work" | tail -n 1)
	[ -e "$work/objects/vmlinux" ] || [ "$free" -ge "$needed_mib" ] ||
		fail "$work needs $needed_mib MiB, $free are free; set FGIO_CACHE to a larger place"
}

# The stock kernel: its configuration is where this one's begins.
find_stock() {
	stock=$cache/kernel/$base
	FGIO_CACHE=$cache "$root/kmod/fetch-kernel" "$base" >/dev/null
	stock_config=$stock/boot/config-$(cat "$stock/release")
	[ -f "$stock_config" ] || fail "$stock_config is missing; remove $stock and run this again"
	wanted=$(sed -n 's/^linux-image-[^\t]*\t//p' "$stock/packages")
}

# The sources of a build: there is nothing to do while this stays.
fingerprint() {
	cat "$stock_config" "${config[@]}" | sha256sum | cut -d' ' -f1
}

download() {
	# The stock kernel's own version, or, when the archive has dropped that, the newest.
	local each

	for each in "$package=$wanted" "$package"; do
		say "downloading $each"
		(cd "$staging" &&
			apt-get download -qq -o APT::Sandbox::User="$(id -un)" "$each") >&2 && return
	done
	fail "no $package from apt; run: sudo apt-get update (Debian 12 with bookworm-security)"
}

fetch_source() {
	local deb

	[ "$(cat "$work/source-for" 2>/dev/null)" != "$wanted" ] || return 0
	staging=$work/.staging-source
	rm -rf "$staging" "$source" "$work/objects"
	mkdir "$staging"
	download
	deb=$(echo "$staging"/*.deb)
	say "unpacking $(basename "$deb")"
	dpkg-deb --fsys-tarfile "$deb" | tar -xO "./usr/src/$package.tar.xz" |
		tar -xJ -C "$staging" || fail "$deb does not unpack as expected"
	mv "$staging/$package" "$source"
	dpkg-deb --field "$deb" Version >"$work/source-version"
	echo "$wanted" >"$work/source-for"
	rm -rf "$staging"
}

run_make() {
	nice -n 19 make -C "$source" O="$work/objects" "$@" >>"$work/log" 2>&1 ||
		fail "make $* failed; the end of $work/log:"$'\n'"$(tail -n 15 "$work/log")"
}

# Each line of the fragment has to be in the configuration: kconfig drops unmet options silently.
check_configuration() {
	local line name bad=()

	while read -r line; do
		case $line in
		"# CONFIG_"*" is not set")
			name=${line#\# }
			! grep -q "^${name%% *}=" "$work/objects/.config" || bad+=("$line")
			;;
		CONFIG_*) grep -qxF "$line" "$work/objects/.config" || bad+=("$line") ;;
		esac
	done < <(cat "${config[@]}")
	[ ${#bad[@]} = 0 ] ||
		fail "these lines of ${config[*]} have no effect on this source:" "${bad[@]/#/$'\n'  }"
}

configure() {
	mkdir -p "$work/objects"
	{
		grep -v '=m$' "$stock_config"
		cat "${config[@]}"
	} >"$work/objects/.config"
	run_make olddefconfig
	check_configuration
}

collect() {
	local release objects=$work/objects

	staging=$cache/kernel/.staging-$version
	rm -rf "$staging"
	mkdir -p "$staging/boot" "$staging/headers"
	release=$(cat "$objects/include/config/kernel.release")
	cp "$objects/arch/x86/boot/bzImage" "$staging/boot/vmlinuz-$release"
	cp "$objects/System.map" "$staging/boot/System.map-$release"
	cp "$objects/.config" "$staging/boot/config-$release"
	run_make INSTALL_MOD_PATH="$staging" INSTALL_MOD_STRIP=1 modules_install
	ln -sfn ../../../build "$staging/lib/modules/$release/build"
	install_headers "$staging/headers"
	cp "$objects/.config" "$staging/headers/.config"
	objcopy --dump-section ".BTF=$staging/headers/vmlinux-btf" "$objects/vmlinux" /dev/null ||
		fail "no type information in $objects/vmlinux; pahole's messages are in $work/log"
	ln -s headers "$staging/build"
	ln -s headers/vmlinux-btf "$staging/vmlinux-btf"
	printf '%s\t%s\n' "$package" "$(cat "$work/source-version")" >"$staging/packages"
	fingerprint >"$staging/fingerprint"
	echo "$release" >"$staging/release"
}

# Only a complete tree gets its final name, so there is never half a kernel in the cache.
publish() {
	local old=$cache/kernel/.old-$version

	rm -rf "$old"
	[ ! -e "$result" ] || mv "$result" "$old"
	mv "$staging" "$result"
	rm -rf "$old"
	# The lab takes a release for the same kernel forever, and its modules with it.
	rm -f "$cache/initramfs-$version"-*.cpio
}

up_to_date() {
	[ -e "$result/release" ] && [ "$(cat "$result/fingerprint")" = "$(fingerprint)" ]
}

build_kernel() { # [--rebuild|--check|--clean|--help]
	rebuild=
	clean=
	check=
	case ${1-} in
	'') ;;
	--rebuild) rebuild=1 ;;
	--clean) clean=1 ;;
	--check) check=1 ;;
	-h | --help)
		usage
		exit
		;;
	*)
		usage >&2
		exit 2
		;;
	esac

	mkdir -p "$cache/kernel"
	cache=$(realpath "$cache")
	work=$cache/$command
	source=$work/$package
	result=$cache/kernel/$version
	mkdir -p "$work"
	exec {lock}>"$cache/kernel/.lock-$version"
	flock -n "$lock" || {
		say "waiting for another run"
		flock "$lock"
	}

	if [ -n "$clean" ]; then
		rm -rf "$work"
		exit
	fi
	find_stock
	if [ -z "$rebuild$check" ] && up_to_date; then
		cat "$result/release"
		exit
	fi
	need_tools
	need_space
	trap 'rm -rf "${staging-}"' EXIT
	trap 'exit 130' INT TERM
	: >"$work/log"
	fetch_source
	prepare_source
	configure
	if [ -n "$check" ]; then
		say "every line of ${config[*]} takes effect"
		exit
	fi
	say "building with ${JOBS:-$(nproc)} processes, output in $work/log"
	run_make -j"${JOBS:-$(nproc)}" bzImage modules
	collect
	publish
	cat "$result/release"
}
