# What the scripts of this folder share; to be sourced.

die() {
  echo "docker: $*" >&2
  exit 1
}

# find_builder: the name of a program that can build images here. A docker without its daemon is none.
find_builder() {
  local name
  for name in docker podman; do
    if command -v "$name" >/dev/null && "$name" info >/dev/null 2>&1; then
      echo "$name"
      return
    fi
  done
  command -v buildah >/dev/null && echo buildah
}

# build_image NAME ARGUMENT...: arguments as 'docker build' has them.
build_image() {
  case $builder in
    buildah) buildah build --isolation chroot --layers --format docker --tag "$@" ;;
    *) "$builder" build --tag "$@" ;;
  esac
}

# has_image NAME: whether it is here, or can be fetched.
has_image() {
  case $builder in
    buildah) buildah pull --quiet --policy missing "$1" >/dev/null 2>&1 ;;
    *) "$builder" image inspect "$1" >/dev/null 2>&1 || "$builder" pull --quiet "$1" >/dev/null 2>&1 ;;
  esac
}

# leaves PROCESS: the processes below it that have made none of their own; buildah kills what it runs instead of passing a signal on.
leaves() {
  local children child
  children=$(pgrep -P "$1") || { echo "$1" && return; }
  for child in $children; do leaves "$child"; done
}

# run_image IMAGE FOLDER PROGRAM ARGUMENT...: in a container of its own, in the network of this machine, with a root that cannot be
# written (except by buildah); FOLDER is there under the same path. As user RUN_AS (this one), with RUN_DATA as /data, and with the
# variables of the environment that begin with MERCER_.
run_image() {
  local image=$1 folder=$2 program=$3 user=${RUN_AS:-$(id -u):$(id -g)} name
  shift 3
  local options=(--user "$user" --volume "$folder:$folder" ${RUN_DATA:+--volume "$RUN_DATA:/data"})
  for name in $(compgen -e MERCER_ || true); do options+=(--env "$name=${!name}"); done
  if [[ $builder != buildah ]]; then
    exec "$builder" run --rm --interactive --network host --read-only --tmpfs /tmp "${options[@]}" --entrypoint "$program" "$image" "$@"
  fi
  local container status=0
  container=$(buildah from --pull-never "$image")
  # The program in the background, so that a signal reaches it at once; its input is this one's, which the shell would take away.
  buildah run --isolation chroot "${options[@]}" "$container" -- "$program" "$@" <&0 &
  local running=$!
  trap 'kill -TERM $(leaves "$running")' TERM INT
  wait "$running" || status=$?
  # A signal ends the first wait before the program has ended.
  if kill -0 "$running" 2>/dev/null; then
    status=0
    wait "$running" || status=$?
  fi
  buildah rm "$container" >/dev/null
  return "$status"
}
