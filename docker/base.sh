#!/usr/bin/env bash
# Makes the base image of docker/Dockerfile from Debian's packages, where no registry of images can be reached. Needs root, debootstrap,
# and docker, podman or buildah.
#
#   docker/base.sh [NAME]                                             NAME: mercer-base
#   docker build -f docker/Dockerfile --build-arg BASE=mercer-base -t mercer .
set -euo pipefail
readonly NAME=${1:-mercer-base}
source "$(dirname "${BASH_SOURCE[0]}")/builder.sh"

command -v debootstrap >/dev/null || die "there is no debootstrap; apt-get install debootstrap"
builder=$(find_builder) || die "there is no docker, podman or buildah"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The machine's own mirror, if it has one.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | head -n 1 || true)
debootstrap --variant=minbase bookworm "$folder/root" ${mirror:+"$mirror"} >"$folder/log" || { tail -n 5 "$folder/log" >&2 && die "debootstrap failed"; }
# And the authorities that it trusts besides the usual ones: a network may end TLS itself.
mkdir -p "$folder/root/usr/local/share/ca-certificates"
cp /usr/local/share/ca-certificates/*.crt "$folder/root/usr/local/share/ca-certificates/" 2>/dev/null || true
rm -rf "$folder"/root/var/cache/apt/archives/*.deb "$folder"/root/var/lib/apt/lists/* "$folder"/root/var/log/*.log

if [[ $builder == buildah ]]; then
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$folder/root" / >/dev/null
  buildah commit --quiet --rm "$container" "$NAME" >/dev/null
else
  tar --create --directory "$folder/root" . | "$builder" import - "$NAME" >/dev/null
fi
echo "$NAME"
