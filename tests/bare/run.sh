#!/usr/bin/env bash
# Runs the README's two commands on a bare Debian 12 that is made for the purpose: what the machine at hand has beyond that, and a
# stranger's has not, cannot hide a missing step. What is committed is run.
#
#   tests/bare/run.sh [FOLDER]     FOLDER (build/bare) takes the system, the clones and the logs, about 8 GB
#
# Four runs, a line for each: './dev demo' and './dev test' in clones of their own with empty compiler caches; then both again without
# any network, so that no package index is reached and no name is known but what the machine itself knows. The Debian packages are there
# by then. Needs mmdebstrap, and root or user namespaces (uidmap).
set -euo pipefail
readonly SELF=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$SELF")/../.."
readonly PROJECT=$PWD FOLDER=$(realpath -m "${1:-build/bare}")
readonly BUNDLE=/etc/ssl/certs/ca-certificates.crt

die() {
  echo "bare: $*" >&2
  exit 1
}

# Everything happens in namespaces of its own: what is mounted there, and who still runs, is gone when this script ends.
if [[ -z ${MERCER_BARE_INSIDE:-} ]]; then
  command -v mmdebstrap >/dev/null || die "there is no mmdebstrap; apt-get install mmdebstrap"
  as=()
  ((EUID == 0)) || as=(--map-root-user --map-auto)
  exec env MERCER_BARE_INSIDE=yes unshare "${as[@]}" --mount --pid --fork --kill-child "$SELF" "$FOLDER"
fi
readonly ROOT=$FOLDER/root

# make_system: a new Debian with git and certificates, and this machine's names, authorities and way to Debian's packages.
make_system() {
  rm -rf "$ROOT"
  local sources
  sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null | grep ' bookworm' | sort -u || true)
  mmdebstrap --variant=minbase --include=git,ca-certificates bookworm "$ROOT" ${sources:+-} <<<"$sources" >"$FOLDER/mmdebstrap.log" 2>&1 || {
    tail -n 5 "$FOLDER/mmdebstrap.log" >&2
    die "mmdebstrap failed"
  }
  cp /etc/hosts /etc/resolv.conf "$ROOT/etc/"
  [[ ! -e $BUNDLE ]] || cp "$BUNDLE" "$ROOT$BUNDLE"
}

mount_system() {
  mount --bind "$ROOT" "$ROOT"
  mount -t proc proc "$ROOT/proc"
  mount --rbind /dev "$ROOT/dev"
  mount --rbind /sys "$ROOT/sys"  # where the C library looks for the number of processors
  mount -t tmpfs tmpfs "$ROOT/tmp"
}

# in_bare COMMAND...: in the system, with the environment of a login and the way to package indexes.
in_bare() {
  local kept=() name
  for name in http_proxy https_proxy no_proxy PIP_INDEX_URL NPM_CONFIG_REGISTRY; do
    [[ -z ${!name:-} ]] || kept+=("$name=${!name}")
  done
  chroot "$ROOT" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NODE_EXTRA_CA_CERTS="$BUNDLE" PIP_CERT="$BUNDLE" "${kept[@]}" "$@"
}

failed=0
# try NAME CLONE CACHE WRAPPER... -- WORD: './dev WORD' in the folder CLONE, with the compiler cache CACHE.
try() {
  local name=$1 clone=$2 cache=$3 start=$SECONDS status=0 packages verdict=passed wrapper=()
  shift 3
  while [[ $1 != -- ]]; do wrapper+=("$1") && shift; done
  [[ -d $ROOT/root/$clone ]] || git clone --quiet --no-hardlinks "$PROJECT" "$ROOT/root/$clone"
  "${wrapper[@]}" in_bare CCACHE_DIR="/root/cache-$cache" sh -c "cd '/root/$clone' && ./dev $2" >"$FOLDER/$name.log" 2>&1 || status=$?
  packages=$(sed -nE 's/^== packages installed in ([0-9]+) s$/\1/p' "$FOLDER/$name.log" | awk '{ sum += $1 } END { print sum + 0 }')
  ((status == 0)) || { verdict="FAILED ($status)" failed=1; }
  printf '%-24s %-10s %5d s, of these %d s for Debian packages; %s\n' "$name" "$verdict" $((SECONDS - start)) "$packages" "$FOLDER/$name.log"
  ((status == 0)) || grep -E '\*\*\*|\(Failed\)|error|^dev: ' "$FOLDER/$name.log" | tail -n 20 | sed 's/^/    /' || true
}

# without_network COMMAND...: with a loopback interface and nothing else.
without_network() {
  export -f in_bare
  export ROOT BUNDLE
  unshare --net bash -c 'ip link set lo up; "$@"' bash "$@"
}

mkdir -p "$FOLDER"
make_system
mount_system
try demo demo demo -- demo
try test test test -- test
rm "$ROOT/etc/hosts" "$ROOT/etc/resolv.conf"
try demo-without-network alone test without_network -- demo
try test-without-network alone test without_network -- test
exit "$failed"
