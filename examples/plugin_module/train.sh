#!/usr/bin/env bash
# Trains a tiny model with the module, on a text made here: train.sh TENON LIBRARY
set -euo pipefail
tenon=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/text"
for i in $(seq 400); do echo "Line $i of a text that says line $i once more."; done >"$work/text/lines.txt"

"$tenon" train austen_tiny --plugin "$library" --dir "$work/run" --set data.path="\"$work/text\"" \
  --set model.decoder.pattern.0.feed_forward.type=SquaredReluFeedForward \
  --set model.decoder.pattern.0.feed_forward.hidden_dim=48 | tee "$work/log"
grep -q 'feed_forward.up.weight .*\[2,32,48\]' "$work/log"
grep -q '^final: step=20 ' "$work/log"
"$tenon" generate "$work/run" --plugin "$library" --prompt "Line" --max_tokens 8 --temperature 0

# The hook ends a longer run once the loss is below what it is told.
"$tenon" train austen_tiny --plugin "$library" --dir "$work/target" --set data.path="\"$work/text\"" \
  --set max_steps=1000 --set hooks.target.type=LossTarget --set hooks.target.loss=4 | tee "$work/log"
grep -q 'stopped at step [0-9]*: the loss is where it should be' "$work/log"
