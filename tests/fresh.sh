#!/usr/bin/env bash
# Clones this checkout into an empty folder and runs README's two commands there as a new user would, in README's order, and then both again:
# what the first one leaves must not disturb the second, and neither may disturb itself. The commands are read out of the README.
#   tests/fresh.sh [FOLDER]     FOLDER must not exist; without it, one is made and removed again
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
if (($#)); then
  folder=$1
  mkdir "$folder"
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
git clone --quiet "$checkout" "$folder/clone"
cd "$folder/clone"
mapfile -t commands < <(grep -E '^python3 -m venv \.venv ' README.md)
((${#commands[@]} == 2)) || { echo "README.md has ${#commands[@]} commands that begin with 'python3 -m venv .venv', not 2" >&2; exit 1; }
for round in first second; do
  for command in "${commands[@]}"; do
    printf '\n== %s round: %s\n' "$round" "$command"
    before=$SECONDS
    time bash -c "$command"
    printf '== took %s s\n' "$((SECONDS - before))"
    [[ -f build/site/index.html ]] || { echo "no build/site/index.html" >&2; exit 1; }
    [[ -z $(git status --porcelain) ]] || { git status --short; echo "the command changed the checkout" >&2; exit 1; }
  done
done
