#!/usr/bin/env bash
# On a machine with a card: does it give the CPU's numbers, and how much faster is each stage?
#   tests/gpu/check.sh [--quick]
set -euo pipefail
cd "$(dirname "$0")/../.."
exec "${PYTHON:-.venv/bin/python}" tests/gpu/check.py "$@"
