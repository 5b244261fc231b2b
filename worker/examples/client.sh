#!/bin/bash
# A worker in bash, one trial a process: reports lr / step. It needs `nc` with -U (Debian: netcat-openbsd) for the socket.
# The protocol is docs/protocol.md.
#
#     worker: {command: [worker/examples/client.sh]}
set -eu

coproc HPO { exec nc -U "$HPO_ENDPOINT"; }
say() { printf '%s\n' "$1" >&"${HPO[1]}"; }
# await TYPE: the next message of that type, in $line.
await() {
    while IFS= read -r line <&"${HPO[0]}"; do
        case $line in
            *'"type":"shutdown"'*) exit 0 ;;
            *'"type":"stop"'* | *"\"type\":\"$1\""*) return ;;
        esac
    done
    exit 1 # the connection is closed
}
# number NAME: the number behind the first "NAME": in $line.
number() { sed -n "s/.*[{,]\"$1\":\([0-9.eE+-]*\).*/\1/p" <<<"$line"; }

say "{\"type\":\"hello\",\"version\":2,\"token\":\"$HPO_TOKEN\",\"pid\":$$,\"capabilities\":[\"once\"]}"
await run
id="\"trial\":$(number trial),\"attempt\":$(number attempt)"
steps=$(number steps) lr=$(number lr) outcome=complete
say "{\"type\":\"started\",$id,\"from_step\":0}"
for ((step = 1; step <= steps; step++)); do
    loss=$(awk -v lr="$lr" -v step="$step" 'BEGIN { print lr / step }')
    say "{\"type\":\"report\",$id,\"step\":$step,\"metrics\":{\"val_loss\":$loss}}"
    await decision
    case $line in
        *'"type":"stop"'* | *'"action":"stop"'*) outcome=stopped && break ;;
        *'"action":"pause"'*) outcome=paused && break ;;
    esac
done
say "{\"type\":\"finished\",$id,\"outcome\":\"$outcome\"}"
