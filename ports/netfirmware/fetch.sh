#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetch lwIP and Mbed TLS into a folder (build/netfirmware unless named), at the versions that
# docs/dependencies.md names: neither is part of this repository. Does nothing if they are there.
#   ports/netfirmware/fetch.sh [FOLDER]
# lwIP is Debian's source package; apt-get needs no root for it, since its lists lie in the folder. Mbed TLS
# lies in the crate psa-crypto-sys, which cargo downloads; nothing of the crate is built or run.
set -euo pipefail
readonly lwip_version=2.1.3+dfsg1-2
readonly lwip_archive=lwip_2.1.3+dfsg1.orig.tar.xz
readonly lwip_sha256=0a8276d09fc4e97bbba2f953d74af2388fc2195ea156be9d7589e297a68fde24
readonly crate=psa-crypto-sys
readonly crate_version=0.13.0
readonly crate_sha256=f507eb19095cece94cafcef49c235dd463649e8c629c0b74fcdf9e6e16895feb
readonly key="$lwip_sha256 $crate_sha256"

root=$(realpath "$(dirname "$0")/../..")
folder=${1:-$root/build/netfirmware}
mkdir -p "$folder"
folder=$(realpath "$folder")

fail()
{
    printf '[fetch] error: %s\n' "$*" >&2
    exit 1
}

# checked FILE SHA256
checked()
{
    [ -f "$1" ] || fail "$1 was not downloaded."
    [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$2" ] ||
        fail "$1 is not the file that this script names: its SHA-256 differs. Nothing of it was unpacked."
}

# unpack ARCHIVE FOLDER DEPTH MEMBER...: replaces FOLDER; the members lose their first DEPTH folders.
unpack()
{
    rm -rf "$2"
    mkdir -p "$2"
    tar -xf "$1" -C "$2" --strip-components="$3" --wildcards "${@:4}"
}

# The system's package sources, asked for source packages.
write_source_lists()
{
    mkdir -p "$folder/apt/sources" "$folder/apt/lists/partial"
    rm -f "$folder/apt/sources"/*
    local file
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        sed -E 's/^Types:.*/Types: deb-src/; s/^deb(-src)?([[:space:]])/deb-src\2/' "$file" \
            >"$folder/apt/sources/$(basename "$file" | sed 's/^sources.list$/system.list/')"
    done
}

fetch_lwip()
{
    command -v apt-get >/dev/null || fail "lwIP is Debian's source package: put $lwip_archive into $folder."
    write_source_lists
    local apt=(apt-get -qq -o Dir::Etc::sourcelist=- -o "Dir::Etc::sourceparts=$folder/apt/sources"
        -o "Dir::State::lists=$folder/apt/lists" -o APT::Sandbox::User= -o Acquire::Languages=none)
    { "${apt[@]}" update && (cd "$folder" && "${apt[@]}" source --download-only "lwip=$lwip_version"); } \
        >"$folder/apt.log" 2>&1 ||
        { tail -n 5 "$folder/apt.log" >&2; fail "apt-get could not fetch lwIP $lwip_version."; }
}

fetch_mbedtls()
{
    command -v cargo >/dev/null || fail "Mbed TLS comes in a Rust crate: install cargo, which downloads it."
    mkdir -p "$folder/crate/src"
    printf '%s\n' '[package]' 'name = "fetch"' 'version = "0.0.0"' 'edition = "2018"' \
        "[dependencies.$crate]" "version = \"=$crate_version\"" \
        'default-features = false' >"$folder/crate/Cargo.toml"
    : >"$folder/crate/src/lib.rs"
    cargo fetch --quiet --manifest-path "$folder/crate/Cargo.toml" >"$folder/cargo.log" 2>&1 ||
        { tail -n 5 "$folder/cargo.log" >&2; fail "cargo could not fetch $crate $crate_version."; }
    local found
    found=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/cache" -name "$crate-$crate_version.crate" | head -n 1)
    [ -n "$found" ] || fail "cargo left no $crate-$crate_version.crate."
    cp "$found" "$folder/$crate.crate"
}

[ -f "$folder/fetched" ] && [ "$(cat "$folder/fetched")" = "$key" ] && exit
[ -f "$folder/$lwip_archive" ] || fetch_lwip
checked "$folder/$lwip_archive" "$lwip_sha256"
[ -f "$folder/$crate.crate" ] || fetch_mbedtls
checked "$folder/$crate.crate" "$crate_sha256"
unpack "$folder/$lwip_archive" "$folder/lwip" 1 '*/src/*' '*/COPYING'
unpack "$folder/$crate.crate" "$folder/mbedtls" 2 '*/vendor/include/*' '*/vendor/library/*' '*/vendor/LICENSE'
rm -rf "$folder/apt" "$folder/crate"
echo "$key" >"$folder/fetched"
