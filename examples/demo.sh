#!/usr/bin/env bash
# The demo: the daemon on both articles' tasks and what goes wrong around them, live, in under two minutes.
# Usage: DUECOURSE=path/of/the/program demo.sh   (./dev demo builds and calls this; stub_agent lies beside the program)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
duecourse=$(readlink -f "${DUECOURSE:?the path of the program}")
stub=$(dirname "$duecourse")/stub_agent
work=$(mktemp -d)
daemon_pid=
agent_pid=
finish() {
  # Only what this script started, by pid.
  [[ -n $daemon_pid ]] && kill "$daemon_pid" 2>/dev/null && wait "$daemon_pid" 2>/dev/null
  [[ -n $agent_pid ]] && kill "$agent_pid" 2>/dev/null
  [[ -n ${KEEP:-} ]] || rm -rf "$work"
}
trap finish EXIT

bold() { printf '\n\033[1m%s\033[0m\n' "$*"; }
say() { printf '   %s\n' "$*"; }
dc() { "$duecourse" "$@"; }

cp -r "$here/demo/." "$work"
cd "$work"

# --- the agent, on a free port of loopback
mkfifo agent.in
"$stub" 0 < agent.in > agent.log &
agent_pid=$!
exec 9> agent.in
for _ in $(seq 100); do
  port=$(sed -n 's/.*127.0.0.1:\([0-9]*\).*/\1/p' agent.log)
  [[ -n $port ]] && break
  read -rt 0.1 <> <(:) || true
done

# --- rules due in a few seconds, written for today
cron_in() { date -u -d "+$1 seconds" '+%-S %-M %-H * * *'; }
today=$(date -u +%F)
target=$(date -u +%Y%m%d)
yesterday=$(date -u -d yesterday +%F)
# Written anew just before the daemon starts: what is due before a store is made is not owed.
mv rules rules.in
mkdir rules
write_rules() {
  local rule
  for rule in rules.in/*.yaml; do
    sed "s/@PORT@/$port/; s/@CRON1@/$(cron_in "$1")/; s/@CRON2@/$(cron_in "$2")/" "$rule" > "rules/${rule##*/}"
  done
}
write_rules 60 120

bold "1. The rules are held against the launch checklist"
dc check | tail -3

start() {
  "$duecourse" serve "$@" 2>> daemon.log &
  daemon_pid=$!
  for _ in $(seq 200); do
    dc show > /dev/null 2>&1 && return
    read -rt 0.1 <> <(:) || true
  done
  tail -5 daemon.log
  exit 1
}
# Waits until a task's newest run is in a state, and says so.
until_state() {
  local task=$1 state=$2 seconds=$3
  for _ in $(seq $((seconds * 5))); do
    if dc runs "$task" --limit 1 2> /dev/null | grep -q " $state "; then
      say "$task is $state"
      return
    fi
    read -rt 0.2 <> <(:) || true
  done
  say "$task is not $state after $seconds s:"
  dc why "$task"
  exit 1
}
# The long work that lives, by its command line and our folder.
orphans() {
  local proc found=
  for proc in /proc/[0-9]*; do
    [[ $(tr '\0' ' ' 2>/dev/null < "$proc/cmdline") == "sleep 60 " ]] || continue
    [[ $(readlink "$proc/cwd") == "$work" ]] || continue
    say "pid ${proc#/proc/}: sleep 60"
    found=1
  done
  [[ -n $found ]] || say "(none)"
}
follow() { sed 's/^/   /' "$1"; : > "$1"; }

bold "2. The daemon starts: two tasks wait for what is not there yet, one meets a business error"
write_rules 8 30
start --init
until_state order_sync scheduled 20
until_state invoice manual_required 20
say "invoice went to a person at once, and the channel was told:"
for _ in $(seq 50); do [[ -s alerts.txt ]] && break; read -rt 0.1 <> <(:) || true; done
follow alerts.txt

bold "3. The nightly load ends late; the agent answers 500 twice, then takes the digest"
./feeder.sh etl "$duecourse" "$yesterday" | sed 's/^/   /'
until_state digest success 30
sed 's/^/   /' agent.log

bold "4. The orders arrive late"
./feeder.sh orders "$target"
until_state order_sync success 20

bold "5. A second trigger of the digest is refused: done is done"
dc trigger digest || say "(exit code $?)"

bold "6. kill -9 of the daemon in the middle of two runs"
until_state report running 30
until_state payout running 10
kill -9 "$daemon_pid"
wait "$daemon_pid" 2>/dev/null || true
say "the daemon is dead; its children are not:"
orphans
start
until_state report success 20
until_state payout manual_required 20
say "after the restart no orphan is left:"
orphans
follow alerts.txt

bold "7. why"
for task in order_sync digest invoice report payout; do
  dc why "$task" | sed 's/^/   /'
  echo
done
bold "8. The list"
dc show
