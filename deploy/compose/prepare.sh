#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make what the compose file's services start with: an authority, certificates, keys, passwords and
# directories, all of them readable by the present user alone, as whom the services run. What is there stays.
#   deploy/compose/prepare.sh [FOLDER]     FOLDER: where, instead of this script's own. The variable
# GATEWAY_NAMES has further names of the gateways' certificate: DNS:gateway.example,IP:192.0.2.1
set -euo pipefail
umask 077
cd "${1-$(dirname "$0")}"

readonly ray_nodes=(10.201.0.11 10.201.0.12 10.201.0.21 10.201.0.22)
mkdir -p secrets data/{postgres,store/ciphermote,gateway-a/mosquitto,gateway-b}

# secret FILE: 32 random bytes in hexadecimal.
secret()
{
    [ -s "secrets/$1" ] || openssl rand -hex 32 >"secrets/$1"
}

# certificate NAME SUBJECT-ALTERNATIVE-NAMES
certificate()
{
    [ -s "secrets/$1.pem" ] && return
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -keyout "secrets/$1.key" -out "secrets/$1.csr" 2>/dev/null
    openssl x509 -req -days 825 -in "secrets/$1.csr" -CA secrets/ca.pem -CAkey secrets/ca.key \
        -CAcreateserial -extfile <(printf 'subjectAltName=%s\nbasicConstraints=CA:FALSE\n' "$2") \
        -out "secrets/$1.pem" 2>/dev/null
    rm "secrets/$1.csr"
}

if [ ! -s secrets/ca.pem ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj '/CN=Ciphermote' \
        -addext 'keyUsage=critical,keyCertSign,cRLSign' -keyout secrets/ca.key -out secrets/ca.pem 2>/dev/null
fi
certificate postgres DNS:postgres
names=DNS:localhost,DNS:gateway-a,DNS:gateway-b,DNS:broker,IP:127.0.0.1
certificate gateway "$names${GATEWAY_NAMES:+,$GATEWAY_NAMES}"
certificate ray "$(printf 'IP:%s,' "${ray_nodes[@]}" | sed 's/,$//')"
secret database_password
secret store_secret
secret broker_password
secret ray_token

printf 'postgres:5432:*:ciphermote:%s\n' "$(cat secrets/database_password)" >secrets/pgpass
store_secret=$(cat secrets/store_secret)
printf '[default]\naws_access_key_id = ciphermote\naws_secret_access_key = %s\n' "$store_secret" \
    >secrets/store_credentials
printf 'ROOT_ACCESS_KEY=ciphermote\nROOT_SECRET_KEY=%s\n' "$store_secret" >secrets/store.env
[ -s data/gateway-a/wrap.key ] || openssl rand 32 >data/gateway-a/wrap.key
[ -s data/gateway-b/wrap.key ] || cp data/gateway-a/wrap.key data/gateway-b/wrap.key
printf 'CIPHERMOTE_USER=%s:%s\n' "$(id -u)" "$(id -g)" >.env
