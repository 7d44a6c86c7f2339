#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every command of docs/walkthrough.md, in order, in an empty database, and checks that the
# answers are what the page says. usage: check_walkthrough.sh SOURCE_DIR OPTUNE
set -eu
source=$1
optune=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export OPTUNE_DB="$work/db" OPTUNE_CACHE="$work/cache" XDG_RUNTIME_DIR="$work"
sed -n 's/^\$ //p' "$source/docs/walkthrough.md" >"$work/commands"
ln -s "$source/examples" "$source/include" "$work" # the page is read where these are
optune() { "$optune" "$@"; }
[ "$(wc -l <"$work/commands")" -ge 10 ] || { echo "commands not found"; exit 1; }
cd "$work"
n=0
while IFS= read -r command; do
    n=$((n + 1))
    eval "$command" </dev/null >"out.$n" 2>"err.$n" ||
        { echo "failed: $command"; cat "out.$n" "err.$n"; exit 1; }
done <"$work/commands"

says() { # PATTERN: some answer has it
    grep -q -- "$1" "$work"/out.* || { echo "no answer says: $1"; cat "$work"/out.*; exit 1; }
}
says '^topk(f32\[1,50257\], k=50)$'
says "clause 'k <= 8' is false (k=50)"
says 'topk_lanes.cpu  by plevel'
says 'topk_[a-z]*.cpu  .* tuned'
says 'i64\[?v1_0_0:0..40,2\]'
says "strategy of family scan for 'cpu', in tree"
says "strategy of family scan for 'narrow', plugin 'narrow'"
says 'cumprod_row.cpu  by plevel'
says 'cumprod_loop.cpu  by plevel'
says 'refused (condition): the kernel is not 1x1'
says "strategy of conv2d for 'narrow', plugin 'narrow'"
says "strategy of softmax for 'cpu', in tree"
ls "$work/conv2d.o" "$work/softmax.o" >/dev/null
ls "$work"/emitted/*.c "$work/emitted/plan.json" >/dev/null
echo "$n commands of docs/walkthrough.md ran and say what the page says"
