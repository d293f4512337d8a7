#!/bin/sh
# The first process of the container. At the first start it makes a certificate and two tokens in /data/access: admin.token for people,
# metrics.token (scope read) for Prometheus. Then it becomes the server, which drains at SIGTERM.
#
#   MERCER_NAMES     further names of the machine in the certificate: DNS:mercer.example.org,IP:10.0.0.7
#   MERCER_LISTEN    address of gRPC, 0.0.0.0:7345
#   MERCER_HTTP      address of the dashboard and the JSON API, 0.0.0.0:7380
#   /data/access     may hold files of your own instead: server.pem, server.key, tokens (docs/security.md)
#
# Arguments are flags of mercer-server; 'mercer ...' and 'mercer-server ...' run these programs instead.
set -eu
umask 077
readonly access=/data/access

case ${1:-} in
  mercer | mercer-server) exec "$@" ;;
esac

# In a folder of its own until all is there: a first start that was cut off begins anew.
make_access() {
  new=$access.new
  rm -rf "$new" && mkdir "$new"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 -subj /CN=mercer \
    -addext "subjectAltName=DNS:localhost,DNS:mercer,DNS:$(hostname),IP:127.0.0.1${MERCER_NAMES:+,$MERCER_NAMES}" \
    -keyout "$new/server.key" -out "$new/server.pem" 2>"$new/openssl.log" || { cat "$new/openssl.log" >&2 && exit 1; }
  rm "$new/openssl.log"
  mercer-server token --name admin --scopes read,predict,train,admin --token-out "$new/admin.token" >"$new/tokens"
  mercer-server token --name metrics --scopes read --token-out "$new/metrics.token" >>"$new/tokens"
  mv "$new" "$access"
  echo "the token of the administrator is in $access/admin.token, the server's certificate in $access/server.pem" >&2
}

[ -e "$access" ] || make_access

# For Prometheus in another container, which shares this folder and not the user.
if [ -w /scrape ] && [ -e $access/metrics.token ]; then
  install --mode 0644 $access/server.pem $access/metrics.token /scrape/ || echo "nothing was written to /scrape" >&2
fi

exec mercer-server --data-dir /data/server --listen "${MERCER_LISTEN:-0.0.0.0:7345}" --http "${MERCER_HTTP:-0.0.0.0:7380}" --tokens $access/tokens \
  --tls-cert $access/server.pem --tls-key $access/server.key "$@"
